"""Travel: recordings that go along with their function to another process.

Design
------
A recording holds the steps for one signature, and guards. A guard is a place in memory, which means nothing elsewhere.
So a recording goes along only if its guards hold when it leaves, and if all guarded objects go along in the same
pickle. These are functions that are sent by value, with their closures, globals, lists, dicts and arrays. Then the
copies on arrival equal the originals that the guards found. Another walk gives them guards, and takes all code of these
functions for executed. Objects that may differ in another process are compared on arrival and guarded again: attributes
of trusted modules, builtins, the context, mode and seed, and the warnings and floating-point events that are errors.
The versions of dualgrad, Python and NumPy come first and are compared before anything else is read. A recording of
another version is dropped, and its function recorded anew.

Plans stay: they are for one processor and hold addresses. The program is planned anew where it arrives.

All other recordings stay too, and their functions are recorded anew at the other end. Each of them has effects or
draws, added primitives, objects of users' classes, imports in the function, or arguments other than tensors, numbers
and texts. Pure functions stay too, because no guards tell their dependences.
"""
cimport cython

import builtins
import functools
import hashlib
import sys
import types
from collections import OrderedDict, deque

from ..arrays.array import np
from ..arrays.array cimport ARRAY, Array, Value, copy_of
from ..arrays.defaults cimport default_float
from ..compiler.program cimport FROM_CONSTANT, FROM_HANDLE, Program
from ..primitives.opcodes cimport N_OPS
from ..primitives.registry cimport EFFECTS, op_name
from ..transforms.handles cimport TensorBase, dg_set_flag, hooks_of, value_in
from ..transforms.transformed cimport Transformed
from .bytecode cimport names_of
from .executed cimport OURS, PURE, USERS, Executed, trust_of, trust_of_name
from .guards cimport Guard, Guards
from .guards import SameObject
from .keys cimport containers_of, same_function
from .kinds cimport number_or_text
from .objects cimport PyFunction_Check, PyModule_Check, address, addresses, attributes_of_module, trust_of_class
from .reachability cimport Reach, reachable_from
from .recordings cimport Function, Specialisation, accept
from .replay cimport Recording

LAYOUT = None                       # the constant part of `layout`; not a C variable, so that threads may set it
# Arguments of these classes are compared by their values.
cdef set BY_VALUE = addresses((TensorBase, tuple, list, dict, float, complex, bool, int, str, bytes, type(None)))
# Guards that compare objects in the pickle. Other guards call functions, or count registrations of this process.
cdef tuple BY_CONTENT = ("Pointer", "Entries", "Attributes", "Items", "Sequence", "Numbers")
cdef dict OF_PACKAGE = {"the context": "dualgrad.context", "the mode": "dualgrad.context",
                        "the seed": "dualgrad.random"}


cdef object layout():
    """The state that has to be equal in two processes, so that opcodes and recorded Python mean the same. Versions come
    first."""
    global LAYOUT
    if LAYOUT is None:
        names = " ".join([op_name(op) for op in range(N_OPS)])
        LAYOUT = sys.version, np.__version__, hashlib.sha256(names.encode()).hexdigest()
    return sys.modules["dualgrad"].__version__, *LAYOUT, default_float()


# ------------------------------------------------------------------------------------------------------- departure

cdef list departing(Function function, object call):
    """The recordings of a function that may go along: (recording as plain data, functions that have to go by value)."""
    cdef Recording r
    cdef list found = [], watched, facts
    if function.pure:
        return found
    with cython.critical_section(function):
        kept = [(key, (<Specialisation>one).confirmed) for key, one in function.specialisations.items()]
    for key, confirmed in kept:
        r = confirmed
        if r is None or r.guards is None or r.reached is not None or r.shared or not same_function(r.call, call) \
                or not key_by_value(key) or not program_travels(r.program) or not tensors_travel(r):
            continue
        watched = []
        facts = []
        if guards_travel(r.guards, watched, facts) and r.guards.hold():
            found.append(((layout(), key, slots_of(r.program), r.program.steps, r.program.inputs, r.program.outputs,
                           r.template, list(r.captured.values()), [handle for handle, _ in r.fixed], facts, watched),
                          watched))
    return found


cdef bint key_by_value(tuple key) except -1:
    """True if the key of a call means the same in another process."""
    for part in key:
        if isinstance(part, tuple) and len(<tuple>part) == 4:       # a tensor: type, shape, identity, position
            if type(part[2]) is not int or part[2] != 0:
                return False
        elif not part_by_value(part):
            return False
    return True


cdef bint part_by_value(object part) except -1:
    if isinstance(part, tuple):
        return all([part_by_value(x) for x in <tuple>part])
    return address(part if isinstance(part, type) else type(part)) in BY_VALUE


cdef bint program_travels(Program p) except -1:
    """True if a program has no effects and its steps are plain data."""
    cdef int op
    if p.effects:
        return False
    for step in p.steps:
        op = step[0]
        if op >= N_OPS or EFFECTS[op] or not plain(step[1]):
            return False
    return True


cdef bint plain(object x) except -1:
    if type(x) is tuple:
        return all([plain(item) for item in <tuple>x])
    return x is None or type(x) in (bool, int, float, complex, str, bytes)


cdef bint tensors_travel(Recording r) except -1:
    """True if captured tensors hold arrays, and tensors that Python has read hold the arrays of the recording."""
    cdef Value v
    for t in r.captured.values():
        v = value_in(<TensorBase>t)
        if v is None or v.kind != ARRAY or hooks_of(<TensorBase>t):
            return False
    for slot, source in zip(r.program.kinds, r.program.sources):
        if slot == FROM_HANDLE and id(source) not in r.captured:
            return False
    for handle, a in r.fixed:
        if value_in(<TensorBase>handle) is not a or id(handle) not in r.captured:
            return False
    return True


cdef list slots_of(Program p):
    """(kind, source, type, shape) of each slot."""
    return [(kind, (<Array>source).numpy() if kind == FROM_CONSTANT else source, typenum, shape)
            for kind, source, typenum, shape in zip(p.kinds, p.sources, p.typenums, p.shapes)]


cdef bint guards_travel(Guards guards, list watched, list facts) except -1:
    """True if all guarded objects go along, or can be compared. Appends users' functions among them to `watched`, and
    objects to compare to `facts`."""
    cdef Guard g
    for g in guards.quick + guards.slow:
        kind = type(g).__name__
        if kind == "Raising" or g.label == "the function that is recorded":
            continue                            # made anew on arrival; the function has guards of its own
        if kind not in BY_CONTENT:
            return False
        if g.label in OF_PACKAGE:
            facts.append((g.label, state_of_package(g.label)))
        elif PyModule_Check(g.holder):
            name = attributes_of_module(g.holder).get("__name__")
            if trust_of_name(name) not in (OURS, PURE):
                return False
            if isinstance(g.found, dict):       # else it is the class of the module
                facts.append((name, {each: in_short(x) for each, x in (<dict>g.found).items()}))
        elif g.holder is vars(builtins):
            facts.append(("builtins", {each: in_short(x) for each, x in (<dict>g.found).items()}))
        elif PyFunction_Check(g.holder):
            if trust_of(g.holder.__globals__) == USERS:
                watched.append(g.holder)
        elif isinstance(g.holder, type):
            if trust_of_class(g.holder) not in (OURS, PURE):
                return False
        elif g.holder is sys.modules or g.label == "the package":
            return False
        elif isinstance(g.holder, Transformed):
            watched.append(g.holder)
        elif trust_of_class(type(g.holder)) == OURS and getattr(type(g.holder), "_made_once", False):
            pass                                # a transform makes it again from the same parts
        elif not isinstance(g.holder, TensorBase) and type(g.holder) not in (
                dict, list, OrderedDict, deque, np.ndarray, types.CellType, functools.partial):
            return False
        elif isinstance(g.holder, TensorBase) and type(g.holder).__module__.partition(".")[0] != "dualgrad":
            return False
    return True


cdef object in_short(object x):
    """A number or text, or the name of anything else."""
    if number_or_text(x) or x is None:
        return type(x).__name__, repr(x)
    return type(x).__name__, str(getattr(x, "__module__", None)), str(getattr(x, "__qualname__", None))


cdef object state_of_package(str label):
    around = vars(sys.modules[OF_PACKAGE[label]])
    return dict(around["_settings"]) if label == "the context" else around["_mode" if label == "the mode" else "_seed"]


# --------------------------------------------------------------------------------------------------------- arrival

cdef int arrive(Function function, object call, list parts, tuple recordings) except -1:
    """Keep recordings that came along with a function, if all is here as it was there."""
    cdef Recording r
    cdef Specialisation special
    cdef Reach reach
    for one in recordings:
        if one[0] != layout():                  # the rest may have another form
            continue
        _, key, slots, steps, inputs, outputs, template, captured, fixed, facts, watched = one
        with cython.critical_section(function):
            known = key in function.specialisations or key in function.waiting
        if known:
            continue
        reach = reachable_from(call, list(captured), executed_of([*watched, call, *parts]), True,
                               containers_of(parts))
        if reach.why is not None or not hold_on_arrival(reach.guards, facts):
            continue
        r = Recording()
        r.program = program_of(slots, steps, inputs, outputs)
        r.template = template
        r.call = call
        r.guards = reach.guards
        r.parts = parts
        r.elsewhere = reach.elsewhere
        r.guarded = True
        r.captured = {}
        r.shared = {}
        for t in captured:
            dg_set_flag(&(<TensorBase>t).captured)
            r.captured[id(t)] = t
        r.fixed = [(handle, value_in(<TensorBase>handle)) for handle in fixed]
        r.agreed = 2
        special = Specialisation()
        special.key = key
        with cython.critical_section(function):
            function.specialisations[key] = special
            accept(function, special, r)
    return 0


cdef Executed executed_of(list functions):
    """All code of some functions, as if it had run."""
    cdef Executed executed = Executed()
    cdef list codes = [(f.__code__, f.__globals__) for f in functions if PyFunction_Check(f)]
    while codes:
        code, around = codes.pop()
        executed.codes[address(code)] = code, around
        codes += [(nested, around) for nested in names_of(code).nested]
    executed.complete = True
    return executed


cdef bint hold_on_arrival(Guards guards, list facts) except -1:
    """Add guards of the state that each process has of its own. False if it differs from the process of the
    recording."""
    cdef Guard g
    for name, before in facts:
        if name in OF_PACKAGE:
            if OF_PACKAGE[name] not in sys.modules or state_of_package(name) != before:
                return False
            around = vars(sys.modules[OF_PACKAGE[name]])
            if name == "the context":
                guards.content(around["_settings"], name)
            else:
                guards.entries(around, ("_mode",) if name == "the mode" else ("_seed",), around, name)
            continue
        if name not in sys.modules:
            return False
        around = attributes_of_module(sys.modules[name])
        for each in before:
            getattr(sys.modules[name], each, None)  # trusted modules may import the attribute
        if {each: in_short(around[each]) for each in before if each in around} != before:
            return False
        guards.entries(around, tuple(before), around, f"an attribute of the module {name}")
    for g in guards.slow:
        if type(g).__name__ == "Raising" and g.found != ([], ({}, SameObject(None))):
            return False
    guards.gather_words()
    return True


cdef Program program_of(list slots, list steps, list inputs, list outputs):
    cdef Program p = Program()
    for kind, source, typenum, shape in slots:
        p.kinds.append(kind)
        p.sources.append(copy_of(source) if kind == FROM_CONSTANT else source)
        p.typenums.append(typenum)
        p.shapes.append(shape)
    p.steps.extend(steps)
    p.inputs.extend(inputs)
    p.outputs.extend(outputs)
    return p
