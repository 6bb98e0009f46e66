"""HTML for notebooks: tensors and tables. It has no colours or scripts, so it fits light and dark pages."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ._engine.transforms.handles import carried
from ._engine.transforms.rematerialisation import recording
from ._format import format_str

if TYPE_CHECKING:
    from .tensor import Tensor

__all__ = ["preformatted", "table", "tensor_html"]


def preformatted(head: str, text: str) -> str:
    """A line of HTML above a text, which is escaped."""
    return f"<div><div>{head}</div><pre>{html.escape(text)}</pre></div>"


def table(head: Iterable[str], rows: Iterable[Iterable[Any]], foot: Iterable[Any]) -> str:
    """A table of texts, which are escaped. The first two columns are aligned left, the others right."""

    def line(cells: Iterable[Any], tag: str) -> str:
        sides = ["left", "left"]
        texts = [html.escape(str(cell)) for cell in cells]
        sides += ["right"] * (len(texts) - 2)
        inside = "".join(
            f'<{tag} style="text-align:{side}">{text}</{tag}>' for side, text in zip(sides, texts, strict=True)
        )
        return f"<tr>{inside}</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f"<table><thead>{line(head, 'th')}</thead><tbody>{body}</tbody><tfoot>{line(foot, 'th')}</tfoot></table>"


def tensor_html(x: Tensor, title: str = "Tensor", *facts: str) -> str:
    """The title, shape and type of a tensor, and its elements if reading them drops no derivative.

    Parameters
    ----------
    x : Tensor
        The tensor. Its elements are not read inside a recorded function or `vmap`; the HTML says so.
    title : str
        The first word.
    facts : str
        Further facts, shown after the shape and type.

    Returns
    -------
    str
        HTML; long arrays are shortened as NumPy does.
    """
    head = ", ".join([f"<b>{html.escape(title)}</b> shape {tuple(x.shape)}", str(x.dtype), *map(html.escape, facts)])
    if recording():
        return preformatted(head, "the function is being recorded, so the elements are not read")
    loss = carried(x)
    if loss is not None and loss[1]:
        return preformatted(head, f"one value for each sample of {loss[0]}")
    if loss is not None:
        head += f", carries a derivative of {html.escape(loss[0])}"
    try:
        text = format_str(x._shown())
    except (ValueError, RuntimeError) as error:  # samples below a derivative, a placeholder
        text = str(error)
    return preformatted(head, text)
