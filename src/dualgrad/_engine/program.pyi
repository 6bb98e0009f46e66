from typing_extensions import disjoint_base

@disjoint_base
class Program:
    def __len__(self) -> int: ...
