/* Products of stacks of small matrices: rotations, minors, orbitals of few electrons.
 *
 * A library takes ten times as long to start a product of 3 by 3 matrices as the product itself takes. Here both
 * factors of a product are read into registers, with any strides. Each element is one sum in the order of k.
 */
#ifndef DG_SMALL_H
#define DG_SMALL_H

#include "vector/registers.h"

enum { DG_SMALL = 4 }; /* most rows, columns, and terms of a sum */

/* As in NumPy's loop for matrix products: dims are (stack, m, k, n); steps are for stacks, then for rows and columns of
 * a, b and c. With `more` the product is added to c. */
#define DG_SMALL_OF(T)                                                                                               \
    DG_INLINE void dg_small_of_##T(const int m, const int k, const int n, char **args, npy_intp stack,               \
                                   const npy_intp *steps, int more)                                                  \
    {                                                                                                                \
        const char *a = args[0], *b = args[1];                                                                       \
        char *c = args[2];                                                                                           \
        for (; stack > 0; --stack, a += steps[0], b += steps[1], c += steps[2]) {                                    \
            T y[DG_SMALL][DG_SMALL];                                                                                 \
            for (int l = 0; l < k; ++l)                                                                              \
                for (int j = 0; j < n; ++j) y[l][j] = *(const T *)(b + l * steps[5] + j * steps[6]);                 \
            for (int i = 0; i < m; ++i) {                                                                            \
                T sums[DG_SMALL] = {0};                                                                              \
                for (int l = 0; l < k; ++l) {                                                                        \
                    const T x = *(const T *)(a + i * steps[3] + l * steps[4]);                                       \
                    for (int j = 0; j < n; ++j) sums[j] += x * y[l][j];                                              \
                }                                                                                                    \
                for (int j = 0; j < n; ++j) {                                                                        \
                    T *r = (T *)(c + i * steps[7] + j * steps[8]);                                                   \
                    *r = more ? *r + sums[j] : sums[j];                                                              \
                }                                                                                                    \
            }                                                                                                        \
        }                                                                                                            \
    }                                                                                                                \
    static void dg_small_##T(char **args, const npy_intp *dims, const npy_intp *steps, void *data)                   \
    {                                                                                                                \
        const int m = (int)dims[1], k = (int)dims[2], n = (int)dims[3];                                              \
        if (m == 3 && k == 3 && n == 3) dg_small_of_##T(3, 3, 3, args, dims[0], steps, data != NULL);                \
        else if (m == 2 && k == 2 && n == 2) dg_small_of_##T(2, 2, 2, args, dims[0], steps, data != NULL);           \
        else if (m == 4 && k == 4 && n == 4) dg_small_of_##T(4, 4, 4, args, dims[0], steps, data != NULL);           \
        else if (m == 3 && k == 3 && n == 1) dg_small_of_##T(3, 3, 1, args, dims[0], steps, data != NULL);           \
        else dg_small_of_##T(m, k, n, args, dims[0], steps, data != NULL);                                           \
    }
DG_SMALL_OF(double)
DG_SMALL_OF(float)

/* The loop for products of these extents; NULL if one is not small. A negative extent stands for many. */
static inline dg_loop dg_small_loop(npy_intp m, npy_intp k, npy_intp n, int wide)
{
    if (m < 0 || k < 0 || n < 0 || m > DG_SMALL || k > DG_SMALL || n > DG_SMALL) return NULL;
    return wide ? dg_small_double : dg_small_float;
}

#endif
