/* The first-level cache of this machine. */
#ifndef DG_CACHE_H
#define DG_CACHE_H

#if !defined(_WIN32)
#include <unistd.h>
#endif

/* Bytes of the first-level data cache of this machine; 32 KiB if the system does not tell. */
static inline long dg_first_cache_size(void)
{
    long size = 0;
#if defined(_SC_LEVEL1_DCACHE_SIZE)
    size = sysconf(_SC_LEVEL1_DCACHE_SIZE);
#endif
    return size > 0 ? size : 32L << 10;
}

#endif
