/* Loops around users' kernels: C functions of numbers, given by address.
 * They have the signature of NumPy's inner loops; `data` is the function. */
#ifndef DG_SCALAR_H
#define DG_SCALAR_H

#include "vector/loop.h"

#define DG_SCALAR_LOOPS(TAG, T)                                                                         \
    static void dg_scalar_##TAG##1(char **a, const npy_intp *dims, const npy_intp *s, void *data)       \
    {                                                                                                   \
        T (*f)(T) = (T (*)(T))data;                                                                     \
        for (npy_intp i = 0; i < dims[0]; ++i)                                                          \
            *(T *)(a[1] + i * s[1]) = f(*(T *)(a[0] + i * s[0]));                                       \
    }                                                                                                   \
    static void dg_scalar_##TAG##2(char **a, const npy_intp *dims, const npy_intp *s, void *data)       \
    {                                                                                                   \
        T (*f)(T, T) = (T (*)(T, T))data;                                                               \
        for (npy_intp i = 0; i < dims[0]; ++i)                                                          \
            *(T *)(a[2] + i * s[2]) = f(*(T *)(a[0] + i * s[0]), *(T *)(a[1] + i * s[1]));              \
    }                                                                                                   \
    static void dg_scalar_##TAG##3(char **a, const npy_intp *dims, const npy_intp *s, void *data)       \
    {                                                                                                   \
        T (*f)(T, T, T) = (T (*)(T, T, T))data;                                                         \
        for (npy_intp i = 0; i < dims[0]; ++i)                                                          \
            *(T *)(a[3] + i * s[3]) =                                                                   \
                f(*(T *)(a[0] + i * s[0]), *(T *)(a[1] + i * s[1]), *(T *)(a[2] + i * s[2]));           \
    }

DG_SCALAR_LOOPS(d, double)
DG_SCALAR_LOOPS(f, float)

static dg_loop dg_scalar_loop(int is_double, int arity)
{
    static dg_loop const loops[2][3] = {{dg_scalar_f1, dg_scalar_f2, dg_scalar_f3},
                                        {dg_scalar_d1, dg_scalar_d2, dg_scalar_d3}};
    return arity >= 1 && arity <= 3 ? loops[is_double != 0][arity - 1] : (dg_loop)0;
}

#endif
