/* Products of few rows and columns with long sums, whose numbers lie side by side in both factors.
 *
 *     c[i, j] += sum over s and k of a[s, i, k] b[s, k, j]
 *
 * A library packs both factors before it begins, which takes longer than so few sums. Here a tile of the result stays in
 * registers, a vector for each of its sums, while both factors are read once. Vectors have 64 bytes at every level, and
 * products are rounded, so all levels give the same numbers.
 */
#ifndef DG_DOTS_H
#define DG_DOTS_H

#include "vector/registers.h"

enum { DG_FEW_DOTS = 16 }; /* sums, at most */

#if DG_GNU
enum { DG_DOT_ROWS = 2, DG_DOT_COLUMNS = 3 }; /* of a tile */
typedef float dg_dot_float __attribute__((vector_size(64), aligned(4), may_alias));
typedef double dg_dot_double __attribute__((vector_size(64), aligned(8), may_alias));

/* A tile of M rows and N columns; dims and steps are those of NumPy's loop of matrix products. */
#define DG_DOTS_TILE(T)                                                                                           \
    DG_INLINE void dg_dots_tile_##T(const int M, const int N, const char *a, const char *b, char *c,              \
                                    const npy_intp *dims, const npy_intp *steps)                                  \
    {                                                                                                             \
        enum { SIZE = (int)sizeof(T), LANES = 64 / SIZE };                                                        \
        dg_dot_##T sums[DG_DOT_ROWS][DG_DOT_COLUMNS] = {{{0}}}, y[DG_DOT_COLUMNS];                                \
        T rest[DG_DOT_ROWS][DG_DOT_COLUMNS] = {{0}};                                                              \
        for (npy_intp s = 0; s < dims[0]; ++s, a += steps[0], b += steps[1]) {                                    \
            npy_intp k = 0;                                                                                       \
            for (; k + LANES <= dims[2]; k += LANES) {                                                            \
                DG_UNROLL for (int j = 0; j < N; ++j) y[j] = *(const dg_dot_##T *)(b + j * steps[6] + k * SIZE);  \
                DG_UNROLL for (int i = 0; i < M; ++i) {                                                           \
                    const dg_dot_##T x = *(const dg_dot_##T *)(a + i * steps[3] + k * SIZE);                      \
                    DG_UNROLL for (int j = 0; j < N; ++j) sums[i][j] += x * y[j];                                 \
                }                                                                                                 \
            }                                                                                                     \
            for (; k < dims[2]; ++k)                                                                              \
                for (int i = 0; i < M; ++i)                                                                       \
                    for (int j = 0; j < N; ++j)                                                                   \
                        rest[i][j] += *(const T *)(a + i * steps[3] + k * SIZE)                                   \
                                      * *(const T *)(b + j * steps[6] + k * SIZE);                                \
        }                                                                                                         \
        for (int i = 0; i < M; ++i)                                                                               \
            for (int j = 0; j < N; ++j) {                                                                         \
                T sum = rest[i][j];                                                                               \
                for (int l = 0; l < LANES; ++l) sum += sums[i][j][l];                                             \
                *(T *)(c + i * steps[7] + j * steps[8]) += sum;                                                   \
            }                                                                                                     \
    }
DG_DOTS_TILE(double)
DG_DOTS_TILE(float)

#define DG_DOTS_ROW(M, T)                                                                                     \
    for (npy_intp j = 0; j < dims[3]; j += DG_DOT_COLUMNS) {                                                  \
        const char *b = args[1] + j * steps[6];                                                               \
        char *c = args[2] + i * steps[7] + j * steps[8];                                                      \
        if (dims[3] - j >= 3) dg_dots_tile_##T(M, 3, a, b, c, dims, steps);                                   \
        else if (dims[3] - j == 2) dg_dots_tile_##T(M, 2, a, b, c, dims, steps);                              \
        else dg_dots_tile_##T(M, 1, a, b, c, dims, steps);                                                    \
    }
#define DG_DOTS_OF(LEVEL, T)                                                                                  \
    static void dg_dots_##T##_##LEVEL(char **args, const npy_intp *dims, const npy_intp *steps, void *data)   \
    {                                                                                                         \
        (void)data;                                                                                           \
        for (npy_intp i = 0; i < dims[1]; i += DG_DOT_ROWS) {                                                 \
            const char *a = args[0] + i * steps[3];                                                           \
            if (dims[1] - i >= 2) {                                                                           \
                DG_DOTS_ROW(2, T)                                                                             \
            } else {                                                                                          \
                DG_DOTS_ROW(1, T)                                                                             \
            }                                                                                                 \
        }                                                                                                     \
    }
DG_EACH_LEVEL(DG_DOTS_OF, double)
DG_EACH_LEVEL(DG_DOTS_OF, float)
#endif

/* The loop that adds such a product to what is there; NULL where the compiler knows no vectors. */
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
