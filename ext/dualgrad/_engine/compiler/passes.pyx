"""The passes of the compiler, in one table.

Design
------
A pass is a function of one object. It makes a new one, of a type of its own, and changes none that came before:

| pass | file | makes |
|---|---|---|
| entries | entries.pyx | a `Program` in which arrays that are mostly zeros are entries; nothing if there are none |
| reroll | rerolling.pyx | a `Program` with loops where steps repeat |
| simplify | identities.pyx | a `Program` with fewer steps that gives the same numbers |
| share | common_factors.pyx | a `Program` with fewer matrix products |
| factor | factoring.pyx | a `Program` with still fewer, since sums come first; nothing if there are not fewer |
| numbers | scalars.pyx | `Code`, where every array is one number: nothing is left to do |
| lower | orders.pyx, lowering.pyx | `Lowered`: operations on views of memory, for each order of axes |
| partition | partition.pyx | `Partition`: the operations in regions, for the best order |
| fuse | vertical_fusion.pyx, schedule.pyx | `Fused`: several operations as one, in the best order |
| margins | margins.pyx | `Margins`: rows beside a block, results made inside of others |
| join | horizontal_fusion.pyx | `Joined`: matrix products with a common factor as one product |
| allocate | allocation.pyx | `Allocation`: where everything lies between regions |
| generate | tiles.pyx, codegen.pyx, products.pyx, emitter.pyx | `Code`: instructions, blocks, memory of a block |

Only `Code` owns what the executor reads.

The check of what passes make (`dualgrad/programs/specification.py`; always in the debug build) is called after each
of them, with plain data. After the last pass it proves that no pass has changed what came before.
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

CHECK = None                        # called with what is known after each pass
DEBUG = bool(DG_DEBUG)


def check_passes(check):
    """Have a function called after each pass, with its name and what all so far have made, as plain data, by the name
    of the pass; "record" is the program that they began with. None for no such function. Returns the former one."""
    global CHECK
    former = CHECK
    CHECK = check
    return former


def stages(Program program not None, str last=None):
    """What each pass makes of a program that is ready to run, as plain data, by the name of the pass, up to the one
    that is named `last`."""
    cdef Compilation c = compiled(program, last)
    found = {"record": facts_of(program)}
    for name, made in c.made:
        found[name] = facts_of(made)
    return found


def names_of_passes():
    """The passes in their order."""
    cdef Pass p
    return tuple([p.name for p in PASSES])


cdef Compilation compiled(Program program, str last):
    """What the passes make of a prepared program, up to the one of a name; all of them for None. A pass that has
    nothing to do with a program makes None, and the next one gets what this one got."""
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
