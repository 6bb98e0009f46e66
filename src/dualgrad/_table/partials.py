"""The language of partial derivatives: the allowed expressions, checked with helpful messages.

The engine parses the same expressions into its own steps; this module only reads them.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from .row import CONSTANTS

_ALLOWED = (
    *(ast.Name, ast.Constant, ast.Call, ast.BinOp, ast.UnaryOp, ast.Compare),
    *(ast.operator, ast.unaryop, ast.cmpop, ast.expr_context),
)

OPERATORS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div"}


def parsed(text: str) -> ast.expr:
    """Parse an expression to a tree."""
    return ast.parse(text, mode="eval").body


def check_partial(where: str, text: str, operands: str, arities: Mapping[str, int]) -> None:
    """Raise ValueError, with advice, for an expression that is not a partial derivative.

    Parameters
    ----------
    where
        The start of the message.
    operands
        The letters that may name operands, a prefix of ``xyz``.
    arities
        The primitives that may be called, with their numbers of operands.
    """
    if not isinstance(text, str):
        raise ValueError(f"{where}: expected a string or None, got {type(text).__name__}")
    try:
        tree = parsed(text)
    except SyntaxError as error:
        raise ValueError(f"{where}: {text!r} is no expression ({error.msg})") from None
    names = (*operands, "out", *CONSTANTS)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
            if name not in arities:
                raise ValueError(f"{where}: {text!r} calls {name}, which is no elementwise primitive")
            if node.keywords or len(node.args) != arities[name]:
                count = f"{arities[name]} operand{'' if arities[name] == 1 else 's'}"
                raise ValueError(f"{where}: {text!r} holds {ast.unparse(node)}; {name} takes {count}, by position")
        elif isinstance(node, ast.BinOp) and type(node.op) not in OPERATORS:
            raise ValueError(f"{where}: {text!r} has an operator other than + - * /; write powers as pow(x, y)")
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and id(node) not in called and node.id not in names:
            raise ValueError(f"{where}: {text!r} names {node.id}; expected {', '.join(names)}, numbers and primitives")
        if isinstance(node, ast.Constant) and type(node.value) not in (int, float):
            raise ValueError(f"{where}: {text!r} holds {node.value!r}; expected numbers")
        if not isinstance(node, _ALLOWED):
            raise ValueError(f"{where}: {text!r} holds {ast.unparse(node)!r}, which is no arithmetic")
