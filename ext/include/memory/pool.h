/* Pools of freed objects of one class, which are reused, and the class slots for that.
 *
 * Each small call makes and frees dozens of handles and nodes. The collector's own allocation, and Cython's calls that
 * save a pending error, would cost more than the computation.
 *
 * Debug builds, builds without GIL and builds under AddressSanitizer keep nothing: each object is allocated separately.
 */
#ifndef DG_POOL_H
#define DG_POOL_H

#include <Python.h>

#if defined(Py_GIL_DISABLED) || defined(__SANITIZE_ADDRESS__) || DG_DEBUG
#define DG_POOLED 0
#else
#define DG_POOLED 128
#endif

typedef struct {
    PyObject *kept[DG_POOLED + 1];
    int n;
} dg_pool;

/* Take an object out of the pool and track it again; its fields are as they were when it was returned. */
static inline PyObject *dg_pool_take(dg_pool *pool, PyTypeObject *type)
{
    PyObject *o = PyObject_Init(pool->kept[--pool->n], type);
    PyObject_GC_Track(o);
    return o;
}

/* Keep an object that is unreferenced and untracked, or free it. */
static inline void dg_pool_give(dg_pool *pool, PyTypeObject *type, PyObject *o)
{
    PyTypeObject *own = Py_TYPE(o);
    if (DG_POOLED && own == type && pool->n < DG_POOLED && !own->tp_finalize)
        pool->kept[pool->n++] = o;
    else
        own->tp_free(o);
    if (PyType_HasFeature(own, Py_TPFLAGS_HEAPTYPE)) Py_DECREF(own);
}

/* Call the finalizer of an object whose class has one; return 1 if the object lives on. */
static inline int dg_lives_on(PyObject *o)
{
    return Py_TYPE(o)->tp_finalize && !PyObject_GC_IsFinalized(o) && PyObject_CallFinalizerFromDealloc(o) < 0;
}

/* Free an object that may hold nested objects; beyond some depth it is freed later, to spare the stack. */
#define DG_FREE_NESTED(o, dealloc, freed) \
    do { \
        Py_TRASHCAN_BEGIN(o, dealloc) \
        freed(o); \
        Py_TRASHCAN_END \
    } while (0)

#endif
