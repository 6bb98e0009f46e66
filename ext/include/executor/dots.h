/* Products with few rows and columns but long sums, whose terms are contiguous in both factors.
 *
 *      c[i, j] += sum over s and k of a[s, i, k] b[s, k, j]
 *
 * A library first packs both factors, which takes longer than these few sums. Here a tile of the result stays in
 * registers while both factors are read once. Each sum consists of partial sums in 64 bytes of vectors, for every
 * level, and products are rounded. So all levels give the same numbers.
 */
#ifndef DG_DOTS_H
#define DG_DOTS_H

#include "vector/registers.h"

enum { DG_FEW_DOTS = 16 }; /* most sums */

#if DG_GNU
enum { DG_DOT_ROWS = 2, DG_DOT_COLUMNS = 3 }; /* of a tile */

/* A tile of M rows and N columns; dims and steps are as in NumPy's loop for matrix products. */
#define DG_DOTS_TILE(LEVEL, T)                                                                                           \
    typedef T dg_dot_##T##_##LEVEL __attribute__((vector_size(DG_BYTES_##LEVEL), aligned(sizeof(T)), may_alias));        \
    DG_INLINE void dg_dots_tile_##T##_##LEVEL(const int M, const int N, const char *a, const char *b, char *c,           \
                                              const npy_intp *dims, const npy_intp *steps)                               \
    {                                                                                                                    \
        enum { SIZE = (int)sizeof(T), V = DG_BYTES_##LEVEL, PARTS = 64 / V };                                            \
        dg_dot_##T##_##LEVEL sums[DG_DOT_ROWS][DG_DOT_COLUMNS][PARTS] = {{{{0}}}}, y[DG_DOT_COLUMNS];                    \
        T rest[DG_DOT_ROWS][DG_DOT_COLUMNS] = {{0}};                                                                     \
        for (npy_intp s = 0; s < dims[0]; ++s, a += steps[0], b += steps[1]) {                                           \
            npy_intp k = 0;                                                                                              \
            for (; k + 64 / SIZE <= dims[2]; k += 64 / SIZE)                                                             \
                DG_UNROLL for (int p = 0; p < PARTS; ++p) {                                                              \
                    const npy_intp at = k * SIZE + p * V;                                                                \
                    DG_UNROLL for (int j = 0; j < N; ++j) y[j] = *(const dg_dot_##T##_##LEVEL *)(b + j * steps[6] + at); \
                    DG_UNROLL for (int i = 0; i < M; ++i) {                                                              \
                        const dg_dot_##T##_##LEVEL x = *(const dg_dot_##T##_##LEVEL *)(a + i * steps[3] + at);           \
                        DG_UNROLL for (int j = 0; j < N; ++j) sums[i][j][p] += x * y[j];                                 \
                    }                                                                                                    \
                }                                                                                                        \
            for (; k < dims[2]; ++k)                                                                                     \
                for (int i = 0; i < M; ++i)                                                                              \
                    for (int j = 0; j < N; ++j)                                                                          \
                        rest[i][j] += *(const T *)(a + i * steps[3] + k * SIZE)                                          \
                                      * *(const T *)(b + j * steps[6] + k * SIZE);                                       \
        }                                                                                                                \
        for (int i = 0; i < M; ++i)                                                                                      \
            for (int j = 0; j < N; ++j) {                                                                                \
                T sum = rest[i][j];                                                                                      \
                for (int l = 0; l < 64 / SIZE; ++l) sum += sums[i][j][l / (V / SIZE)][l % (V / SIZE)];                   \
                *(T *)(c + i * steps[7] + j * steps[8]) += sum;                                                          \
            }                                                                                                            \
    }
DG_DOTS_TILE(v1, double)
DG_DOTS_TILE(v3, double)
DG_DOTS_TILE(v4, double)
DG_DOTS_TILE(v1, float)
DG_DOTS_TILE(v3, float)
DG_DOTS_TILE(v4, float)

#define DG_DOTS_ROW(LEVEL, M, T)                                                           \
    for (npy_intp j = 0; j < dims[3]; j += DG_DOT_COLUMNS) {                               \
        const char *b = args[1] + j * steps[6];                                            \
        char *c = args[2] + i * steps[7] + j * steps[8];                                   \
        if (dims[3] - j >= 3) dg_dots_tile_##T##_##LEVEL(M, 3, a, b, c, dims, steps);      \
        else if (dims[3] - j == 2) dg_dots_tile_##T##_##LEVEL(M, 2, a, b, c, dims, steps); \
        else dg_dots_tile_##T##_##LEVEL(M, 1, a, b, c, dims, steps);                       \
    }
#define DG_DOTS_OF(LEVEL, T)                                                                                \
    static void dg_dots_##T##_##LEVEL(char **args, const npy_intp *dims, const npy_intp *steps, void *data) \
    {                                                                                                       \
        (void)data;                                                                                         \
        for (npy_intp i = 0; i < dims[1]; i += DG_DOT_ROWS) {                                               \
            const char *a = args[0] + i * steps[3];                                                         \
            if (dims[1] - i >= 2) {                                                                         \
                DG_DOTS_ROW(LEVEL, 2, T)                                                                    \
            } else {                                                                                        \
                DG_DOTS_ROW(LEVEL, 1, T)                                                                    \
            }                                                                                               \
        }                                                                                                   \
    }
DG_EACH_LEVEL(DG_DOTS_OF, double)
DG_EACH_LEVEL(DG_DOTS_OF, float)
#endif

/* The loop that adds such a product to its result; NULL if the compiler has no vector types. */
static inline dg_loop dg_dots_loop(int wide)
{
#if DG_GNU
    return wide ? DG_CHOOSE(dg_dots_double) : DG_CHOOSE(dg_dots_float);
#else
    (void)wide;
    return NULL;
#endif
}

#endif
