/* Products of matrices with a narrow factor: the layers of small networks, and the sums over rows of their gradients.
 *
 *     c[r, :] = sum over k of a[r, k] b[k, :]
 *
 * A library for matrix products packs both factors for the caches, which pays for large ones. Here four rows of the result
 * and up to three vectors of columns stay in registers while k is gone through, as in the innermost kernel of Goto and
 * van de Geijn (Anatomy of high-performance matrix multiplication, 2008); factors are read where they lie. Only columns of b
 * that do not lie side by side are copied, once for all rows. The last vector of a row ends where the row ends: it may
 * compute some columns a second time, so nothing beyond a row is read or written.
 *
 * Each element is one sum in the order of k (by 256), with one rounding for a product and its sum. Measured on one thread
 * beside NumPy's library, blocks of 96 rows of 20 numbers: products 60 instead of 46 GFLOP/s in float32, 37 instead of 25 in
 * float64; sums over the rows 75 instead of 46, and 41 instead of 28. For factors of 128 and more columns the library is as
 * fast or faster, and keeps them.
 */
#ifndef DG_PRODUCT_H
#define DG_PRODUCT_H

#include "vector/loop.h"
#include "vector/registers.h"

#if DG_HAS_LEVELS
enum { DG_PANEL = 3, DG_DEPTH = 256, DG_VECTOR = 32 }; /* vectors of a panel of columns; numbers of a sum; bytes */

typedef float dg_lanes_float __attribute__((vector_size(DG_VECTOR), aligned(4), may_alias));
typedef double dg_lanes_double __attribute__((vector_size(DG_VECTOR), aligned(8), may_alias));

#define DG_CONTRACTED __attribute__((optimize("fp-contract=fast"))) /* one rounding for a product and its sum */

/* Where the last of N vectors lies, and the ones before. */
#define DG_PLACE(j) ((j) + 1 < N ? (j) * DG_VECTOR : last)

#define DG_PRODUCT_OF(T)                                                                                              \
    /* R rows of a times N vectors of columns */                                                                      \
    DG_INLINE DG_CONTRACTED void dg_tile_##T(const int R, const int N, const char *a, npy_intp row, npy_intp step,    \
                                             const char *b, npy_intp down, npy_intp last, npy_intp k, char *c,        \
                                             npy_intp apart, int more)                                                \
    {                                                                                                                 \
        dg_lanes_##T s[4][DG_PANEL], y[DG_PANEL];                                                                     \
        DG_UNROLL for (int r = 0; r < R; ++r)                                                                         \
            DG_UNROLL for (int j = 0; j < N; ++j) s[r][j] = (dg_lanes_##T){0};                                        \
        for (npy_intp i = 0; i < k; ++i, a += step, b += down) {                                                      \
            DG_UNROLL for (int j = 0; j < N; ++j) y[j] = *(const dg_lanes_##T *)(b + DG_PLACE(j));                    \
            DG_UNROLL for (int r = 0; r < R; ++r) {                                                                   \
                const T x = *(const T *)(a + r * row);                                                                \
                DG_UNROLL for (int j = 0; j < N; ++j) s[r][j] += x * y[j];                                            \
            }                                                                                                         \
        }                                                                                                             \
        DG_UNROLL for (int r = 0; r < R; ++r, c += apart) {                                                           \
            if (more) /* all are read before the first is written: the last two may overlap */                        \
                DG_UNROLL for (int j = 0; j < N; ++j) s[r][j] += *(const dg_lanes_##T *)(c + DG_PLACE(j));            \
            DG_UNROLL for (int j = 0; j < N; ++j) *(dg_lanes_##T *)(c + DG_PLACE(j)) = s[r][j];                       \
        }                                                                                                             \
    }                                                                                                                 \
    DG_INLINE DG_CONTRACTED void dg_panel_##T(const int N, const char *a, npy_intp row, npy_intp step, const char *b, \
                                              npy_intp down, npy_intp last, npy_intp m, npy_intp k, char *c,          \
                                              npy_intp apart, int more)                                               \
    {                                                                                                                 \
        for (; m >= 4; m -= 4, a += 4 * row, c += 4 * apart)                                                          \
            dg_tile_##T(4, N, a, row, step, b, down, last, k, c, apart, more);                                        \
        for (; m > 0; --m, a += row, c += apart)                                                                      \
            dg_tile_##T(1, N, a, row, step, b, down, last, k, c, apart, more);                                        \
    }                                                                                                                 \
    /* All columns of one product, k at most DG_DEPTH; `more`: they are added to the result. */                       \
    DG_INLINE DG_CONTRACTED void dg_columns_##T(const char *a, const char *b, char *c, npy_intp m, npy_intp k, npy_intp n,\
                                                const npy_intp *steps, int more)                                      \
    {                                                                                                                 \
        enum { SIZE = (int)sizeof(T), LANES = DG_VECTOR / SIZE };                                                     \
        T copied[DG_DEPTH * DG_PANEL * LANES];                                                                        \
        const npy_intp row = steps[0], step = steps[1], apart = steps[4];                                             \
        for (npy_intp left = (n + LANES - 1) / LANES, vectors, width; left > 0; left -= vectors) {                    \
            const char *y = b;                                                                                        \
            npy_intp down = steps[2], last;                                                                           \
            vectors = left == 4 ? 2 : left < DG_PANEL ? left : DG_PANEL;                                              \
            width = left > vectors ? vectors * LANES : n;                                                             \
            last = (width - LANES) * SIZE;                                                                            \
            if (steps[3] != SIZE) {                                                                                   \
                for (npy_intp j = 0; j < width; ++j)                                                                  \
                    for (npy_intp i = 0; i < k; ++i)                                                                  \
                        copied[i * width + j] = *(const T *)(b + i * down + j * steps[3]);                            \
                y = (const char *)copied, down = width * SIZE;                                                        \
            }                                                                                                         \
            if (vectors == 3) dg_panel_##T(3, a, row, step, y, down, last, m, k, c, apart, more);                     \
            else if (vectors == 2) dg_panel_##T(2, a, row, step, y, down, last, m, k, c, apart, more);                \
            else dg_panel_##T(1, a, row, step, y, down, last, m, k, c, apart, more);                                  \
            b += width * steps[3], c += width * SIZE, n -= width;                                                     \
        }                                                                                                             \
    }                                                                                                                 \
    /* As NumPy's loop of matrix products: dims are (stack, m, k, n), steps those of stacks, then of rows and columns \
     * of a, b and c. Columns of c lie side by side. */                                                               \
    __attribute__((target("arch=x86-64-v3"))) DG_CONTRACTED static void dg_product_##T(                               \
        char **args, const npy_intp *dims, const npy_intp *steps, void *data)                                         \
    {                                                                                                                 \
        (void)data;                                                                                                   \
        for (npy_intp s = 0; s < dims[0]; ++s) {                                                                      \
            npy_intp i = 0;                                                                                           \
            do {                                                                                                      \
                const npy_intp k = dims[2] - i < DG_DEPTH ? dims[2] - i : DG_DEPTH;                                   \
                dg_columns_##T(args[0] + s * steps[0] + i * steps[4], args[1] + s * steps[1] + i * steps[5],          \
                               args[2] + s * steps[2], dims[1], k, dims[3], steps + 3, i > 0);                        \
                i += k;                                                                                               \
            } while (i < dims[2]);                                                                                    \
        }                                                                                                             \
    }
DG_PRODUCT_OF(float)
DG_PRODUCT_OF(double)
#endif

/* The loop for products of so many rows and columns with sums of k numbers, where it is faster than the library's, or NULL.
 * Many rows, or sums of many, are said by a negative number: those are gone over block by block, while the library uses
 * threads for a large product of its own. `step`: bytes from one number of a sum to the next in a; with long ones four
 * columns of a block do not stay in the first cache. Measured for vectors of 32 bytes; from longer ones the library's
 * kernels gain more. The elements of a row of the result lie side by side. */
static inline dg_loop dg_product_loop(npy_intp m, npy_intp k, npy_intp n, npy_intp step, int wide)
{
#if DG_HAS_LEVELS
    const int level = dgv_level();
    const npy_intp lanes = DG_VECTOR / (wide ? sizeof(double) : sizeof(float));
    const int thin = (m >= 0 && m <= 16) || (k >= 0 && k <= 16);
    if (level > 0 && n >= lanes && (n <= (level > 1 ? 32 : 64) || thin) && step < 512
        && (m < 0 || k < 0 || m * k * n <= 1 << 20))
        return wide ? dg_product_double : dg_product_float;
#endif
    (void)m, (void)k, (void)n, (void)step, (void)wide;
    return NULL;
}

#endif
