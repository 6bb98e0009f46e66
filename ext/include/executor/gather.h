/* Gather and scatter with index arrays: copy indexed elements out of an array, or add elements into one.
 *
 * Each set of indices selects one contiguous piece behind the indexed axes. In an array of shape (n, 3) a piece has
 * three numbers for one index array, and a single number for two. One index per indexed axis gives its address;
 * negative ones count from the end. All indices are checked once, before a region starts (`dg_indices_fit`), so these
 * loops do not check them.
 *
 * Elements are added in the order of the indices, as in NumPy's `add.at`, so sums are equal bit for bit.
 */
#ifndef DG_GATHER_H
#define DG_GATHER_H

#include <string.h>
#include "executor/instruction.h"
#include "vector/registers.h"

/* Return 1 if n indices, `step` bytes apart, all lie inside an axis. */
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

enum { DG_PICKS_AT_ONCE = 256 };

/* Compute the offsets of some pieces, and advance the pointers to the indices. A separate function copies the pieces,
 * so that the compiler vectorises these loops. */
#define DG_PICKS_LIE(LEVEL, NAME, T)                                                                  \
    static void NAME##_##LEVEL(const dg_picks *picks, const char **index, npy_intp *at, npy_intp n)   \
    {                                                                                                 \
        memset(at, 0, (size_t)n * sizeof *at);                                                        \
        for (int k = 0; k < picks->count; ++k) {                                                      \
            const npy_intp extent = picks->extent[k], stride = picks->stride[k], step = picks->step[k]; \
            const char *x = index[k];                                                                 \
            if (step == (npy_intp)sizeof(T))                                                          \
                DG_INDEPENDENT for (npy_intp i = 0; i < n; ++i)                                       \
                {                                                                                     \
                    const npy_intp place = (npy_intp)((const T *)x)[i];                               \
                    at[i] += (place < 0 ? place + extent : place) * stride;                           \
                }                                                                                     \
            else                                                                                      \
                for (npy_intp i = 0; i < n; ++i) {                                                    \
                    const npy_intp place = (npy_intp)*(const T *)(x + i * step);                      \
                    at[i] += (place < 0 ? place + extent : place) * stride;                           \
                }                                                                                     \
            index[k] += n * step;                                                                     \
        }                                                                                             \
    }
DG_EACH_LEVEL(DG_PICKS_LIE, dg_picks_lie_32, int32_t)
DG_EACH_LEVEL(DG_PICKS_LIE, dg_picks_lie_64, int64_t)

/* Compute the offsets of the next pieces, of n remaining ones; return their number. */
static npy_intp dg_next_picks(const dg_picks *picks, const char **index, npy_intp *at, npy_intp n)
{
    n = n < DG_PICKS_AT_ONCE ? n : DG_PICKS_AT_ONCE;
    (picks->wide ? DG_CHOOSE(dg_picks_lie_64) : DG_CHOOSE(dg_picks_lie_32))(picks, index, at, n);
    return n;
}

#define DG_GATHER_LOOP(BYTES) \
    for (npy_intp i = 0; i < m; ++i, to += (BYTES)) memcpy(to, from + at[i], (size_t)(BYTES));

static void dg_gather(const dg_picks *picks, const char *from, char *const *indices, char *to, npy_intp n, npy_intp item)
{
    const char *index[DG_MAX_INDICES];
    npy_intp at[DG_PICKS_AT_ONCE];
    const npy_intp bytes = picks->width * item;
    for (int k = 0; k < picks->count; ++k) index[k] = indices[k];
    for (npy_intp m; n > 0; n -= m) {
        m = dg_next_picks(picks, index, at, n);
        switch (bytes) { /* copies of a constant length need no call */
        case 4: DG_GATHER_LOOP(4) break;
        case 8: DG_GATHER_LOOP(8) break;
        case 12: DG_GATHER_LOOP(12) break;
        case 16: DG_GATHER_LOOP(16) break;
        case 24: DG_GATHER_LOOP(24) break;
        default: DG_GATHER_LOOP(bytes)
        }
    }
}

#define DG_SCATTER_LOOP(T, WIDTH)                                            \
    for (npy_intp i = 0; i < m; ++i) {                                       \
        T *r = (T *)(to + at[i]);                                            \
        for (npy_intp j = 0; j < (WIDTH); ++j, from += step) r[j] += *(const T *)from; \
    }

/* `step`: bytes between the numbers to add; 0 for a single number. */
#define DG_SCATTER_ADD(T)                                                                                      \
    static void dg_scatter_add_##T(const dg_picks *picks, const char *from, npy_intp step, char *const *indices, \
                                   char *to, npy_intp n)                                                       \
    {                                                                                                          \
        const char *index[DG_MAX_INDICES];                                                                     \
        npy_intp at[DG_PICKS_AT_ONCE];                                                                         \
        for (int k = 0; k < picks->count; ++k) index[k] = indices[k];                                          \
        for (npy_intp m; n > 0; n -= m) {                                                                      \
            m = dg_next_picks(picks, index, at, n);                                                            \
            switch (picks->width) {                                                                            \
            case 1: DG_SCATTER_LOOP(T, 1) break;                                                               \
            case 2: DG_SCATTER_LOOP(T, 2) break;                                                               \
            case 3: DG_SCATTER_LOOP(T, 3) break;                                                               \
            default: DG_SCATTER_LOOP(T, picks->width)                                                          \
            }                                                                                                  \
        }                                                                                                      \
    }
DG_SCATTER_ADD(double)
DG_SCATTER_ADD(float)

#endif
