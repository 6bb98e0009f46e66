/* Rows times numbers: multiply each row of a matrix by one number per row, or by several.
 *
 *      r[i, j] = x[i, j] a[i] b[i] c[i] d[i], from left to right
 *
 * Intermediate products stay in a register. The products and their order are the same as in separate loops, so the
 * results are equal bit for bit. An absorbing product (registers.h) is a product plus 0, unless that is nan. If a sum
 * over all results is nan, they are computed again one by one. To other products -0 is added, which changes nothing.
 *
 * The last vector of a row ends where the row ends. It may compute some elements a second time.
 */
#ifndef DG_SCALE_H
#define DG_SCALE_H

#include "executor/instruction.h"
#include "vector/registers.h"

enum { DG_SCALES = DG_PLACES - 2 }; /* most numbers per row */

/* Bytes from row to row of a place, in the whole array or in the tile. */
DG_INLINE npy_intp dg_scale_step(const dg_operand *o) { return o->row + o->local; }

/* Rows times n numbers, one element after the other. */
#define DG_SCALE_EXACT_OF(T)                                                                                       \
    DG_INLINE void dg_scale_exact_##T(const dg_instruction *in, char *const *p, npy_intp rows)                     \
    {                                                                                                              \
        const int n = in->n_in - 1;                                                                                \
        for (npy_intp i = 0; i < rows; ++i) {                                                                      \
            const T *x = (const T *)(p[0] + i * dg_scale_step(&in->arg[0]));                                       \
            T *r = (T *)(p[n + 1] + i * dg_scale_step(&in->arg[n + 1]));                                           \
            for (npy_intp j = 0; j < in->width; ++j) {                                                             \
                T y = x[j];                                                                                        \
                for (int k = 0; k < n; ++k) {                                                                      \
                    const T s = *(const T *)(p[k + 1] + i * dg_scale_step(&in->arg[k + 1]));                       \
                    y = in->dims[k] ? DG_ABSORB(y, s) : y * s;                                                     \
                }                                                                                                  \
                r[j] = y;                                                                                          \
            }                                                                                                      \
        }                                                                                                          \
    }
DG_SCALE_EXACT_OF(double)
DG_SCALE_EXACT_OF(float)

#if DG_GNU
/* The same with vectors; returns 1 if no lane of their sum is nan. */
#define DG_SCALE_VECTORS_OF(LEVEL, T)                                                                               \
    typedef T dg_scale_##T##_##LEVEL __attribute__((vector_size(DG_BYTES_##LEVEL), aligned(sizeof(T)), may_alias)); \
    DG_INLINE int dg_scale_vectors_##T##_##LEVEL(const int N, const dg_instruction *in, char *const *p,             \
                                                 npy_intp rows)                                                     \
    {                                                                                                               \
        enum { LANES = DG_BYTES_##LEVEL / (int)sizeof(T) };                                                         \
        const npy_intp w = in->width;                                                                               \
        dg_scale_##T##_##LEVEL sum = {0};                                                                           \
        int regular = w >= LANES;                                                                                   \
        for (npy_intp i = 0; regular && i < rows; ++i) {                                                            \
            const T *x = (const T *)(p[0] + i * dg_scale_step(&in->arg[0]));                                        \
            T *r = (T *)(p[N + 1] + i * dg_scale_step(&in->arg[N + 1])), s[DG_SCALES], zero[DG_SCALES];             \
            DG_UNROLL for (int k = 0; k < N; ++k) {                                                                 \
                s[k] = *(const T *)(p[k + 1] + i * dg_scale_step(&in->arg[k + 1]));                                 \
                zero[k] = in->dims[k] ? (T)0 : -(T)0;                                                               \
            }                                                                                                       \
            for (npy_intp j = 0; j < w; j += LANES) {                                                               \
                const npy_intp at = j + LANES <= w ? j : w - LANES;                                                 \
                dg_scale_##T##_##LEVEL y = *(const dg_scale_##T##_##LEVEL *)(x + at);                               \
                DG_UNROLL for (int k = 0; k < N; ++k) y = y * s[k] + zero[k];                                       \
                *(dg_scale_##T##_##LEVEL *)(r + at) = y;                                                            \
                sum += y;                                                                                           \
            }                                                                                                       \
        }                                                                                                           \
        for (int l = 0; l < LANES; ++l) regular &= sum[l] == sum[l];                                                \
        return regular;                                                                                             \
    }
#if DG_HAS_LEVELS
DG_SCALE_VECTORS_OF(v3, double)
DG_SCALE_VECTORS_OF(v4, double)
DG_SCALE_VECTORS_OF(v3, float)
DG_SCALE_VECTORS_OF(v4, float)
#endif
DG_SCALE_VECTORS_OF(v1, double)
DG_SCALE_VECTORS_OF(v1, float)

#define DG_SCALE_ROWS_OF(LEVEL, T)                                                                                    \
    static int dg_scale_rows_##T##_##LEVEL(const dg_instruction *in, char *const *p, npy_intp rows)                   \
    {                                                                                                                 \
        return in->n_in == 2   ? dg_scale_vectors_##T##_##LEVEL(1, in, p, rows)                                       \
               : in->n_in == 3 ? dg_scale_vectors_##T##_##LEVEL(2, in, p, rows)                                       \
               : in->n_in == 4 ? dg_scale_vectors_##T##_##LEVEL(3, in, p, rows)                                       \
                               : dg_scale_vectors_##T##_##LEVEL(4, in, p, rows);                                      \
    }
#else
#define DG_SCALE_ROWS_OF(LEVEL, T)                                                                               \
    static inline int dg_scale_rows_##T##_##LEVEL(const dg_instruction *in, char *const *p, npy_intp rows)       \
    {                                                                                                            \
        (void)in, (void)p, (void)rows;                                                                           \
        return 0;                                                                                                \
    }
#endif
DG_EACH_LEVEL(DG_SCALE_ROWS_OF, double)
DG_EACH_LEVEL(DG_SCALE_ROWS_OF, float)

static inline void dg_scale_rows(const dg_instruction *in, char *const *p, npy_intp rows)
{
    if (in->item == 8) {
        if (!DG_CHOOSE(dg_scale_rows_double)(in, p, rows)) dg_scale_exact_double(in, p, rows);
    } else if (!DG_CHOOSE(dg_scale_rows_float)(in, p, rows)) {
        dg_scale_exact_float(in, p, rows);
    }
}

#endif
