from .program import Program

class Plan:
    program: Program
