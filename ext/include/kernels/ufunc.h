/* Look up the inner loop of a NumPy ufunc by the exact dtypes of its operands and results. This is C, because the
 * declarations of newer NumPy versions hide these struct fields from Cython. */
#ifndef DG_UFUNC_H
#define DG_UFUNC_H

#include <string.h>
#include "vector/loop.h"
#include "numpy/ufuncobject.h"

static int dg_find_loop(PyObject *o, const char *sig, int n, dg_loop *fn, void **data)
{
    PyUFuncObject *u = (PyUFuncObject *)o;
    if (u->nin + u->nout != n) return -1;
    for (int i = 0; i < u->ntypes; ++i)
        if (memcmp(u->types + (size_t)i * n, sig, (size_t)n) == 0) {
            *fn = (dg_loop)u->functions[i];
            *data = (void *)u->data[i];
            return 0;
        }
    return -1;
}

#endif
