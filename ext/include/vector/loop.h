/* The signature of an inner loop, as in NumPy: pointers, one length, byte strides, and data for the loop. */
#ifndef DG_LOOP_H
#define DG_LOOP_H

#include <Python.h>
#include <numpy/ndarraytypes.h>

typedef void (*dg_loop)(char **, const npy_intp *, const npy_intp *, void *);

#endif
