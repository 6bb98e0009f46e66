"""Random programs for arrays: chains of views, operators, functions and writes, for NumPy and `dualgrad.numpy` alike.

A program is the text of a function of a namespace and an input of three axes. Each line makes an array of others, takes
a view, or writes into an array that may be seen through others. The end reads all of them. Lines that NumPy refuses, or
whose numbers grow large, are left out when a program is drawn.
"""

import textwrap
import warnings
from random import Random

import numpy as np

START = np.sin(np.arange(1.0, 25.0) ** 1.3).reshape(2, 3, 4)
LARGEST = 30.0
MOST_NUMBERS = 300


def rows_of(text):
    """Lines of programs, which two spaces separate; {a} and {b} are arrays that are there."""
    return [row for line in text.split("\n") for row in line.split("  ") if row]


TAKEN = rows_of("""
{a}[0]  {a}[-1]  {a}[1:]  {a}[..., 1:]  {a}[::-1]  {a}[..., ::2]  {a}[:, None]  {a}[..., -1]  {a}[:]  {a}[0, ..., 0]
{a}.T  np.transpose({a})  np.swapaxes({a}, 0, -1)  {a}.swapaxes(0, 1)  np.moveaxis({a}, 0, -1)
{a}.transpose(1, 0, 2)  {a}.reshape(-1)  np.ravel({a})  {a}.ravel()  {a}.reshape({a}.shape[::-1])
np.reshape({a}, (-1, 2))  {a}[:, :2].reshape(-1)  np.flip({a}, -1)  np.flip({a})  np.rot90({a})  np.diagonal({a})
{a}.diagonal()  np.split({a}, 2)[0]  np.array_split({a}, 2, axis=-1)[1]  np.squeeze({a})  {a}[:1].squeeze(0)
np.expand_dims({a}, 1)  np.atleast_3d({a})  np.broadcast_to({a}, (2, *{a}.shape))  np.asarray({a})  np.real({a})
next(iter({a}))  [row for row in {a}][-1]  np.ascontiguousarray({a})  np.asfortranarray({a})
np.array({a}, copy=False)  np.unstack({a})[0]  np.fliplr({a})  np.matrix_transpose({a})  {a}.mT  np.rollaxis({a}, 2)
np.vsplit({a}, 2)[1]  np.hsplit({a}, 2)[0]  np.atleast_2d({a})  np.nan_to_num({a}, copy=False)  np.trim_zeros({a})
np.permute_dims({a}, (1, 0))  np.ravel({a}, order="K")  {a}.ravel("F")  np.reshape({a}, (-1, 2), order="F")
{a}.reshape(-1, order="A")  {a}.conj()  np.einsum("...ij->...ji", {a})  np.einsum("ij->ji", {a})
np.einsum("ii->i", {a})  np.diff({a}, n=0)  np.from_dlpack({a})  np.linalg.diagonal({a})
np.linalg.matrix_transpose({a})  np.ravel({a}, "A")  np.real_if_close({a})  np.linalg.matrix_power({a}, 1)
np.meshgrid({a}.ravel(), {a}.ravel(), copy=False)[0]  np.broadcast_arrays({a}, {b})[1]  np.atleast_1d({a}, {b})[1]
np.diag({a})  {a}.real  {a}.imag  np.imag({a})  {a}.flatten("F")  np.astype({a}, {a}.dtype, copy=False)
""")
MADE = rows_of("""
{a} + {b}  {a} * {b}  2.0 * {a}  -{a}  {a} - 0.3  {a} ** 2  abs({a})  np.sin({a})  np.add({a}, {b})
np.maximum({a}, {b})  np.where({a} > 0.0, {a}, 0.1 * {a})  np.concatenate([{a}, {b}])  np.stack([{a}, {a}], axis=-1)
{a}.cumsum(axis=0)  np.zeros_like({a}) + {b}  np.full({a}.shape, 0.2) * {a}  np.zeros({a}.shape)  np.ones_like({a})
{a}.copy()  np.copy({a})  {a}.flatten()  np.array({a})  {a}[[0, -1]]  {a}[{a} > -90.0]  np.roll({a}, 1)
np.sort({a})  np.tile({a}, 2)  {a}.sum(axis=0)  np.mean({a}, axis=-1)  {a}.max(axis=-1)  np.outer({a}, {b})
{a} @ np.ones({a}.shape[-1])  {a}.astype(float)  np.clip({a}, -1.0, 1.0)  {a}.clip(-0.5, 0.5)
np.repeat({a}, 2, axis=0)  {a}.take([0, 1], axis=0)  np.cumsum({a})  np.tanh({a} + {b})  np.einsum("...i->...", {a})
np.tensordot({a}, {a}, 1)  np.square({a}.T).T  np.exp(-({a} * {a}))  np.linalg.norm({a}, axis=0)
np.array([{a}, 2.0 * {a}])  np.moveaxis({a} * 1.5, 0, -1)  np.hypot({a}, 1.0)  np.divide({a}, 2.0)
np.sum({a}, axis=0, keepdims=True)  np.take_along_axis({a}, np.zeros({a}.shape, int), 0)  {a}.repeat(2)
{a}.repeat(2, 1)  {a}.sum(axis=())  {a}.max(axis=())  {a} @ {b}  np.matmul({a}, {b}.T)  np.vecdot({a}, {b})
np.kron({a}, {b})  np.vstack([{a}, {b}])  np.hstack([{a}, {b}])  np.column_stack([{a}, {b}])
np.delete({a}, 0, axis=0)  np.insert({a}, 0, {b}, axis=0)  np.append({a}, {b})  np.diff({a})
np.gradient({a}, axis=0)  np.pad({a}, 1)  np.select([{a} > 0.0], [{a}], 0.1)  np.fft.fftshift({a})
np.inner({a}, {b})  np.dot({a}, {b})  np.meshgrid({a}.ravel(), {b}.ravel())[1]  np.block([{a}, {b}])
np.resize({a}, (3, 2))  np.average({a}, axis=0)  np.nan_to_num({a})  np.linalg.matrix_power({a}, 2)
np.apply_along_axis(np.cumsum, 0, {a})  np.flip({a}) + {a}  {a}.T + {a}.T  {a}.T * 0.5  np.stack([{a}, {b}])
np.dstack([{a}, {b}])  np.median({a}, axis=0)  {a}.mean(axis=-1, keepdims=True) * {a}
""")
WRITTEN = rows_of("""
{a}[0] = {b}  {a}[...] = 0.5 * {b}  {a}[:] = {b}  {a}[..., 0] = 0.25  {a}[1:] = {a}[:-1]  {a}[::-1] = {a}
{a}[[0, -1]] = 0.4  {a}[{a} > 0.21] = 0.7  {a}[..., -1] = {b}[..., 0]  {a}[0], {a}[-1] = {a}[-1] * 1.0, {a}[0] * 1.0
{a}[0] += {b}  {a} += {b}  {a} -= 0.2  {a} *= 1.1  {a} /= 1.5  {a} **= 2  {a} += {a}[::-1]  {a} *= {b}
{a}[..., 1:] *= 0.5  {a}[{a} < 0.13] -= 0.1  np.copyto({a}, {b})  np.putmask({a}, {a} > 0.4, 0.3)
np.put({a}, [0, 1], 0.6)  {a}.fill(0.35)  change({a})  {a}.T[0] = 0.15  {a}[1:] += {a}[:-1]  {a}.sort()
{a} @= np.eye({a}.shape[-1]) * 0.5  np.fill_diagonal({a}, 0.1)  {a}[0][..., 0] = 0.45  {a}.T[...] = {b}.T
""")
HEADER = """def change(t):
    t *= 0.9
    t[..., 0] += 0.05
"""


def _function(text):
    found = {}
    exec(text, found)
    return found["program"]


def _runs(text, x):
    """The arrays that a program has at its end, in NumPy; None where it raises or its numbers grow."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings(action="error"):
            arrays = _function(text)(np, x.copy())
    except (ValueError, TypeError, IndexError, AttributeError, Warning):
        return None
    good = all(np.isfinite(a).all() and np.abs(a).max(initial=0.0) < LARGEST and a.size < MOST_NUMBERS for a in arrays)
    return arrays if good else None


def _text(lines, names):
    body = "\n".join([HEADER, *lines, f"return [{', '.join(names)}]"])
    return f"def program(np, x):\n{textwrap.indent(body, '    ')}\n"


def drawn(random: Random, length: int) -> str:
    """The text of a program; its function returns all arrays that it has made."""
    lines, names = [random.choice(("a0 = x", "a0 = 1.0 * x", "a0 = np.array(x)"))], ["a0"]
    for _ in range(length):
        kind = random.choice((TAKEN, TAKEN, MADE, WRITTEN, WRITTEN))
        line = random.choice(kind).format(a=random.choice(names[-4:]), b=random.choice(names))
        name = f"a{len(names)}"
        new = [*names, name] if kind is not WRITTEN else names
        line = line if kind is WRITTEN else f"{name} = {line}"
        made = _runs(_text([*lines, line], new), START)
        if made is None or not all(isinstance(a, np.ndarray) and a.ndim for a in made):
            continue
        lines.append(line)
        names = new
    return _text(lines, names)


def _weights(shape, k):
    return np.cos(np.arange(1.0, np.prod(shape) + 1) + k).reshape(shape)


def function(text):
    """The function of (namespace, input) that returns one number, to which all arrays of a program contribute."""
    program = _function(text)

    def run(np, x):
        total = 0.0
        for k, a in enumerate(program(np, x)):
            total = total + (a * _weights(a.shape, k)).sum()
        return total

    return run
