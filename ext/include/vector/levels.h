/* Functions compiled for each instruction set, and the choice for this processor.
 *
 * A maker is a macro that defines one function; its first parameter, the level, ends the function's name.
 * `DG_EACH_LEVEL` calls it for the baseline of the compiler (v1). Where the processor may have more, it also calls it
 * for vectors of 32 bytes with multiply-add (v3) and for vectors of 64 bytes (v4). `DG_CHOOSE` selects a level: for
 * loops when they are looked up, for the few functions called by name at each call. So the loader need not choose.
 *
 * The environment variable DUALGRAD_KERNELS requests a lower level: `x86-64-v3` or `baseline`.
 */
#ifndef DG_LEVELS_H
#define DG_LEVELS_H

#include <stdlib.h>
#include <string.h>
#include "vector/compiler.h"

/* GCC knows the names of levels from version 12 on. On Windows it does not align its stack for vectors of 32 bytes. */
#if defined(__x86_64__) && (defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 12 && !defined(_WIN32)))
#define DG_HAS_LEVELS 1
#include "vector/processor.h"
#define DG_TARGET_v3 __attribute__((target("arch=x86-64-v3")))
#if defined(__clang__) /* else it uses vectors of 32 bytes */
#define DG_TARGET_v4 __attribute__((target("arch=x86-64-v4"), min_vector_width(512)))
#else
#define DG_TARGET_v4 __attribute__((target("arch=x86-64-v4")))
#endif
#define DG_EACH_LEVEL(MAKER, ...)       \
    DG_TARGET_v4 MAKER(v4, __VA_ARGS__) \
    DG_TARGET_v3 MAKER(v3, __VA_ARGS__) \
    MAKER(v1, __VA_ARGS__)
#define DG_CHOOSE_AS(CAST, NAME) (dg_level() == 2 ? CAST NAME##_v4 : dg_level() == 1 ? CAST NAME##_v3 : CAST NAME##_v1)
#define DG_TABLES(TABLE) {TABLE(v1), TABLE(v3), TABLE(v4)} /* by dg_level() */
#else
#define DG_HAS_LEVELS 0
#define DG_EACH_LEVEL(MAKER, ...) MAKER(v1, __VA_ARGS__)
#define DG_CHOOSE_AS(CAST, NAME) (CAST NAME##_v1)
#define DG_TABLES(TABLE) {TABLE(v1)}
#endif

#define DG_CHOOSE(NAME) DG_CHOOSE_AS(, NAME)

/* DG_FUSES: a level multiplies and adds with one rounding. DG_BYTES: the bytes of its vectors. */
#if defined(__FP_FAST_FMA) || defined(__ARM_FEATURE_FMA)
#define DG_FUSES_v1 1
#else
#define DG_FUSES_v1 0
#endif
#define DG_FUSES_v3 1
#define DG_FUSES_v4 1
#define DG_BYTES_v1 16
#define DG_BYTES_v3 32
#define DG_BYTES_v4 64

#if DG_HAS_LEVELS
/* The level requested now. */
static int dg_find_level(void)
{
    const char *wish = getenv("DUALGRAD_KERNELS");
    const int found = wish && !strcmp(wish, "baseline") ? 1 : dg_find_x86_64();
    return found < 3 ? 0 : found < 4 || (wish && !strcmp(wish, "x86-64-v3")) ? 1 : 2;
}
#endif

/* The level at the first call: 0 the baseline, 1 v3, 2 v4. Threads that call it at once find the same. */
static __attribute__((unused)) int dg_level(void)
{
#if DG_HAS_LEVELS
    static int known; /* the level plus one */
    int level = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (!level) __atomic_store_n(&known, level = dg_find_level() + 1, __ATOMIC_RELAXED);
    return level - 1;
#else
    return 0;
#endif
}

#endif
