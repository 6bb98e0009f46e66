from typing_extensions import disjoint_base

from .runs import SubTape

@disjoint_base
class SubGradient(SubTape): ...

@disjoint_base
class SubForward(SubTape): ...
