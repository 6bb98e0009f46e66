# Results of passes as plain data. See facts.pyx.
from .allocation cimport Located, Memory
from .code cimport RegionCode
from .executor cimport dg_instruction


cdef dict facts_of(object made)
cdef dict memory_data(Memory m)
cdef dict view_data(Located at)
cdef dict region_data(RegionCode region)
cdef dict instruction_data(const dg_instruction *p, object primitive)
