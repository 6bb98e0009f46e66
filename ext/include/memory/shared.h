/* Numbers that all threads share. The GIL guards them; in an interpreter without GIL each access is one atomic step. */
#ifndef DG_SHARED_H
#define DG_SHARED_H

#include <Python.h>

#if !defined(Py_GIL_DISABLED)
#define DG_ADD_SHARED(counter, n) (*(counter) += (n))
#define DG_READ_SHARED(counter) (*(counter))
#define DG_SET_FLAG(flag) (*(flag) = 1)
#define DG_FLAG(flag) (*(flag))
#elif defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#define DG_ADD_SHARED(counter, n) (_InterlockedExchangeAdd64(counter, n) + (n))
#define DG_READ_SHARED(counter) _InterlockedExchangeAdd64(counter, 0)
#define DG_SET_FLAG(flag) _InterlockedExchange((volatile long *)(flag), 1)
#define DG_FLAG(flag) _InterlockedExchangeAdd((volatile long *)(flag), 0)
#else
#define DG_ADD_SHARED(counter, n) __atomic_add_fetch(counter, n, __ATOMIC_RELAXED)
#define DG_READ_SHARED(counter) __atomic_load_n(counter, __ATOMIC_RELAXED)
#define DG_SET_FLAG(flag) __atomic_store_n(flag, 1, __ATOMIC_RELEASE)
#define DG_FLAG(flag) __atomic_load_n(flag, __ATOMIC_ACQUIRE)
#endif

/* The counter after n was added to it, and the counter. */
static inline long long dg_add_shared(long long *counter, long long n) { return DG_ADD_SHARED(counter, n); }
static inline long long dg_read_shared(long long *counter) { return DG_READ_SHARED(counter); }

/* Say that what was written before is complete, and whether that was said. */
static inline void dg_set_flag(int *flag) { (void)DG_SET_FLAG(flag); }
static inline int dg_flag(int *flag) { return DG_FLAG(flag); }

#endif
