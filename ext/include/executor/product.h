/* Products of matrices with few columns in the right factor: layers of networks, and the sums over rows in their
 * gradients.
 *
 *      c[r, :] = sum over k of a[r, k] b[k, :]
 *
 * A library for matrix products packs both factors for the caches and has a start-up cost per call, which pays for
 * large factors only. Here some rows of the result and up to three vectors of columns (a panel) stay in registers
 * during the loop over k. This is the innermost kernel of Goto and van de Geijn (Anatomy of high-performance matrix
 * multiplication, 2008). The number of rows is four with the 16 registers of AVX2, and also with the 32 of NEON, which
 * do not hold eight. It is eight with the 32 of AVX-512, which can multiply by numbers in memory.
 *
 * The left factor is read in place. A panel is copied if its columns are not contiguous. It is also copied if its rows
 * are far apart and the result has many rows. The last vector of a row ends where the row ends. It may compute some
 * columns a second time, so nothing beyond a row is read or written.
 *
 * Each element is one sum in the order of k (by 256), with one rounding for a product and its sum. So neither the
 * vector length nor the position of an element in a tile changes a number.
 */
#ifndef DG_PRODUCT_H
#define DG_PRODUCT_H

#include "vector/loop.h"
#include "vector/registers.h"

/* 1 if there are vectors that are multiplied and added with one rounding. */
#define DG_HAS_PRODUCTS (DG_HAS_LEVELS || (DG_GNU && DG_FUSES_v1))

#if DG_HAS_PRODUCTS
enum { DG_PANEL = 3, DG_DEPTH = 256 }; /* vectors of a panel of columns; numbers of a sum */
enum { DG_FAR = 512, DG_MANY = 24 };   /* least bytes between rows, and least rows, for copying panels */

/* One rounding for a product and its sum: as an attribute of a function, or as a pragma inside of it. */
#if defined(__clang__)
#define DG_CONTRACTED
#define DG_CONTRACT _Pragma("clang fp contract(fast)")
#else
#define DG_CONTRACTED __attribute__((optimize("fp-contract=fast")))
#define DG_CONTRACT
#endif

/* Clang computes the address of each row from the row before. That chain of sums takes longer than the products, so
 * Clang must not know how the addresses are related. */
#if defined(__clang__)
#define DG_UNRELATED(x) __asm__("" : "+r"(x))
#else
#define DG_UNRELATED(x) (void)0
#endif

/* The offset of vector j of N; the last vector ends where the panel ends. */
#define DG_PLACE(j, V) ((j) + 1 < N ? (j) * (V) : last)

/* For numbers T in vectors of V bytes. */
#define DG_PANELS_OF(T, V)                                                                                            \
    typedef T dg_lanes_##T##_##V __attribute__((vector_size(V), aligned(sizeof(T)), may_alias));                      \
    /* R rows of a times N vectors of columns */                                                                      \
    DG_INLINE DG_CONTRACTED void dg_tile_##T##_##V(const int R, const int N, const char *a, npy_intp row,             \
                                                   npy_intp step, const char *b, npy_intp down, npy_intp last,        \
                                                   npy_intp k, char *c, npy_intp apart, int more)                     \
    {                                                                                                                 \
        DG_CONTRACT                                                                                                   \
        dg_lanes_##T##_##V s[8][DG_PANEL], y[DG_PANEL];                                                               \
        npy_intp at[8];                                                                                               \
        DG_UNROLL for (int r = 0; r < R; ++r) {                                                                       \
            at[r] = r * row;                                                                                          \
            DG_UNRELATED(at[r]);                                                                                      \
        }                                                                                                             \
        DG_UNROLL for (int r = 0; r < R; ++r)                                                                         \
            DG_UNROLL for (int j = 0; j < N; ++j) s[r][j] = (dg_lanes_##T##_##V){0};                                  \
        for (npy_intp i = 0; i < k; ++i, a += step, b += down) {                                                      \
            DG_UNROLL for (int j = 0; j < N; ++j) y[j] = *(const dg_lanes_##T##_##V *)(b + DG_PLACE(j, V));           \
            DG_UNROLL for (int r = 0; r < R; ++r) {                                                                   \
                const T x = *(const T *)(a + at[r]);                                                                  \
                DG_UNROLL for (int j = 0; j < N; ++j) s[r][j] += x * y[j];                                            \
            }                                                                                                         \
        }                                                                                                             \
        DG_UNROLL for (int r = 0; r < R; ++r, c += apart) {                                                           \
            if (more) /* all are read before the first is written: the last two may overlap */                        \
                DG_UNROLL for (int j = 0; j < N; ++j) s[r][j] += *(const dg_lanes_##T##_##V *)(c + DG_PLACE(j, V));   \
            DG_UNROLL for (int j = 0; j < N; ++j) *(dg_lanes_##T##_##V *)(c + DG_PLACE(j, V)) = s[r][j];              \
        }                                                                                                             \
    }                                                                                                                 \
    /* All rows, R at a time */                                                                                       \
    DG_INLINE DG_CONTRACTED void dg_panel_##T##_##V(const int R, const int N, const char *a, npy_intp row,            \
                                                    npy_intp step, const char *b, npy_intp down, npy_intp last,       \
                                                    npy_intp m, npy_intp k, char *c, npy_intp apart, int more)        \
    {                                                                                                                 \
        if (R == 8)                                                                                                   \
            for (; m >= 8; m -= 8, a += 8 * row, c += 8 * apart)                                                      \
                dg_tile_##T##_##V(8, N, a, row, step, b, down, last, k, c, apart, more);                              \
        for (; m >= 4; m -= 4, a += 4 * row, c += 4 * apart)                                                          \
            dg_tile_##T##_##V(4, N, a, row, step, b, down, last, k, c, apart, more);                                  \
        for (; m >= 2; m -= 2, a += 2 * row, c += 2 * apart)                                                          \
            dg_tile_##T##_##V(2, N, a, row, step, b, down, last, k, c, apart, more);                                  \
        for (; m > 0; --m, a += row, c += apart)                                                                      \
            dg_tile_##T##_##V(1, N, a, row, step, b, down, last, k, c, apart, more);                                  \
    }                                                                                                                 \
    /* All columns of one product, k at most DG_DEPTH; `more`: they are added to the result. */                       \
    DG_INLINE DG_CONTRACTED void dg_columns_##T##_##V(const int R, const char *a, const char *b, char *c, npy_intp m, \
                                                      npy_intp k, npy_intp n, const npy_intp *steps, int more)        \
    {                                                                                                                 \
        enum { SIZE = (int)sizeof(T), LANES = V / SIZE };                                                             \
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
            } else if (down >= DG_FAR && m >= DG_MANY) {                                                              \
                for (npy_intp i = 0; i < k; ++i)                                                                      \
                    for (npy_intp j = 0; j < vectors; ++j)                                                            \
                        *(dg_lanes_##T##_##V *)((char *)copied + i * width * SIZE + (j + 1 < vectors ? j * V : last)) \
                            = *(const dg_lanes_##T##_##V *)(b + i * down + (j + 1 < vectors ? j * V : last));         \
                y = (const char *)copied, down = width * SIZE;                                                        \
            }                                                                                                         \
            if (vectors == 3) dg_panel_##T##_##V(R, 3, a, row, step, y, down, last, m, k, c, apart, more);            \
            else if (vectors == 2) dg_panel_##T##_##V(R, 2, a, row, step, y, down, last, m, k, c, apart, more);       \
            else dg_panel_##T##_##V(R, 1, a, row, step, y, down, last, m, k, c, apart, more);                         \
            b += width * steps[3], c += width * SIZE, n -= width;                                                     \
        }                                                                                                             \
    }

/* As in NumPy's loop for matrix products: dims are (stack, m, k, n); steps are for stacks, then for rows and columns of
 * a, b and c. Columns of c are contiguous. With data the product is added to c. R rows at a time, vectors of V bytes.
 * */
#define DG_PRODUCT_OF(NAME, T, R, V)                                                                                  \
    DG_CONTRACTED static void NAME(                                                                                   \
        char **args, const npy_intp *dims, const npy_intp *steps, void *data)                                         \
    {                                                                                                                 \
        for (npy_intp s = 0; s < dims[0]; ++s) {                                                                      \
            npy_intp i = 0;                                                                                           \
            do {                                                                                                      \
                const npy_intp k = dims[2] - i < DG_DEPTH ? dims[2] - i : DG_DEPTH;                                   \
                dg_columns_##T##_##V(R, args[0] + s * steps[0] + i * steps[4], args[1] + s * steps[1] + i * steps[5], \
                                     args[2] + s * steps[2], dims[1], k, dims[3], steps + 3, data || i > 0);          \
                i += k;                                                                                               \
            } while (i < dims[2]);                                                                                    \
        }                                                                                                             \
    }
#if DG_HAS_LEVELS
DG_PANELS_OF(float, 32)
DG_PANELS_OF(double, 32)
DG_PANELS_OF(float, 64)
DG_PANELS_OF(double, 64)
DG_TARGET_v3 DG_PRODUCT_OF(dg_product_float_4_32, float, 4, 32)
DG_TARGET_v3 DG_PRODUCT_OF(dg_product_double_4_32, double, 4, 32)
DG_TARGET_v4 DG_PRODUCT_OF(dg_product_float_8_32, float, 8, 32)
DG_TARGET_v4 DG_PRODUCT_OF(dg_product_double_8_32, double, 8, 32)
DG_TARGET_v4 DG_PRODUCT_OF(dg_product_float_8_64, float, 8, 64)
DG_TARGET_v4 DG_PRODUCT_OF(dg_product_double_8_64, double, 8, 64)

/* 1 if vectors of 64 bytes cover n columns with hardly more work than vectors of 32 bytes. */
static inline int dg_long_vectors(npy_intp n, npy_intp lanes)
{
    const npy_intp one = (n + lanes - 1) / lanes, two = 2 * ((n + 2 * lanes - 1) / (2 * lanes));
    return n >= 2 * lanes && two <= one + one / 8;
}
#else
DG_PANELS_OF(float, 16)
DG_PANELS_OF(double, 16)
DG_PRODUCT_OF(dg_product_float_4_16, float, 4, 16)
DG_PRODUCT_OF(dg_product_double_4_16, double, 4, 16)
#endif
#endif

/* Our loop for products of these extents, or NULL where the library's loop is faster. A negative m or k stands for
 * many: such products run tile by tile, whereas the library uses threads for one large product. `step`: bytes between
 * consecutive terms of a sum in a. With long steps, the four columns of an AVX2 tile do not stay in the first cache,
 * while eight fill whole cache lines. The elements of a row of the result are contiguous. benchmarks/bench_products.py
 * measures both loops; NEON uses the limits of AVX2. */
static inline dg_loop dg_product_loop(npy_intp m, npy_intp k, npy_intp n, npy_intp step, int wide)
{
#if DG_HAS_PRODUCTS
    const npy_intp lanes = 32 / (wide ? sizeof(double) : sizeof(float));
    const int thin = (m >= 0 && m <= 16) || (k >= 0 && k <= 16);
    if (n < lanes || (m >= 0 && k >= 0 && m * k * n > 1 << 20)) return NULL;
#if DG_HAS_LEVELS
    const int level = dg_find_level(), far = step >= 512;
    if (level == 2 && (n <= 512 || thin)) {
        if (dg_long_vectors(n, lanes)) return wide ? dg_product_double_8_64 : dg_product_float_8_64;
        if (far || n > 64) return wide ? dg_product_double_8_32 : dg_product_float_8_32;
    }
    if (level && !far && (n <= 256 || thin)) return wide ? dg_product_double_4_32 : dg_product_float_4_32;
#else
    if (n <= 256 || thin) return wide ? dg_product_double_4_16 : dg_product_float_4_16;
#endif
#endif
    (void)m, (void)k, (void)n, (void)step, (void)wide;
    return NULL;
}

#endif
