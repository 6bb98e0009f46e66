from .program import Program

class Plan:
    program: Program

def set_num_threads(n: int) -> int: ...
def get_num_threads() -> int: ...
