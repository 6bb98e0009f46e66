/* Pools: objects of one type that were freed and are used again, and slots of types for that.
 *
 * Handles and nodes are made and freed by the dozen in each small call. The collector's own allocation, and the calls by
 * which Cython puts a pending error aside, would cost more than what is computed with them.
 *
 * Debug builds, builds without GIL and those under AddressSanitizer keep nothing: each object is allocated by itself.
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

/* An object that was kept, as the collector knows it; its fields are those with which it was given back. */
static inline PyObject *dg_pool_take(dg_pool *pool, PyTypeObject *type)
{
    PyObject *o = PyObject_Init(pool->kept[--pool->n], type);
    PyObject_GC_Track(o);
    return o;
}

/* Keep an object that nothing refers to and the collector has forgotten, or free it. */
static inline void dg_pool_give(dg_pool *pool, PyTypeObject *type, PyObject *o)
{
    PyTypeObject *own = Py_TYPE(o);
    if (DG_POOLED && own == type && pool->n < DG_POOLED && !own->tp_finalize)
        pool->kept[pool->n++] = o;
    else
        own->tp_free(o);
    if (PyType_HasFeature(own, Py_TPFLAGS_HEAPTYPE)) Py_DECREF(own);
}

/* Call the finalizer of an object whose class has one; whether the object lives on. */
static inline int dg_lives_on(PyObject *o)
{
    return Py_TYPE(o)->tp_finalize && !PyObject_GC_IsFinalized(o) && PyObject_CallFinalizerFromDealloc(o) < 0;
}

/* Free an object whose fields may hold others, which hold others: beyond some depth later, to spare the stack. */
#define DG_FREE_NESTED(o, dealloc, freed) \
    do { \
        Py_TRASHCAN_BEGIN(o, dealloc) \
        freed(o); \
        Py_TRASHCAN_END \
    } while (0)

#endif
