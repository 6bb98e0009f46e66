"""The reference by topic: which page of it belongs where."""

from collections.abc import Iterable

# Pages by their names in the reference.
TOPICS = {
    "Derivatives": "dualgrad nn.grad ode curvature sparse sparse.compressed sparsity ops.looping",
    "Elementwise mathematics": "ops.elementwise ops.arithmetic ops.formulas ops.numbers ops.clipping ops.comparisons "
                               "ops.choice ops.complex",
    "Special functions, interpolation": "ops.special scipy.special ops.sampled scipy.interpolate",
    "Sums, statistics, order": "ops.reductions ops.sums ops.quantiles ops.statistics ops.counting ops.sorting "
                               "ops.segments",
    "Shapes": "ops.creation ops.filling ops.windows ops.reshaping ops.shapes ops.reversals ops.queries ops.conversion",
    "Elements by place": "ops.gather ops.masks ops.positions ops.updates ops.rows ops.diagonals ops.blocks "
                         "ops.triplets",
    "Linear algebra": "ops.linalg ops.products ops.norms ops.bands scipy.linalg",
    "Solvers and fits": "scipy scipy.optimize",
    "Random numbers and probability": "ops.drawing ops.distributions ops.choices ops.truncated ops.candidates "
                                      "ops.seeded stats stats.bijections nn.probability.distribution",
    "Signals and images": "ops.fft ops.stft ops.convolution ops.deformable ops.pooling ops.fractional ops.grids "
                          "ops.resampling ops.colours ops.crops ops.boxes ops.regions ops.suppression "
                          "scipy.fft scipy.ndimage",
    "Networks: Cells": "nn.cell nn.basic nn.containers nn.layers nn.activations nn.rectifiers nn.normalisation "
                       "nn.convolution nn.padding nn.pooling nn.adaptive_pooling nn.images nn.image_quality "
                       "nn.recurrent nn.attention nn.transformers",
    "Networks: functions": "ops.activations ops.layers ops.networks ops.normalisation ops.attention ops.sequences",
    "Losses": "nn.losses nn.classification nn.margins ops.losses ops.margins",
    "Training": "nn.optimizer nn.optimizers nn.adaptive nn.factored nn.layerwise nn.proximal nn.stepwise nn.schedules "
                "nn.wrap nn.loss_scale ops.steps amp dataset train",
    "Programs and checks": "programs native testing extend ops.hooks ops.effects",
    "Many processes": "distributed",
    "NumPy's names": "numpy",
    "Names of ported code": "mint mint.nn mint.nn.functional ops.scalars ops.dispatch ops.collective nn.reducers "
                            "communication log",
}  # fmt: skip

PAGE = """\
API by topic
============

Made from the docstrings. :doc:`All operators <operators>` lists every operator with its slope and its errors,
:doc:`NumPy's functions <numpy_functions>` what becomes of each of them, :doc:`SciPy's functions <scipy>` which of them
take tensors.

.. py:module:: dualgrad.ops

.. py:module:: dualgrad.nn

"""


def contents(pages: Iterable[str]) -> str:
    """The page of all topics, in reStructuredText; an error if a page has no topic, or two."""
    listed = [name for names in TOPICS.values() for name in names.split()]
    missing, unknown = set(pages) - set(listed), set(listed) - set(pages)
    twice = {name for name in listed if listed.count(name) > 1}
    if missing or unknown or twice:
        raise ValueError(f"docs/topics.py: pages without a topic {sorted(missing)}, topics without a page "
                         f"{sorted(unknown)}, pages in two topics {sorted(twice)}")  # fmt: skip
    return PAGE + "\n".join(
        f"{title}\n{'-' * len(title)}\n\n.. toctree::\n   :maxdepth: 1\n\n"
        + "".join(f"   reference/{name}\n" for name in names.split())
        for title, names in TOPICS.items()
    )
