from collections.abc import Callable

from ..compiler.plan import Plan
from ..compiler.program import Program

CHECK: Callable[[Program, Plan | None], None] | None

def plan_programs(on: bool) -> bool: ...
def check_programs(check: Callable[[Program, Plan | None], None] | None) -> Callable[..., None] | None: ...
