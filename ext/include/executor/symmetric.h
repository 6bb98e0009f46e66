/* Products that equal their transposes, for example X^T D X: half of each row is computed, the rest is copied.
 *
 *      c[i, o + j] = sum over k of a[i, k] b[k, o + j],  a[i, k] = b[k, o + i] d[k],  for i and j below m
 *
 * In a product by rows, row i computes the columns i, i + 1, ... i + m / 2 of these m, cyclically. So every row is the
 * same amount of work, and threads can divide the rows as usual. If k runs along the rows, and products are added up,
 * row i computes the columns from i on. The indices of an element alone decide if it is copied. */
#ifndef DG_SYMMETRIC_H
#define DG_SYMMETRIC_H

#include "executor/instruction.h"

enum { DG_HALF_ROWS = 32, DG_HALF_COLUMNS = 16 }; /* of one call of a loop: most rows, least columns */

/* Compute columns `start` to `stop` of some rows of a product. */
static inline void dg_some_columns(const dg_instruction *in, char **p, npy_intp row, npy_intp rows, npy_intp start,
                                   npy_intp stop)
{
    const npy_intp n = in->dims[3];
    if (stop <= start) return;
    if (stop - start < DG_HALF_COLUMNS) {
        start = start < n - DG_HALF_COLUMNS ? start : n - DG_HALF_COLUMNS;
        stop = start + DG_HALF_COLUMNS;
    }
    const npy_intp d[4] = {1, rows, in->dims[2], stop - start};
    char *q[3] = {p[0] + row * in->strides[3], p[1] + start * in->strides[6],
                  p[2] + row * in->strides[7] + start * in->strides[8]};
    in->fn(q, d, in->strides, NULL);
}

/* Compute half of the m columns for the rows of a tile, and all other columns. */
static inline void dg_multiply_half(const dg_instruction *in, char **p, npy_intp rows, char *const *bases)
{
    const npy_intp m = in->half, o = in->half_from, n = in->dims[3];
    const npy_intp first = (p[2] - (bases[in->arg[2].base] + in->arg[2].offset)) / in->arg[2].row;
    for (npy_intp i = 0; i < rows; i += DG_HALF_ROWS) {
        const npy_intp count = rows - i < DG_HALF_ROWS ? rows - i : DG_HALF_ROWS;
        const npy_intp low = first + i, high = low + count + m / 2, again = high > m ? high - m : 0;
        dg_some_columns(in, p, i, count, 0, o + (again < low ? again : low));
        dg_some_columns(in, p, i, count, o + low, high < m ? o + high : n);
        if (high < m) dg_some_columns(in, p, i, count, o + m, n);
    }
}

/* Compute the columns from the diagonal on, for a product that is added to its result. Eight rows run at a time, with
 * at least the columns of one vector. */
static inline void dg_multiply_upper(const dg_instruction *in, char **p, npy_intp rows)
{
    enum { TOGETHER = 8 };
    const npy_intp m = in->half, lanes = 64 / in->strides[8];
    for (npy_intp i = 0; i < m; i += TOGETHER) {
        const npy_intp start = i < m - lanes ? i : m - lanes;
        const npy_intp d[4] = {1, m - i < TOGETHER ? m - i : TOGETHER, rows, m - start};
        char *q[3] = {p[0] + i * in->strides[3], p[1] + start * in->strides[6],
                      p[2] + i * in->strides[7] + start * in->strides[8]};
        in->fn(q, d, in->strides, (void *)in);
    }
}

/* Copy the other half; return 0 if that would be wrong. If a number of a or b is not finite, neither is one on the
 * diagonal; then a sum can differ from its mirror image by more than rounding. */
#define DG_MIRROR_OF(T)                                                                                               \
    static inline int dg_mirror_##T(char *c, npy_intp apart, npy_intp m, int upper)                                   \
    {                                                                                                                 \
        for (npy_intp i = 0; i < m; ++i) {                                                                            \
            const T x = ((const T *)(c + i * apart))[i];                                                              \
            if (!(x - x == 0)) return 0;                                                                              \
        }                                                                                                             \
        for (npy_intp i = 0; i < m; ++i) {                                                                            \
            T *row = (T *)(c + i * apart);                                                                            \
            const npy_intp from = upper ? 0 : i - (m - 1) / 2 - (m % 2 == 0 && i >= m / 2);                           \
            for (npy_intp j = from; j < i; ++j) {                                                                     \
                const npy_intp k = j < 0 ? j + m : j;                                                                 \
                row[k] = ((const T *)(c + k * apart))[i];                                                             \
            }                                                                                                         \
        }                                                                                                             \
        return 1;                                                                                                     \
    }
DG_MIRROR_OF(float)
DG_MIRROR_OF(double)

static __attribute__((unused)) int dg_mirror(const dg_instruction *in, char *const *bases)
{
    char *c = bases[in->arg[2].base] + in->arg[2].offset + in->half_from * in->strides[8];
    const int upper = in->kind == DG_MATMUL_ONTO;
    const npy_intp apart = in->strides[7];
    return in->strides[8] == 8 ? dg_mirror_double(c, apart, in->half, upper) : dg_mirror_float(c, apart, in->half, upper);
}

#endif
