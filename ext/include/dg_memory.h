/* Memory of array data: the only owner of raw buffers.
 *
 * Buffers are aligned to 64 bytes. Freed large buffers are kept in a small cache, because returning them to the system
 * and faulting them in again costs more than the arithmetic on them (measured: half the time of a network's eager
 * step). The cache is bounded; it is used with the GIL held only.
 */
#ifndef DG_MEMORY_H
#define DG_MEMORY_H

#include <stdlib.h>
#include <string.h>

#define DG_ALIGN 64
#define DG_CACHE_MIN (1 << 14)          /* smaller blocks are left to malloc */
#define DG_CACHE_BYTES ((size_t)256 << 20)
#define DG_CACHE_SLOTS 256

typedef struct { void *block; size_t size; } dg_cached;

static dg_cached dg_cache[DG_CACHE_SLOTS];
static int dg_cache_used = 0;
static size_t dg_cache_bytes = 0;

static inline size_t dg_round(size_t n) { return (n + DG_ALIGN - 1) & ~(size_t)(DG_ALIGN - 1); }

static inline void *dg_system_alloc(size_t n)
{
#ifdef _WIN32
    return _aligned_malloc(n, DG_ALIGN);
#else
    return aligned_alloc(DG_ALIGN, n);
#endif
}

static inline void dg_system_free(void *p)
{
#ifdef _WIN32
    _aligned_free(p);
#else
    free(p);
#endif
}

static void *dg_alloc(size_t n)
{
    n = dg_round(n ? n : 1);
    if (n < DG_CACHE_MIN) return dg_system_alloc(n);
    for (int i = dg_cache_used - 1; i >= 0; --i)
        if (dg_cache[i].size == n) {
            void *p = dg_cache[i].block;
            dg_cache_bytes -= n;
            dg_cache[i] = dg_cache[--dg_cache_used];
            return p;
        }
    return dg_system_alloc(n);
}

static void dg_free(void *p, size_t n)
{
    n = dg_round(n ? n : 1);
    if (n < DG_CACHE_MIN || n > DG_CACHE_BYTES / 2) { dg_system_free(p); return; }
    while (dg_cache_used && (dg_cache_used == DG_CACHE_SLOTS || dg_cache_bytes + n > DG_CACHE_BYTES)) {
        /* the oldest entries stand first: give those back */
        dg_cache_bytes -= dg_cache[0].size;
        dg_system_free(dg_cache[0].block);
        memmove(dg_cache, dg_cache + 1, sizeof(dg_cached) * (size_t)--dg_cache_used);
    }
    dg_cache[dg_cache_used].block = p;
    dg_cache[dg_cache_used++].size = n;
    dg_cache_bytes += n;
}

#endif
