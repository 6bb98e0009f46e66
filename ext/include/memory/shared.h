/* Numbers shared by all threads. The GIL guards them; without GIL each access is one atomic operation. */
#ifndef DG_SHARED_H
#define DG_SHARED_H

#include <Python.h>
#include <string.h>

#if !defined(Py_GIL_DISABLED)
#define DG_ADD_SHARED(counter, n) (*(counter) += (n))
#define DG_READ_SHARED(place) (*(place))
#define DG_WRITE_SHARED(place, value) (*(place) = (value))
#define DG_READ_POINTER(place) (*(place))
#define DG_WRITE_POINTER(place, value) (*(place) = (value))
#define DG_READ_WORD(place) (*(place))
#define DG_WRITE_WORD(place, word) (*(place) = (word))
#define DG_SET_FLAG(flag) (*(flag) = 1)
#define DG_FLAG(flag) (*(flag))
#elif defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#define DG_ADD_SHARED(counter, n) (_InterlockedExchangeAdd64(counter, n) + (n))
#define DG_READ_SHARED(place) (*(volatile long long *)(place))
#define DG_WRITE_SHARED(place, value) (*(volatile long long *)(place) = (value))
#define DG_READ_POINTER(place) _InterlockedCompareExchangePointer((void **)(place), NULL, NULL)
#define DG_WRITE_POINTER(place, value) ((void)_InterlockedExchangePointer((void **)(place), value))
#define DG_READ_WORD(place) (*(const volatile size_t *)(place))
#define DG_WRITE_WORD(place, word) (*(volatile size_t *)(place) = (word))
#define DG_SET_FLAG(flag) _InterlockedExchange((volatile long *)(flag), 1)
#define DG_FLAG(flag) _InterlockedExchangeAdd((volatile long *)(flag), 0)
#else
#define DG_ADD_SHARED(counter, n) __atomic_add_fetch(counter, n, __ATOMIC_RELAXED)
#define DG_READ_SHARED(place) __atomic_load_n(place, __ATOMIC_RELAXED)
#define DG_WRITE_SHARED(place, value) __atomic_store_n(place, value, __ATOMIC_RELAXED)
#define DG_READ_POINTER(place) __atomic_load_n(place, __ATOMIC_ACQUIRE)
#define DG_WRITE_POINTER(place, value) __atomic_store_n(place, value, __ATOMIC_RELEASE)
#define DG_READ_WORD(place) __atomic_load_n(place, __ATOMIC_RELAXED)
#define DG_WRITE_WORD(place, word) __atomic_store_n(place, word, __ATOMIC_RELAXED)
#define DG_SET_FLAG(flag) __atomic_store_n(flag, 1, __ATOMIC_RELEASE)
#define DG_FLAG(flag) __atomic_load_n(flag, __ATOMIC_ACQUIRE)
#endif

/* Add n to a counter and return the sum; read it; write it. */
static inline long long dg_add_shared(long long *counter, long long n) { return DG_ADD_SHARED(counter, n); }
static inline long long dg_read_shared(long long *counter) { return DG_READ_SHARED(counter); }
static inline void dg_write_shared(long long *counter, long long n) { DG_WRITE_SHARED(counter, n); }

/* A word that is only compared, and points to nothing. */
static inline size_t dg_read_word(const size_t *place) { return DG_READ_WORD(place); }
static inline void dg_write_word(size_t *place, size_t word) { DG_WRITE_WORD(place, word); }

/* A pointer. Its target was complete when the pointer was written. */
static inline void *dg_read_pointer(void **place) { return DG_READ_POINTER(place); }
static inline void dg_write_pointer(void **place, void *value) { DG_WRITE_POINTER(place, value); }
static inline char *dg_read_data(char **place) { return (char *)DG_READ_POINTER(place); }
static inline void dg_write_data(char **place, char *value) { DG_WRITE_POINTER(place, value); }

/* A lock that is held briefly. Unlike a critical section, it is kept while its holder waits for another lock. */
#if defined(Py_GIL_DISABLED)
typedef PyMutex dg_shared_lock;
static inline void dg_hold(dg_shared_lock *lock) { PyMutex_Lock(lock); }
static inline void dg_release(dg_shared_lock *lock) { PyMutex_Unlock(lock); }
#else
typedef char dg_shared_lock;
static inline void dg_hold(dg_shared_lock *lock) { (void)lock; }
static inline void dg_release(dg_shared_lock *lock) { (void)lock; }
#endif

#if defined(Py_GIL_DISABLED)
#define DG_BEGIN_SECTION(o) Py_BEGIN_CRITICAL_SECTION(o)
#define DG_END_SECTION() Py_END_CRITICAL_SECTION()
#else
#define DG_BEGIN_SECTION(o) { (void)(o)
#define DG_END_SECTION() }
#endif

/* A new reference to the object in a field of `holder`. (Fields are pointers of several types, so memcpy reads them.)
 * */
static inline PyObject *dg_take(PyObject *holder, const void *field)
{
    PyObject *held;
    DG_BEGIN_SECTION(holder);
    memcpy(&held, field, sizeof(held));
    Py_INCREF(held);
    DG_END_SECTION();
    return held;
}

/* Store another object in a field. The former object is released outside of the section. */
static inline void dg_put(PyObject *holder, void *field, PyObject *held)
{
    PyObject *former;
    Py_INCREF(held);
    DG_BEGIN_SECTION(holder);
    memcpy(&former, field, sizeof(former));
    memcpy(field, &held, sizeof(held));
    DG_END_SECTION();
    Py_DECREF(former);
}

/* Return 1 if an object has at most n references. Without GIL two counters hold their number, and all threads may
 * change the second one. The answer is 0 while another thread owns the first counter, or has changed the second one. If
 * it is 1, the work of other threads on the object is complete. */
static inline int dg_held_at_most(PyObject *o, Py_ssize_t n)
{
#if defined(Py_GIL_DISABLED)
    return _Py_IsOwnedByCurrentThread(o) && _Py_atomic_load_ssize_acquire(&o->ob_ref_shared) == 0 &&
           (Py_ssize_t)o->ob_ref_local <= n;
#else
    return Py_REFCNT(o) <= n;
#endif
}

/* Set a flag after all earlier writes are complete; read the flag. */
static inline void dg_set_flag(int *flag) { (void)DG_SET_FLAG(flag); }
static inline int dg_flag(int *flag) { return DG_FLAG(flag); }

#endif
