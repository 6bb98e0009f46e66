"""`import mindspore` means dualgrad, in a program that requests it.

There are two ways to request it::

    python -m dualgrad.mindspore script.py arguments   # the program stays as it is

    import dualgrad.mindspore                          # first thing in a program

From then on `mindspore` and its submodules (`mindspore.nn`, `mindspore.ops.functional`, `mindspore.common.api` ...) are
views of dualgrad: ``mindspore.Tensor is dualgrad.Tensor``. Nothing else installs them, and a MindSpore that is already
imported is an error. Processes that a program starts must request it again.

Using a name that dualgrad lacks raises `AttributeError`, and the error names the nearest names.
``from mindspore.nn import Lacking`` alone does not use the name. It gives a placeholder that raises when it is called,
when its attributes are read or when a class derived from it is called. ``hasattr(mindspore.nn, "Lacking")`` is False.

Examples
--------
>>> import dualgrad as dg
>>> import dualgrad.mindspore
>>> dualgrad.mindspore.install()  # the import has done it, unless it was taken back
>>> import mindspore as ms
>>> from mindspore.ops import operations as P
>>> print(P.Square()(ms.Tensor([3.0])), ms.Tensor is dg.Tensor)
[9.] True
>>> from mindspore.nn import Dens
>>> Dens(2, 3)
Traceback (most recent call last):
    ...
AttributeError: mindspore.nn.Dens: dualgrad has no such name. Did you mean Dense or BiDense?
>>> dualgrad.mindspore.uninstall()
"""

from dualgrad.mindspore._finder import install, uninstall

__all__ = ["install", "uninstall"]

install()
