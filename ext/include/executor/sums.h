/* Sums that are slower with NumPy's loops. */
#ifndef DG_SUMS_H
#define DG_SUMS_H

#include "executor/instruction.h"
#include "vector/registers.h"

/* Sums over an axis with few numbers behind it: r[o][j] = sum over i of x[o][i][j]. */
#define DG_SUM_AXIS_LOOP(T, INNER)                                                        \
    for (npy_intp o = 0; o < outer; ++o, x += w * inner, r += inner) {                    \
        T sum[8] = {0};                                                                   \
        for (npy_intp i = 0; i < w; ++i)                                                  \
            for (npy_intp j = 0; j < (INNER); ++j) sum[j] += x[i * (INNER) + j];          \
        for (npy_intp j = 0; j < (INNER); ++j) r[j] = sum[j];                             \
    }
#define DG_SUM_AXIS_OF(LEVEL, T)                                                          \
    static void dg_sum_axis_##T##_##LEVEL(const T *x, T *r, npy_intp outer, npy_intp w, npy_intp inner) \
    {                                                                                     \
        if (inner == 1 && w == 2) {                                                       \
            for (npy_intp o = 0; o < outer; ++o) r[o] = x[2 * o] + x[2 * o + 1];          \
        } else if (inner == 1 && w == 3) {                                                \
            for (npy_intp o = 0; o < outer; ++o) r[o] = x[3 * o] + x[3 * o + 1] + x[3 * o + 2]; \
        } else if (inner == 1) {                                                          \
            DG_SUM_AXIS_LOOP(T, 1)                                                        \
        } else if (inner == 2) {                                                          \
            DG_SUM_AXIS_LOOP(T, 2)                                                        \
        } else if (inner == 3) {                                                          \
            DG_SUM_AXIS_LOOP(T, 3)                                                        \
        } else {                                                                          \
            DG_SUM_AXIS_LOOP(T, inner)                                                    \
        }                                                                                 \
    }
DG_EACH_LEVEL(DG_SUM_AXIS_OF, double)
DG_EACH_LEVEL(DG_SUM_AXIS_OF, float)

/* Add rows to one row, in order, as NumPy does. */
#define DG_SUM_ROWS_OF(LEVEL, T)                                                          \
    static void dg_sum_rows_##T##_##LEVEL(const T *x, T *r, npy_intp rows, npy_intp w)    \
    {                                                                                     \
        for (; rows >= 4; rows -= 4, x += 4 * w) {                                        \
            const T *a = x, *b = a + w, *c = b + w, *d = c + w;                           \
            DG_SHORT for (npy_intp j = 0; j < w; ++j) r[j] = r[j] + a[j] + b[j] + c[j] + d[j]; \
        }                                                                                 \
        for (; rows > 0; --rows, x += w)                                                  \
            DG_SHORT for (npy_intp j = 0; j < w; ++j) r[j] += x[j];                 \
    }
DG_EACH_LEVEL(DG_SUM_ROWS_OF, double)
DG_EACH_LEVEL(DG_SUM_ROWS_OF, float)

#endif
