/* The operations of superinstructions and of programs on single numbers. */
#ifndef DG_OPERATIONS_H
#define DG_OPERATIONS_H

#include "vector/registers.h"

/* quick: the form of an absorbing product that is tried first. */
#define DG_OPERATIONS(T)                                                                                            \
    DG_INLINE T dg_MUL_##T(const int quick, T x, T y) { return (void)quick, x * y; }                                \
    DG_INLINE T dg_ABSORB_##T(const int quick, T x, T y) { return quick ? DG_ABSORB_QUICK(x, y) : DG_ABSORB(x, y); }\
    DG_INLINE T dg_ADD_##T(const int quick, T x, T y) { return (void)quick, x + y; }                                \
    DG_INLINE T dg_SUB_##T(const int quick, T x, T y) { return (void)quick, x - y; }                                \
    DG_INLINE T dg_BUS_##T(const int quick, T x, T y) { return (void)quick, y - x; }
DG_OPERATIONS(double)
DG_OPERATIONS(float)

#endif
