"""The passes of the compiler, in one table.

Design
------
A pass is a function of one object. It returns a new object, of a class of its own, and changes no earlier one:

| pass | file | makes |
|---|---|---|
| entries | entries.pyx | a `Program` in which arrays that are mostly zeros are entries; nothing if there are none |
| reroll | rerolling.pyx | a `Program` with loops where steps repeat |
| simplify | identities.pyx | a `Program` with fewer steps that gives the same numbers |
| share | common_factors.pyx | a `Program` with fewer matrix products |
| factor | factoring.pyx | a `Program` with still fewer products, since sums come first; nothing if it has not fewer |
| numbers | scalars.pyx | `Code`, if every array is one number or a few; the later passes are skipped |
| lower | orders.pyx, lowering.pyx | `Lowered`: operations on views of memory, for each order of axes |
| partition | partition.pyx | `Partition`: the operations in regions, for the best order |
| fuse | vertical_fusion.pyx, schedule.pyx | `Fused`: several operations as one, in the best order |
| margins | margins.pyx | `Margins`: rows beside a tile, results made inside of others |
| join | horizontal_fusion.pyx | `Joined`: matrix products with a common factor as one product |
| allocate | allocation.pyx | `Allocation`: the places of all memory between regions |
| generate | tiles.pyx, codegen.pyx, products.pyx, emitter.pyx | `Code`: instructions, tiles, memory of a tile |

Only `Code` owns the memory that the executor reads.

A checker (`dualgrad/programs/specification.py`; always on in debug builds) is called with plain data after each pass.
After the last pass it proves that no pass has changed an earlier result.
"""
from ..arrays.array cimport DG_DEBUG
from .allocation cimport Allocation, allocated
from .code cimport Code
from .common_factors cimport with_common_factors
from .entries cimport with_entries
from .factoring cimport with_sums_first
from .facts cimport facts_of
from .horizontal_fusion cimport Joined, with_products_joined
from .identities cimport simplified
from .margins cimport Margins, margins_of
from .orders cimport Lowered, lowered
from .partition cimport Partition, partitioned
from .program cimport Program
from .rerolling cimport rerolled
from .scalars cimport code_of_numbers
from .tiles cimport generated
from .vertical_fusion cimport Fused, fused

ctypedef object (*Function)(object)


cdef class Pass:
    cdef str name
    cdef Function function


cdef Pass new_pass(str name, Function function):
    cdef Pass made = Pass()
    made.name = name
    made.function = function
    return made


cdef object entries(object program):
    return with_entries(<Program>program)


cdef object reroll(object program):
    return rerolled(<Program>program)


cdef object simplify(object program):
    return simplified(<Program>program)


cdef object share(object program):
    return with_common_factors(<Program>program)


cdef object factor(object program):
    return with_sums_first(<Program>program)


cdef object numbers(object program):
    return code_of_numbers(<Program>program)


cdef object lower(object program):
    return lowered(<Program>program)


cdef object partition(object made):
    return partitioned(<Lowered>made)


cdef object fuse(object made):
    return fused(<Partition>made)


cdef object margins(object made):
    return margins_of(<Fused>made)


cdef object join(object made):
    return with_products_joined(<Margins>made)


cdef object allocate(object made):
    return allocated(<Joined>made)


cdef object generate(object made):
    return generated(<Allocation>made)


cdef tuple PASSES = (
    new_pass("entries", entries), new_pass("reroll", reroll), new_pass("simplify", simplify), new_pass("share", share),
    new_pass("factor", factor), new_pass("numbers", numbers), new_pass("lower", lower),
    new_pass("partition", partition), new_pass("fuse", fuse), new_pass("margins", margins), new_pass("join", join),
    new_pass("allocate", allocate), new_pass("generate", generate),
)

CHECK = None                        # called after each pass, with all results so far
DEBUG = bool(DG_DEBUG)


def check_passes(check):
    """Have a function called after each pass, with the pass's name and all results so far; None for no function.

    The results are plain data by name of the pass; "record" is the original program. Returns the former function.
    """
    global CHECK
    former = CHECK
    CHECK = check
    return former


def stages(Program program not None, str last=None):
    """The result of each pass on a prepared program, as plain data, by name of the pass; `last` names the last pass to
    run."""
    cdef Compilation c = compiled(program, last)
    found = {"record": facts_of(program)}
    for name, made in c.made:
        found[name] = facts_of(made)
    return found


def names_of_passes():
    """The names of the passes, in order."""
    cdef Pass p
    return tuple([p.name for p in PASSES])


cdef Compilation compiled(Program program, str last):
    """Run the passes on a prepared program, up to the pass named `last`; None for all. A pass returns None if it has
    nothing to change; then the next pass gets the same object."""
    cdef Compilation c = Compilation()
    cdef object now = program, other, check = CHECK
    cdef dict found = None if check is None else {"record": facts_of(program)}
    cdef str name
    cdef Pass p
    c.program = program
    c.made = []
    for p in PASSES:
        other = p.function(now)
        if other is not None:
            now = other
            c.made.append((p.name, now))
            if check is not None:
                found[p.name] = facts_of(now)
                check(p.name, found)
            if type(now) is Program:
                c.program = <Program>now
            elif type(now) is Code:
                c.code = <Code>now
                break
        if last == p.name:
            break
    if check is not None:
        for name, now in c.made:
            if facts_of(now) != found[name]:
                raise AssertionError(f"what the pass {name} has made was changed by a later one")
    return c
