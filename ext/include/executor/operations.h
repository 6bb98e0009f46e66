/* The operations that superinstructions and programs on single numbers are made of. */
#ifndef DG_OPERATIONS_H
#define DG_OPERATIONS_H

#include "vector/registers.h"

/* quick: an absorbing product as it is tried first. */
#define DG_OPERATIONS(T)                                                                                            \
    DG_INLINE T dg_MUL_##T(const int quick, T x, T y) { return (void)quick, x * y; }                                \
    DG_INLINE T dg_ABSORB_##T(const int quick, T x, T y) { return quick ? DG_ABSORB_QUICK(x, y) : DG_ABSORB(x, y); }\
    DG_INLINE T dg_ADD_##T(const int quick, T x, T y) { return (void)quick, x + y; }                                \
    DG_INLINE T dg_SUB_##T(const int quick, T x, T y) { return (void)quick, x - y; }                                \
    DG_INLINE T dg_BUS_##T(const int quick, T x, T y) { return (void)quick, y - x; }
DG_OPERATIONS(double)
DG_OPERATIONS(float)

#endif
