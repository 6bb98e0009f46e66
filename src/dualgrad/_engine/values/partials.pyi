import ast

from typing_extensions import disjoint_base

OPERATORS: dict[type[ast.AST], str]

@disjoint_base
class Partial:
    def __init__(self, text: str) -> None: ...
