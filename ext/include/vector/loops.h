/* Loops around the vector kernels, one for each instruction set (vector/levels.h).
 *
 * Kernels without multiply-add give the same numbers on every machine.
 *
 * A loop works on blocks that are a multiple of the widest vector. Strided operands, and the remainder at the end, are
 * copied to a buffer, so that one vector loop serves all shapes. A few elements pass one by one through the same
 * operations.
 */
#ifndef DG_VECTOR_LOOPS_H
#define DG_VECTOR_LOOPS_H

#include <stdlib.h>
#include <string.h>
#include "vector/log.h"
#include "vector/trig.h"
#include "vector/float32.h"

#define DG_VECTOR_BLOCK 256
#define DG_VECTOR_FEW 4 /* up to this number, single elements are faster than a padded vector */

#if DG_GNU
#define DG_ONE_BY_ONE __asm__ volatile("") /* keeps the compiler from vectorising the loop around it */
#else
#define DG_ONE_BY_ONE (void)0
#endif

typedef void (*dg_function)(void);

#define DG_CHOOSE_FUNCTION(NAME) DG_CHOOSE_AS((dg_function), NAME)

/* Functions of one vector. The compiler must have vector types, and return them as machine code does; on Windows it
 * does not. The operand comes in a register. But Clang (up to version 22) passes a long one on the stack if the flags
 * of the file lack such registers, even if the function's target has them. There the operand comes by address. */
#if defined(__clang__)
#define DG_WIDE_BY_ADDRESS 1
#define DG_WIDE_OPERAND(T) const T *
#define DG_WIDE_READ(v) (*(v))
#else
#define DG_WIDE_BY_ADDRESS 0
#define DG_WIDE_OPERAND(T) T
#define DG_WIDE_READ(v) (v)
#endif
#if DG_GNU && !defined(_WIN32)
#define DG_EACH_WIDE(...) DG_EACH_LEVEL(DG_VECTOR_WIDE, __VA_ARGS__)
#define DG_CHOOSE_WIDE(NAME) DG_CHOOSE_FUNCTION(NAME)
#define DG_REGISTERS(LEVEL, T) typedef T dg_##T##_##LEVEL __attribute__((vector_size(DG_BYTES_##LEVEL)));
DG_REGISTERS(v1, double)
DG_REGISTERS(v3, double)
DG_REGISTERS(v4, double)
DG_REGISTERS(v1, float)
DG_REGISTERS(v3, float)
DG_REGISTERS(v4, float)
#else
#define DG_EACH_WIDE(...)
#define DG_CHOOSE_WIDE(NAME) ((dg_function)0)
#endif

/* KERNEL_is_hard finds the numbers that a kernel leaves to the C library; KERNEL_hard computes them. */
#define DG_VECTOR_LOOP(LEVEL, NAME, T, KERNEL)                                                     \
    static void NAME##_##LEVEL(char **args, const npy_intp *dims, const npy_intp *steps, void *data)\
    {                                                                                              \
        const npy_intp s = steps[0], so = steps[1], w = (npy_intp)sizeof(T), lanes = 64 / w;       \
        T in[DG_VECTOR_BLOCK], out[DG_VECTOR_BLOCK];                                               \
        const char *a = args[0];                                                                   \
        char *o = args[1];                                                                         \
        npy_intp left = dims[0];                                                                   \
        (void)data;                                                                                \
        while (left > DG_VECTOR_FEW) {                                                             \
            const npy_intp whole = left & -lanes, padded = whole ? whole : lanes;                  \
            const npy_intp m = padded < DG_VECTOR_BLOCK ? padded : DG_VECTOR_BLOCK;                \
            const T *x = (const T *)a;                                                             \
            T *y = (T *)o;                                                                         \
            int64_t hard = 0;                                                                      \
            const npy_intp n = m < left ? m : left;                                                \
            if (s != w || n < m) {                                                                 \
                for (npy_intp i = 0; i < n; ++i) in[i] = *(const T *)(a + i * s);                  \
                for (npy_intp i = n; i < m; ++i) in[i] = 1;                                        \
                x = in;                                                                            \
            }                                                                                      \
            if (so != w || n < m) y = out;                                                         \
            for (npy_intp i = 0; i < m; ++i) hard |= KERNEL##_is_hard(x[i]);                       \
            if (hard && x != in) x = (const T *)memcpy(in, x, (size_t)(n * w));                    \
            DG_INDEPENDENT for (npy_intp i = 0; i < (m & -lanes); ++i) y[i] = KERNEL(DG_FUSES_##LEVEL, x[i]); \
            if (hard)                                                                              \
                for (npy_intp i = 0; i < n; ++i)                                                   \
                    if (KERNEL##_is_hard(x[i])) y[i] = KERNEL##_hard(x[i]);                        \
            if (y == out)                                                                          \
                for (npy_intp i = 0; i < n; ++i) *(T *)(o + i * so) = out[i];                      \
            left -= n, a += n * s, o += n * so;                                                    \
        }                                                                                          \
        for (; left > 0; --left, a += s, o += so) {                                                \
            const T x = *(const T *)a;                                                             \
            DG_ONE_BY_ONE;                                                                         \
            *(T *)o = KERNEL##_is_hard(x) ? KERNEL##_hard(x) : KERNEL(DG_FUSES_##LEVEL, x);               \
        }                                                                                          \
    }

/* The same for one number, which machine code calls (executor/native.h). */
#define DG_VECTOR_ONE(LEVEL, NAME, T, KERNEL)                                                      \
    static T NAME##_##LEVEL(T x)                                                                   \
    {                                                                                              \
        return KERNEL##_is_hard(x) ? KERNEL##_hard(x) : KERNEL(DG_FUSES_##LEVEL, x);               \
    }

/* The same for a vector. */
#define DG_VECTOR_WIDE(LEVEL, NAME, T, KERNEL)                                                     \
    static dg_##T##_##LEVEL NAME##_##LEVEL(DG_WIDE_OPERAND(dg_##T##_##LEVEL) v)                    \
    {                                                                                              \
        enum { lanes = DG_BYTES_##LEVEL / sizeof(T) };                                             \
        union { dg_##T##_##LEVEL v; T number[lanes]; } x = {DG_WIDE_READ(v)}, y;                   \
        int64_t hard = 0;                                                                          \
        for (int i = 0; i < lanes; ++i) hard |= KERNEL##_is_hard(x.number[i]);                     \
        DG_INDEPENDENT for (int i = 0; i < lanes; ++i) y.number[i] = KERNEL(DG_FUSES_##LEVEL, x.number[i]); \
        if (hard)                                                                                  \
            for (int i = 0; i < lanes; ++i)                                                        \
                if (KERNEL##_is_hard(x.number[i])) y.number[i] = KERNEL##_hard(x.number[i]);       \
        return y.v;                                                                                \
    }

/* Sine and cosine of one number, because either alone costs as much as both. */
#define DG_CIRCLE_ONE(LEVEL, NAME, T, F)                                                           \
    static T NAME##_##LEVEL(T x, T *cosine)                                                        \
    {                                                                                              \
        if (dgv_is_far(x)) return *cosine = cos##F(x), sin##F(x);                                  \
        return *cosine = DG_COSINE##F(DG_FUSES_##LEVEL, x), DG_SINE##F(DG_FUSES_##LEVEL, x);       \
    }
#define DG_SINE dgv_sin
#define DG_COSINE dgv_cos
#define DG_SINEf dgv_sin_f
#define DG_COSINEf dgv_cos_f

#define DG_NEVER_HARD(KERNEL, T)                                                                   \
    DG_INLINE int64_t KERNEL##_is_hard(T x) { return (void)x, 0; }                                 \
    DG_INLINE T KERNEL##_hard(T x) { return x; }

DG_NEVER_HARD(dgv_exp, double)
DG_NEVER_HARD(dgv_exp2, double)
DG_NEVER_HARD(dgv_expm1, double)
DG_NEVER_HARD(dgv_sinh, double)
DG_NEVER_HARD(dgv_cosh, double)
DG_NEVER_HARD(dgv_tanh, double)
DG_NEVER_HARD(dgv_sech2, double)
DG_NEVER_HARD(dgv_sigmoid, double)
DG_NEVER_HARD(dgv_softplus, double)
DG_NEVER_HARD(dgv_log, double)
DG_NEVER_HARD(dgv_log2, double)
DG_NEVER_HARD(dgv_log10, double)
DG_NEVER_HARD(dgv_log1p, double)
DG_NEVER_HARD(dgv_atan, double)
DG_NEVER_HARD(dgv_gauss, double)
DG_NEVER_HARD(dgv_erf, double)
DG_NEVER_HARD(dgv_erfc, double)
DG_NEVER_HARD(dgv_exp_f, float)
DG_NEVER_HARD(dgv_log_f, float)
DG_NEVER_HARD(dgv_tanh_f, float)
DG_NEVER_HARD(dgv_sech2_f, float)
DG_NEVER_HARD(dgv_sigmoid_f, float)
DG_NEVER_HARD(dgv_softplus_f, float)
DG_NEVER_HARD(dgv_gauss_f, float)
DG_NEVER_HARD(dgv_erf_f, float)
DG_NEVER_HARD(dgv_erfc_f, float)

#define DG_HARD_WHERE_FAR(KERNEL, T, FUNCTION)                                                     \
    DG_INLINE int64_t KERNEL##_is_hard(T x) { return dgv_is_far(x); }                              \
    DG_INLINE T KERNEL##_hard(T x) { return FUNCTION(x); }

DG_HARD_WHERE_FAR(dgv_sin, double, sin)
DG_HARD_WHERE_FAR(dgv_cos, double, cos)
DG_HARD_WHERE_FAR(dgv_tan, double, tan)
DG_HARD_WHERE_FAR(dgv_sin_f, float, sinf)
DG_HARD_WHERE_FAR(dgv_cos_f, float, cosf)

#endif
