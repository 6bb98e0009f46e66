/* Memory: the only owner of raw buffers.
 *
 * There are two sources:
 *
 *   dg_alloc, dg_free     data of arrays, aligned to 64 bytes. Freed buffers are kept for reuse, small ones in lists by
 *                         size, large ones in a bounded cache: page faults after returning them to the system would
 *                         cost more than the arithmetic (measured: half the time of a network's eager step).
 *   dg_slab_alloc, _free  array objects, all of one size, from slabs of 2 MiB. An allocation is a list operation, and a
 *                         tape of millions of objects lies on huge pages (measured: a page fault per 4 KiB costs more
 *                         than the twenty-odd objects that fit there). Empty slabs beyond a few are returned.
 *
 * (The arrays of a tape grow by memory/pages.h.) The caller holds the GIL; in a build without GIL, a lock is taken.
 *
 * Under AddressSanitizer every block is allocated separately, with its exact size, and freed at once. Rounding and
 * reuse would hide reads behind the end and after the free.
 */
#ifndef DG_MEMORY_H
#define DG_MEMORY_H

#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "memory/pages.h"

#define DG_ALIGN 64

#if defined(__SANITIZE_ADDRESS__) && !defined(_WIN32)
#define DG_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DG_SANITIZED
#endif
#endif

/* *product *= factor, both not negative; returns 1 if the product overflows. */
static inline int dg_exceeds(Py_ssize_t *product, Py_ssize_t factor)
{
#if defined(__GNUC__) || defined(__clang__)
    return __builtin_mul_overflow(*product, factor, product);
#else
    if (factor != 0 && *product > PY_SSIZE_T_MAX / factor) return 1;
    *product *= factor;
    return 0;
#endif
}

#ifdef DG_SANITIZED

static void *dg_alloc(size_t n)
{
    void *p;
    return posix_memalign(&p, DG_ALIGN, n ? n : 1) == 0 ? p : NULL;
}

static void dg_free(void *p, size_t n)
{
    (void)n;
    free(p);
}

static inline void *dg_slab_alloc(size_t size) { return malloc(size); }

static inline void dg_slab_free(void *p) { free(p); }

#else

#ifdef Py_GIL_DISABLED
static PyMutex dg_memory_lock;
#define DG_LOCK() PyMutex_Lock(&dg_memory_lock)
#define DG_UNLOCK() PyMutex_Unlock(&dg_memory_lock)
#else
#define DG_LOCK() ((void)0)
#define DG_UNLOCK() ((void)0)
#endif

#define DG_HUGE ((size_t)2 << 20)

static void *dg_system_alloc(size_t align, size_t n)
{
#ifdef _WIN32
    return _aligned_malloc(n, align);
#else
    return aligned_alloc(align, n);
#endif
}

static void dg_system_free(void *p)
{
#ifdef _WIN32
    _aligned_free(p);
#else
    free(p);
#endif
}

/* ------------------------------------------------------------------------------------------ data of arrays */

#define DG_SMALL 4096                   /* largest block that is kept in a list */
#define DG_LIST_LENGTH 32
#define DG_CACHE_BYTES ((size_t)256 << 20)
#define DG_CACHE_SLOTS 128

typedef struct dg_free_block { struct dg_free_block *next; } dg_free_block;
typedef struct { void *block; size_t size; } dg_cached;

static dg_free_block *dg_lists[DG_SMALL / DG_ALIGN + 1];
static int dg_list_lengths[DG_SMALL / DG_ALIGN + 1];
static dg_cached dg_cache[DG_CACHE_SLOTS];
static int dg_cache_used = 0;
static size_t dg_cache_bytes = 0;

static inline size_t dg_round(size_t n) { return ((n ? n : 1) + DG_ALIGN - 1) & ~(size_t)(DG_ALIGN - 1); }

static void *dg_alloc(size_t n)
{
    void *p = NULL;
    n = dg_round(n);
    DG_LOCK();
    if (n <= DG_SMALL) {
        dg_free_block *b = dg_lists[n / DG_ALIGN];
        if (b) {
            dg_lists[n / DG_ALIGN] = b->next;
            dg_list_lengths[n / DG_ALIGN]--;
            p = b;
        }
    } else {
        for (int i = dg_cache_used - 1; i >= 0; --i)
            if (dg_cache[i].size == n) {
                p = dg_cache[i].block;
                dg_cache_bytes -= n;
                dg_cache[i] = dg_cache[--dg_cache_used];
                break;
            }
    }
    DG_UNLOCK();
    if (!p) {
        p = dg_system_alloc(DG_ALIGN, n);
        if (p && n >= DG_HUGE_FROM) dg_advise(p, n);
    }
    return p;
}

static void dg_free(void *p, size_t n)
{
    void *out = NULL;
    n = dg_round(n);
    DG_LOCK();
    if (n <= DG_SMALL) {
        if (dg_list_lengths[n / DG_ALIGN] < DG_LIST_LENGTH) {
            ((dg_free_block *)p)->next = dg_lists[n / DG_ALIGN];
            dg_lists[n / DG_ALIGN] = (dg_free_block *)p;
            dg_list_lengths[n / DG_ALIGN]++;
        } else
            out = p;
    } else if (n > DG_CACHE_BYTES / 2) {
        out = p;
    } else {
        while (dg_cache_used && (dg_cache_used == DG_CACHE_SLOTS || dg_cache_bytes + n > DG_CACHE_BYTES)) {
            dg_cache_bytes -= dg_cache[0].size; /* the oldest comes first */
            dg_system_free(dg_cache[0].block);
            memmove(dg_cache, dg_cache + 1, sizeof(dg_cached) * (size_t)--dg_cache_used);
        }
        dg_cache[dg_cache_used].block = p;
        dg_cache[dg_cache_used++].size = n;
        dg_cache_bytes += n;
    }
    DG_UNLOCK();
    if (out) dg_system_free(out);
}

/* ----------------------------------------------------------------------------------------------- objects */

#define DG_KEEP_EMPTY 16                /* empty slabs kept for reuse */

typedef struct dg_slab {
    struct dg_slab *next, *prev;        /* in the list of slabs with room */
    dg_free_block *free;
    char *bump, *end;                   /* the part that was never used */
    size_t used;
    int listed;
} dg_slab;

static dg_slab *dg_slabs = NULL;
static int dg_slabs_made = 0, dg_slabs_empty = 0;

static void dg_slab_list(dg_slab *s)
{
    s->prev = NULL;
    s->next = dg_slabs;
    if (dg_slabs) dg_slabs->prev = s;
    dg_slabs = s;
    s->listed = 1;
}

static void dg_slab_unlist(dg_slab *s)
{
    if (s->prev) s->prev->next = s->next; else dg_slabs = s->next;
    if (s->next) s->next->prev = s->prev;
    s->listed = 0;
}

/* Allocate one object; all callers use the same size. */
static inline void *dg_slab_alloc(size_t size)
{
    void *p = NULL;
    dg_slab *s;
    DG_LOCK();
    s = dg_slabs;
    if (!s) {
        s = (dg_slab *)dg_system_alloc(DG_HUGE, DG_HUGE);
        if (!s) { DG_UNLOCK(); return NULL; }
        if (dg_slabs_made++ >= 2) dg_advise(s, DG_HUGE);        /* a small program does not pay for zeroing 2 MiB */
        s->free = NULL;
        s->used = 0;
        s->bump = (char *)s + dg_round(sizeof(dg_slab));
        s->end = (char *)s + DG_HUGE;
        dg_slab_list(s);
        dg_slabs_empty++;
    }
    if (s->used++ == 0) dg_slabs_empty--;
    if (s->free) {
        p = s->free;
        s->free = s->free->next;
    } else {
        p = s->bump;
        s->bump += size;
    }
    if (!s->free && s->bump + size > s->end) dg_slab_unlist(s);
    DG_UNLOCK();
    return p;
}

static inline void dg_slab_free(void *p)
{
    dg_slab *s = (dg_slab *)((uintptr_t)p & ~(uintptr_t)(DG_HUGE - 1)), *out = NULL;
    DG_LOCK();
    ((dg_free_block *)p)->next = s->free;
    s->free = (dg_free_block *)p;
    if (!s->listed) dg_slab_list(s);
    if (--s->used == 0) {
        if (dg_slabs_empty >= DG_KEEP_EMPTY) {
            dg_slab_unlist(s);
            out = s;
        } else
            dg_slabs_empty++;
    }
    DG_UNLOCK();
    if (out) dg_system_free(out);
}

#endif

#define DG_OBJECT_HEAD (sizeof(PyObject) + 64)  /* the fields of an array object before its inline shape and data */

/* Without the GIL the interpreter may read an object that another thread frees, so the interpreter must own its memory.
 * */
#ifdef Py_GIL_DISABLED
#define DG_OBJECT_ALLOC(size) PyObject_Malloc(size)
#define DG_OBJECT_FREE(p) PyObject_Free(p)
#else
#define DG_OBJECT_ALLOC(size) dg_slab_alloc(size)
#define DG_OBJECT_FREE(p) dg_slab_free(p)
#endif

/* The tp_alloc of a class whose objects come from the slabs. */
static PyObject *dg_object_alloc(PyTypeObject *type, Py_ssize_t items)
{
    const size_t size = ((size_t)type->tp_basicsize + 15) & ~(size_t)15;
    void *p = DG_OBJECT_ALLOC(size);
    (void)items;
    if (!p) return PyErr_NoMemory();
    memset(p, 0, DG_OBJECT_HEAD); /* all else is written before it is read */
    return PyObject_Init((PyObject *)p, type);
}

static void dg_object_free(void *p) { DG_OBJECT_FREE(p); }

static inline void dg_use_slabs(PyTypeObject *type)
{
    type->tp_alloc = dg_object_alloc;
    type->tp_free = dg_object_free;
}

#endif
