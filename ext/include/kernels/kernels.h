/* Scalar kernels and the loops around them.
 *
 * Every kernel has the signature of a NumPy inner loop (pointers, one length, byte strides). So these loops and NumPy's
 * are interchangeable: the table of loops holds one of them for each primitive and dtype. The expressions come from the
 * table of primitives (generated/kernels.h); this file wraps them in loops.
 *
 * A loop has four bodies: one element (small arrays are common in nested derivatives), all contiguous, one operand
 * constant, and any strides. The compiler vectorises the second and third. Loops with three operands have only the
 * last.
 */
#ifndef DG_KERNELS_H
#define DG_KERNELS_H

#include <Python.h>
#include "kernels/bessel.h"
#include "kernels/erf.h"
#include "kernels/igamma.h"
#include "vector/loop.h"
#include "kernels/slopes.h"
#include "vector/loops.h"
#include "kernels/generic.h"

#define DG_UNARY(LEVEL, NAME, CTYPE, BODY)                                                 \
    static void NAME##_##LEVEL(char **args, const npy_intp *dims, const npy_intp *steps, void *data) \
    {                                                                                      \
        typedef CTYPE T;                                                                   \
        const npy_intp n = dims[0], s = steps[0], so = steps[1];                           \
        (void)data;                                                                        \
        if (n == 1) {                                                                      \
            const T x = *(const T *)args[0];                                               \
            *(T *)args[1] = BODY;                                                          \
        } else if (s == (npy_intp)sizeof(T) && so == (npy_intp)sizeof(T)) {                \
            const T *a = (const T *)args[0];                                               \
            T *o = (T *)args[1];                                                           \
            DG_WIDE for (npy_intp i = 0; i < n; ++i) { const T x = a[i]; o[i] = BODY; }    \
        } else {                                                                           \
            const char *a = args[0];                                                       \
            char *o = args[1];                                                             \
            for (npy_intp i = 0; i < n; ++i, a += s, o += so) {                            \
                const T x = *(const T *)a;                                                 \
                *(T *)o = BODY;                                                            \
            }                                                                              \
        }                                                                                  \
    }

#define DG_BINARY(LEVEL, NAME, CTYPE, BODY)                                                \
    static void NAME##_##LEVEL(char **args, const npy_intp *dims, const npy_intp *steps, void *data) \
    {                                                                                      \
        typedef CTYPE T;                                                                   \
        const npy_intp n = dims[0], s = steps[0], t = steps[1], so = steps[2];             \
        const npy_intp w = (npy_intp)sizeof(T);                                            \
        (void)data;                                                                        \
        if (n == 1) {                                                                      \
            const T x = *(const T *)args[0], y = *(const T *)args[1];                      \
            *(T *)args[2] = BODY;                                                          \
        } else if (s == w && t == w && so == w) {                                          \
            const T *a = (const T *)args[0], *b = (const T *)args[1];                      \
            T *o = (T *)args[2];                                                           \
            DG_WIDE for (npy_intp i = 0; i < n; ++i) { const T x = a[i], y = b[i]; o[i] = BODY; }\
        } else if (s == w && t == 0 && so == w) {                                          \
            const T *a = (const T *)args[0], y = *(const T *)args[1];                      \
            T *o = (T *)args[2];                                                           \
            DG_WIDE for (npy_intp i = 0; i < n; ++i) { const T x = a[i]; o[i] = BODY; }    \
        } else if (s == 0 && t == w && so == w) {                                          \
            const T x = *(const T *)args[0], *b = (const T *)args[1];                      \
            T *o = (T *)args[2];                                                           \
            DG_WIDE for (npy_intp i = 0; i < n; ++i) { const T y = b[i]; o[i] = BODY; }    \
        } else {                                                                           \
            const char *a = args[0], *b = args[1];                                         \
            char *o = args[2];                                                             \
            for (npy_intp i = 0; i < n; ++i, a += s, b += t, o += so) {                    \
                const T x = *(const T *)a, y = *(const T *)b;                              \
                *(T *)o = BODY;                                                            \
            }                                                                              \
        }                                                                                  \
    }

/* Try a quicker body than NAME_exact first. It gives the same numbers, unless one of them is nan. */
#define DG_BINARY_QUICK(LEVEL, NAME, CTYPE, QUICK)                                         \
    static void NAME##_##LEVEL(char **args, const npy_intp *dims, const npy_intp *steps, void *data) \
    {                                                                                      \
        typedef CTYPE T;                                                                   \
        const npy_intp n = dims[0], s = steps[0], t = steps[1];                            \
        const npy_intp w = (npy_intp)sizeof(T);                                            \
        const T *a = (const T *)args[0], *b = (const T *)args[1];                          \
        T *o = (T *)args[2];                                                               \
        if (n > 1 && steps[2] == w && dg_apart(o, a, n * w) && dg_apart(o, b, n * w)) {    \
            if (s == w && t == w) DG_TRY_QUICK(CTYPE, const T x = a[i]; const T y = b[i], QUICK)\
            else if (s == w && t == 0) DG_TRY_QUICK(CTYPE, const T x = a[i]; const T y = *b, QUICK)\
            else if (s == 0 && t == w) DG_TRY_QUICK(CTYPE, const T x = *a; const T y = b[i], QUICK)\
        }                                                                                  \
        NAME##_exact_##LEVEL(args, dims, steps, data);                                     \
    }

/* Functions of three operands are slow, so the overhead of the loop does not matter. */
#define DG_TERNARY(NAME, CTYPE, BODY)                                                      \
    static void NAME(char **args, const npy_intp *dims, const npy_intp *steps, void *data) \
    {                                                                                      \
        typedef CTYPE T;                                                                   \
        (void)data;                                                                        \
        for (npy_intp i = 0; i < dims[0]; ++i) {                                           \
            const T x = *(const T *)(args[0] + i * steps[0]);                              \
            const T y = *(const T *)(args[1] + i * steps[1]);                              \
            const T z = *(const T *)(args[2] + i * steps[2]);                              \
            *(T *)(args[3] + i * steps[3]) = BODY;                                         \
        }                                                                                  \
    }

/* Complex numbers as NumPy stores them. C's own complex type is not used: its product has a branch that repairs
 * infinities, and here a zero must absorb in each part. */
typedef struct { double re, im; } dg_c128;
typedef struct { float re, im; } dg_c64;

#include "generated/kernels.h"

#endif
