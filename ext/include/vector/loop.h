/* The signature of an inner loop, NumPy's: pointers, one length, byte strides, and data of the loop's own. */
#ifndef DG_LOOP_H
#define DG_LOOP_H

#include <Python.h>
#include <numpy/ndarraytypes.h>

typedef void (*dg_loop)(char **, const npy_intp *, const npy_intp *, void *);

#endif
