/* Picks: rows that index arrays name, taken out of an array or added up in one.
 *
 * A pick is what lies behind the axes that are indexed, elements side by side: of an array (n, 3) indexed by one array of
 * integers three numbers, by two arrays of integers a single one. Where it begins follows from one index for each of these
 * axes; negative ones count from the end. Whether all of them lie inside is asked once, before a region starts
 * (`dg_indices_fit`), so these loops need not ask.
 *
 * Picks are added in the order of the indices, as NumPy's `add.at` does, so sums are the same bit for bit.
 */
#ifndef DG_GATHER_H
#define DG_GATHER_H

#include <string.h>
#include "executor/instruction.h"
#include "vector/registers.h"

/* Whether n indices, so many bytes apart, all lie inside an axis. */
#define DG_INDICES_FIT(LEVEL, NAME, T)                                                                \
    static int NAME##_##LEVEL(const char *index, npy_intp n, npy_intp step, npy_intp extent)          \
    {                                                                                                 \
        const T high = (T)(sizeof(T) == 4 && extent > INT32_MAX ? INT32_MAX : extent - 1), low = -1 - high; \
        T bad = 0;                                                                                    \
        if (step == (npy_intp)sizeof(T))                                                              \
            for (npy_intp i = 0; i < n; ++i) {                                                        \
                const T x = ((const T *)index)[i];                                                    \
                bad |= (x < low) | (x > high);                                                        \
            }                                                                                         \
        else                                                                                          \
            for (npy_intp i = 0; i < n; ++i, index += step) {                                         \
                const T x = *(const T *)index;                                                        \
                bad |= (x < low) | (x > high);                                                        \
            }                                                                                         \
        return !bad;                                                                                  \
    }
DG_EACH_LEVEL(DG_INDICES_FIT, dg_indices_fit_32, int32_t)
DG_EACH_LEVEL(DG_INDICES_FIT, dg_indices_fit_64, int64_t)

static inline int dg_indices_fit(const char *index, npy_intp n, npy_intp step, npy_intp extent, int wide)
{
    return (wide ? DG_CHOOSE(dg_indices_fit_64) : DG_CHOOSE(dg_indices_fit_32))(index, n, step, extent);
}

/* Where the next pick lies; the pointers to the indices go on. */
DG_INLINE npy_intp dg_next_pick(const dg_picks *picks, const char **index, const int count, const int wide)
{
    npy_intp at = 0;
    for (int k = 0; k < count && k < DG_MAX_INDICES; ++k) {
        const npy_intp i = wide ? (npy_intp)*(const int64_t *)index[k] : (npy_intp)*(const int32_t *)index[k];
        at += (i < 0 ? i + picks->extent[k] : i) * picks->stride[k];
        index[k] += picks->step[k];
    }
    return at;
}

/* A loop for one int64 index array, which is what most programs have, and one for all else. */
#define DG_PICKS_OF(LOOP, ...)                                               \
    if (picks->count == 1 && picks->wide) LOOP(1, 1, __VA_ARGS__)            \
    else LOOP(picks->count, picks->wide, __VA_ARGS__)

#define DG_GATHER_LOOP(COUNT, WIDE, BYTES)                                   \
    for (npy_intp i = 0; i < n; ++i, to += (BYTES))                          \
        memcpy(to, from + dg_next_pick(picks, index, COUNT, WIDE), (size_t)(BYTES));

static void dg_gather(const dg_picks *picks, const char *from, char *const *indices, char *to, npy_intp n, npy_intp item)
{
    const char *index[DG_MAX_INDICES];
    const npy_intp bytes = picks->width * item;
    for (int k = 0; k < picks->count; ++k) index[k] = indices[k];
    switch (bytes) { /* copies of a known length take no call */
    case 4: DG_PICKS_OF(DG_GATHER_LOOP, 4) break;
    case 8: DG_PICKS_OF(DG_GATHER_LOOP, 8) break;
    case 12: DG_PICKS_OF(DG_GATHER_LOOP, 12) break;
    case 16: DG_PICKS_OF(DG_GATHER_LOOP, 16) break;
    case 24: DG_PICKS_OF(DG_GATHER_LOOP, 24) break;
    default: DG_PICKS_OF(DG_GATHER_LOOP, bytes)
    }
}

#define DG_SCATTER_LOOP(COUNT, WIDE, T, WIDTH)                               \
    for (npy_intp i = 0; i < n; ++i) {                                       \
        T *r = (T *)(to + dg_next_pick(picks, index, COUNT, WIDE));          \
        for (npy_intp j = 0; j < (WIDTH); ++j, from += step) r[j] += *(const T *)from; \
    }

/* `step`: bytes from one number that is added to the next; 0 where it is one number again and again. */
#define DG_SCATTER_ADD(T)                                                                                      \
    static void dg_scatter_add_##T(const dg_picks *picks, const char *from, npy_intp step, char *const *indices, \
                                   char *to, npy_intp n)                                                       \
    {                                                                                                          \
        const char *index[DG_MAX_INDICES];                                                                     \
        for (int k = 0; k < picks->count; ++k) index[k] = indices[k];                                          \
        switch (picks->width) {                                                                                \
        case 1: DG_PICKS_OF(DG_SCATTER_LOOP, T, 1) break;                                                      \
        case 2: DG_PICKS_OF(DG_SCATTER_LOOP, T, 2) break;                                                      \
        case 3: DG_PICKS_OF(DG_SCATTER_LOOP, T, 3) break;                                                      \
        default: DG_PICKS_OF(DG_SCATTER_LOOP, T, picks->width)                                                 \
        }                                                                                                      \
    }
DG_SCATTER_ADD(double)
DG_SCATTER_ADD(float)

#endif
