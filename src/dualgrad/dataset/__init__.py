"""Data for training, under MindSpore's names: rows of NumPy arrays, shuffled, mapped and batched.

A dataset is lazy: iterators read it, and each epoch runs its operations again. Random operations use the generator
that `dualgrad.set_seed` seeds. Everything runs in the calling process.
"""

from dualgrad.dataset import config, files, transforms
from dualgrad.dataset.files import *
from dualgrad.dataset.helper import DatasetHelper
from dualgrad.dataset.pipeline import BatchDataset, Dataset, zip
from dualgrad.dataset.sink import data_sink
from dualgrad.dataset.sources import GeneratorDataset, NumpySlicesDataset

__all__ = [
    "BatchDataset", "Dataset", "DatasetHelper", "GeneratorDataset", "NumpySlicesDataset", "config", "data_sink",
    "transforms", "zip",
    *files.__all__,
]  # fmt: skip
