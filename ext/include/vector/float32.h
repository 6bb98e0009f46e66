/* Kernels of float for which the C library and NumPy have no fast one; see vector/registers.h and the kernels of double. */
#ifndef DG_VECTOR_FLOAT_H
#define DG_VECTOR_FLOAT_H

#include "vector/erf.h"

/* (e^r - 1 - r) / r^2 */
static const float dgv_exp_terms_f[] = {0.50000001f, 0.16666518f, 0.041666204f, 0.0083689466f, 0.0013950607f};

/* (2 atanh(s) / s - 2) / s^2, in s^2, s from 0 to 1/3 */
static const float dgv_log1p_terms_f[] = {0.66666676f, 0.39998883f, 0.28616754f, 0.21428943f, 0.24296478f};

/* (tanh(x) / x - 1) / x^2, in x^2, |x| <= 5/8 */
static const float dgv_tanh_terms_f[] = {-0.33333329f, 0.13332769f, -0.05385085f, 0.020996894f, -0.0060962995f};

/* erf(x) / x - 1, in x^2, |x| <= 1; and -log(1 - erf(x)), in x - 1, 1 <= x <= 4 */
static const float dgv_erf_terms_f[] = {0.12837912f, -0.37612326f, 0.1128018f, -0.02671131f, 0.00491755f, -0.00056314169f};
static const float dgv_erf_exponent_terms_f[] = {1.8496055f,    2.6389669f,    0.84311761f,   0.041503493f,
                                                -0.0098954488f, 0.0018293726f, -0.00018637603f};

DG_INLINE float dgv_exp_f(const int fused, float x)
{
    const float limited = dgv_clamp_f(x, -104.5f, 89.0f);
    const float rounded = DG_MADD_F(limited, 1.44269504f, DG_ROUNDER_F), n = rounded - DG_ROUNDER_F;
    const float r = DG_MADD_F(n, 2.12194440e-4f, DG_MADD_F(n, -0.693359375f, limited));
    const float y = 1.0f + DG_MADD_F(r * r, DG_POLYNOMIAL_F(dgv_exp_terms_f, r), r);
    const uint32_t k = dgv_bits_f(rounded), half = k >> 1;
    return y * dgv_number_f((half << 23) + DG_ONE_BITS_F) * dgv_number_f(((k - half) << 23) + DG_ONE_BITS_F);
}

DG_INLINE float dgv_sigmoid_f(const int fused, float x)
{
    const float e = dgv_exp_f(fused, -fabsf(x));
    return (x < 0 ? e : 1.0f) / (1.0f + e);
}

DG_INLINE float dgv_sech2_f(const int fused, float x)
{
    const float e = dgv_exp_f(fused, -2.0f * fabsf(x));
    return 4.0f * e / DG_MADD_F(e, 2.0f + e, 1.0f);
}

DG_INLINE float dgv_tanh_f(const int fused, float x)
{
    const float a = dgv_clamp_f(fabsf(x), 0.0f, 10.0f), z = a * a;
    const float e = dgv_exp_f(fused, -2.0f * a);
    const float inner = DG_MADD_F(a * z, DG_POLYNOMIAL_F(dgv_tanh_terms_f, z), a);
    return copysignf(a < 0.625f ? inner : 1.0f - 2.0f * e / (1.0f + e), x);
}

DG_INLINE float dgv_softplus_f(const int fused, float x)
{
    const float e = dgv_exp_f(fused, -fabsf(x)), s = e / (2.0f + e), z = s * s;
    const float y = e - s * (e - z * DG_POLYNOMIAL_F(dgv_log1p_terms_f, z));
    return x < 0 ? y : x + y;
}

DG_INLINE float dgv_erf_f(const int fused, float x)
{
    const float a = dgv_clamp_f(fabsf(x), 0.0f, 4.0f);
    const float inner = DG_MADD_F(a, DG_POLYNOMIAL_F(dgv_erf_terms_f, a * a), a);
    const float outer = 1.0f - dgv_exp_f(fused, -DG_POLYNOMIAL_F(dgv_erf_exponent_terms_f, a - 1.0f));
    return copysignf(a < 1.0f ? inner : outer, x);
}

/* Through double, where the square of a float is exact. */
DG_INLINE float dgv_gauss_f(const int fused, float x) { return (float)dgv_exp(fused, -(double)x * (double)x); }
DG_INLINE float dgv_erfc_f(const int fused, float x) { return (float)dgv_erfc(fused, x); }

#endif
