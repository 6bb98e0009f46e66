/* Scalar kernels and the loops around them.
 *
 * Every kernel has the signature of a NumPy inner loop (pointers, one length, byte strides), so that our loops and
 * NumPy's are interchangeable: the table of loops holds whichever serves a primitive and a type. The loop bodies come
 * from the table of primitives (generated/kernels.h); this file gives them their shapes.
 *
 * A loop has four bodies: one element (small arrays are the common case of nested derivatives), all contiguous,
 * one operand constant, and any strides. The first three are what the compiler vectorises.
 */
#ifndef DG_KERNELS_H
#define DG_KERNELS_H

#include <Python.h>
#include "dg_loop.h"
#include <tgmath.h>
#undef I /* tgmath brings complex.h, whose I is too short a name to keep */

/* One function, three machine codes, chosen by the loader. */
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define DG_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define DG_CLONES
#endif

#define DG_UNARY(NAME, CTYPE, BODY)                                                        \
    DG_CLONES static void NAME(char **args, const npy_intp *dims, const npy_intp *steps, void *data) \
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
            for (npy_intp i = 0; i < n; ++i) { const T x = a[i]; o[i] = BODY; }            \
        } else {                                                                           \
            const char *a = args[0];                                                       \
            char *o = args[1];                                                             \
            for (npy_intp i = 0; i < n; ++i, a += s, o += so) {                            \
                const T x = *(const T *)a;                                                 \
                *(T *)o = BODY;                                                            \
            }                                                                              \
        }                                                                                  \
    }

#define DG_BINARY(NAME, CTYPE, BODY)                                                       \
    DG_CLONES static void NAME(char **args, const npy_intp *dims, const npy_intp *steps, void *data) \
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
            for (npy_intp i = 0; i < n; ++i) { const T x = a[i], y = b[i]; o[i] = BODY; }  \
        } else if (s == w && t == 0 && so == w) {                                          \
            const T *a = (const T *)args[0], y = *(const T *)args[1];                      \
            T *o = (T *)args[2];                                                           \
            for (npy_intp i = 0; i < n; ++i) { const T x = a[i]; o[i] = BODY; }            \
        } else if (s == 0 && t == w && so == w) {                                          \
            const T x = *(const T *)args[0], *b = (const T *)args[1];                      \
            T *o = (T *)args[2];                                                           \
            for (npy_intp i = 0; i < n; ++i) { const T y = b[i]; o[i] = BODY; }            \
        } else {                                                                           \
            const char *a = args[0], *b = args[1];                                         \
            char *o = args[2];                                                             \
            for (npy_intp i = 0; i < n; ++i, a += s, b += t, o += so) {                    \
                const T x = *(const T *)a, y = *(const T *)b;                              \
                *(T *)o = BODY;                                                            \
            }                                                                              \
        }                                                                                  \
    }

/* Both tails of the logistic function from one exponential of -|x|: nothing overflows, nothing cancels. */
static inline double dg_sigmoid_d(double x) { const double e = exp(-fabs(x)); return (x >= 0 ? 1.0 : e) / (1.0 + e); }
static inline float dg_sigmoid_f(float x) { const float e = exp(-fabs(x)); return (x >= 0 ? 1.0f : e) / (1.0f + e); }
#define dg_sigmoid(x) _Generic((x), float: dg_sigmoid_f, default: dg_sigmoid_d)(x)

/* sech(x)^2 = 4 e / (1 + e)^2 with e = exp(-2|x|); 1 - tanh(x)^2 has no correct digit left at x = 20. */
static inline double dg_sech2_d(double x) { const double e = exp(-2.0 * fabs(x)), q = 1.0 + e; return 4.0 * e / (q * q); }
static inline float dg_sech2_f(float x) { const float e = exp(-2.0f * fabs(x)), q = 1.0f + e; return 4.0f * e / (q * q); }
#define dg_sech2(x) _Generic((x), float: dg_sech2_f, default: dg_sech2_d)(x)

#include "generated/kernels.h"

#endif
