/* Huge pages for large blocks, if the system has them: one page fault instead of 512. */
#ifndef DG_PAGES_H
#define DG_PAGES_H

#include <Python.h>
#include <stdint.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#define DG_HUGE_FROM ((size_t)4 << 20)

/* Request huge pages for a large block that is not written yet. */
static inline void dg_advise(void *p, size_t n)
{
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    const uintptr_t first = ((uintptr_t)p + 4095) & ~(uintptr_t)4095, last = ((uintptr_t)p + n) & ~(uintptr_t)4095;
    if (last > first) madvise((void *)first, last - first, MADV_HUGEPAGE);
#else
    (void)p;
    (void)n;
#endif
}

/* realloc for arrays that grow. */
static inline void *dg_grow(void *p, size_t n)
{
    void *q = PyMem_RawRealloc(p, n);
    if (q && n >= DG_HUGE_FROM) dg_advise(q, n);
    return q;
}

#endif
