/* The basis of the vector kernels: bits of numbers, multiply-add, polynomials.
 *
 * The kernels (vector/exp.h, vector/log.h, vector/trig.h, vector/erf.h) are plain functions of one number without
 * branches: a range reduction, a polynomial, and selections for special arguments. The compiler turns a loop over a
 * kernel into vector instructions, as wide as the machine allows (vector/loops.h).
 *
 * Their first parameter is 1 if the machine has multiply-add with one rounding. It is a constant after inlining.
 * Products that must be exact are exact in both cases.
 *
 * Polynomials are minimax approximations (Remez) with a relative error of at most 2^-57 of the result. If a constant or
 * an argument has two parts, the second part is the rounding error of the first.
 */
#ifndef DG_VECTOR_H
#define DG_VECTOR_H

#include <math.h>
#include <stdint.h>

#include "vector/levels.h"
#include "vector/loop.h"

#if defined(__GNUC__) && !defined(__clang__)
#define DG_UNROLL _Pragma("GCC unroll 32")
#define DG_UNROLL_8 _Pragma("GCC unroll 8")
#define DG_INDEPENDENT _Pragma("GCC ivdep") /* an operand is the result itself, or does not overlap it */
#define DG_SHORT DG_INDEPENDENT /* the same for loops of few vectors: one at a time */
#elif defined(__clang__)
#define DG_UNROLL _Pragma("clang loop unroll(full)")
#define DG_UNROLL_8 _Pragma("clang loop unroll_count(8)")
#define DG_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#define DG_SHORT _Pragma("clang loop vectorize(assume_safety) interleave_count(1)")
#elif defined(_MSC_VER)
#define DG_UNROLL
#define DG_UNROLL_8
#define DG_INDEPENDENT __pragma(loop(ivdep))
#define DG_SHORT DG_INDEPENDENT
#else
#define DG_UNROLL
#define DG_UNROLL_8
#define DG_INDEPENDENT
#define DG_SHORT
#endif

/* Loops over contiguous elements. An operand is the result itself, or does not overlap it. Loops are unrolled 8 times,
 * since for a few hundred numbers in the first-level cache their instructions are the limit. More copies of the body,
 * and the same number for the remainder, cost more than they save. (Measured: 32 copies speed one sum up by a tenth,
 * and slow a chain of nine such loops down by a half.) */
#define DG_WIDE DG_INDEPENDENT DG_UNROLL_8

/* Return 1 if n bytes of a result do not overlap n bytes of an operand. */
DG_INLINE int dg_apart(const void *r, const void *x, npy_intp n)
{
    return (const char *)r + n <= (const char *)x || (const char *)x + n <= (const char *)r;
}

/* A product in which zero absorbs everything, even inf and nan, and is never negative. The quick form is equal unless
 * it is nan, so whole arrays try it first. */
#define DG_ABSORB(x, y) ((((x) == 0) | ((y) == 0)) ? 0 : (x) * (y) + 0)
#define DG_ABSORB_QUICK(x, y) ((x) * (y) + 0)
#define DG_MASK_double int64_t
#define DG_MASK_float int32_t

/* o[i] = RESULT for all n; returns from the enclosing function if none is nan. LET declares the operands of RESULT. */
#define DG_TRY_QUICK(T, LET, RESULT)                                                       \
    {                                                                                      \
        DG_MASK_##T bad = 0;                                                               \
        DG_WIDE for (npy_intp i = 0; i < n; ++i)                                           \
        {                                                                                  \
            LET;                                                                           \
            const T r = RESULT;                                                            \
            bad |= r != r;                                                                 \
            o[i] = r;                                                                      \
        }                                                                                  \
        if (!bad) return;                                                                  \
    }

typedef union { double number; uint64_t bits; } dgv_word;
typedef union { float number; uint32_t bits; } dgv_word_f;

DG_INLINE uint64_t dgv_bits(double x) { return ((dgv_word){.number = x}).bits; }
DG_INLINE double dgv_number(uint64_t bits) { return ((dgv_word){.bits = bits}).number; }
DG_INLINE uint32_t dgv_bits_f(float x) { return ((dgv_word_f){.number = x}).bits; }
DG_INLINE float dgv_number_f(uint32_t bits) { return ((dgv_word_f){.bits = bits}).number; }

#define DG_ONE_BITS ((uint64_t)1023 << 52)
#define DG_ONE_BITS_F ((uint32_t)127 << 23)
#define DG_HALF_OF_BITS (((uint64_t)1 << 27) - 1) /* without them 26 bits are left, and products are exact */

/* Added to a number of at most 2^51 it rounds that to an integer, in the lowest bits of the sum. */
#define DG_ROUNDER 0x1.8p52
#define DG_ROUNDER_F 0x1.8p23f

/* 2^n from n + rounder; n from -1022 to 1023. */
DG_INLINE double dgv_power_of_two(double rounded) { return dgv_number((dgv_bits(rounded) << 52) + DG_ONE_BITS); }

/* a * b + c. The compiler may not fuse plain C (-ffp-contract=off), so results do not depend on its choices. */
#if DG_GNU
#define DG_MADD(a, b, c) (fused ? __builtin_fma(a, b, c) : (a) * (b) + (c))
#define DG_MADD_F(a, b, c) (fused ? __builtin_fmaf(a, b, c) : (a) * (b) + (c))
#else
#define DG_MADD(a, b, c) ((void)fused, (a) * (b) + (c))
#define DG_MADD_F(a, b, c) ((void)fused, (a) * (b) + (c))
#endif

/* x clamped to bounds; nan stays nan. */
DG_INLINE double dgv_clamp(double x, double low, double high)
{
    x = x > high ? high : x;
    return x < low ? low : x;
}
DG_INLINE float dgv_clamp_f(float x, float low, float high)
{
    x = x > high ? high : x;
    return x < low ? low : x;
}

/* c[0] + c[1] x + ... + c[n-1] x^(n-1), in two chains, of even and odd powers, which run in parallel. */
DG_INLINE double dgv_polynomial(const int fused, const double *c, const int n, const double x)
{
    const double z = x * x;
    double even = c[(n - 1) & ~1], odd = c[((n - 2) & ~1) + 1];
    DG_UNROLL for (int i = ((n - 1) & ~1) - 2; i >= 0; i -= 2) even = DG_MADD(even, z, c[i]);
    DG_UNROLL for (int i = ((n - 2) & ~1) - 1; i >= 0; i -= 2) odd = DG_MADD(odd, z, c[i]);
    return DG_MADD(odd, x, even);
}

DG_INLINE float dgv_polynomial_f(const int fused, const float *c, const int n, const float x)
{
    const float z = x * x;
    float even = c[(n - 1) & ~1], odd = c[((n - 2) & ~1) + 1];
    DG_UNROLL for (int i = ((n - 1) & ~1) - 2; i >= 0; i -= 2) even = DG_MADD_F(even, z, c[i]);
    DG_UNROLL for (int i = ((n - 2) & ~1) - 1; i >= 0; i -= 2) odd = DG_MADD_F(odd, z, c[i]);
    return DG_MADD_F(odd, x, even);
}

#define DG_POLYNOMIAL(C, X) dgv_polynomial(fused, C, (int)(sizeof(C) / sizeof(C[0])), X)
#define DG_POLYNOMIAL_F(C, X) dgv_polynomial_f(fused, C, (int)(sizeof(C) / sizeof(C[0])), X)

#endif
