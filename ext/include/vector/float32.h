/* Kernels of float; see vector/registers.h and the kernels of double.
 *
 * They compute in float, but for erfc, and for the reduction of angles where the machine has no
 * multiply-add with one rounding.
 */
#ifndef DG_VECTOR_FLOAT_H
#define DG_VECTOR_FLOAT_H

#include "vector/erf.h"
#include "vector/trig.h"

/* (e^r - 1 - r) / r^2 */
static const float dgv_exp_terms_f[] = {0.50000001f, 0.16666518f, 0.041666204f, 0.0083689466f, 0.0013950607f};

/* (log(1 + f) - f + f^2 / 2) / f^3, 1 + f from sqrt(1/2) to sqrt(2) */
static const float dgv_log_terms_f[] = {0.3333333f,   -0.25000823f, 0.20001227f, -0.16623357f,
                                        0.14201762f, -0.13160194f, 0.1276155f,  -0.0763443f};

/* (sin(r) / r - 1) / r^2 and (cos(r) - 1 + r^2 / 2) / r^4, in r^2, |r| <= pi/4 */
static const float dgv_sin_terms_f[] = {-0.16666667f, 0.008333329f, -0.00019839311f, 2.7180881e-06f};
static const float dgv_cos_terms_f[] = {0.041666646f, -0.0013887349f, 2.4436284e-05f};

/* (2 atanh(s) / s - 2) / s^2, in s^2, s from 0 to 1/3 */
static const float dgv_log1p_terms_f[] = {0.66666676f, 0.39998883f, 0.28616754f, 0.21428943f, 0.24296478f};

/* (tanh(x) / x - 1) / x^2, in x^2, |x| <= 5/8 */
static const float dgv_tanh_terms_f[] = {-0.33333329f, 0.13332769f, -0.05385085f, 0.020996894f, -0.0060962995f};

/* erf(x) / x - 1, in x^2, |x| <= 1; and -log(1 - erf(x)), in x - 1, 1 <= x <= 4 */
static const float dgv_erf_terms_f[] = {0.12837912f, -0.37612326f, 0.1128018f, -0.02671131f, 0.00491755f, -0.00056314169f};
static const float dgv_erf_exponent_terms_f[] = {1.8496055f,    2.6389669f,    0.84311761f,   0.041503493f,
                                                -0.0098954488f, 0.0018293726f, -0.00018637603f};

/* x 2^n from n + rounder; n from -254 to 254. 2^n is two factors, each of half of n. */
DG_INLINE float dgv_scale_f(float x, float rounded)
{
    const uint32_t n = dgv_bits_f(rounded), half = n >> 1;
    return x * dgv_number_f((half << 23) + DG_ONE_BITS_F) * dgv_number_f(((n - half) << 23) + DG_ONE_BITS_F);
}

/* e^(x - rest), for a small rest */
DG_INLINE float dgv_exp_of_difference_f(const int fused, float x, float rest)
{
    const float rounded = DG_MADD_F(x, 1.44269504f, DG_ROUNDER_F), n = rounded - DG_ROUNDER_F;
    const float r = DG_MADD_F(n, 2.12194440e-4f, DG_MADD_F(n, -0.693359375f, x)) - rest;
    return dgv_scale_f(1.0f + DG_MADD_F(r * r, DG_POLYNOMIAL_F(dgv_exp_terms_f, r), r), rounded);
}

DG_INLINE float dgv_exp_f(const int fused, float x)
{
    return dgv_exp_of_difference_f(fused, dgv_clamp_f(x, -104.5f, 89.0f), 0.0f);
}

#define DG_SQRT_HALF_BITS_F ((uint32_t)0x3f3504f3)
#define DG_FRACTION_BITS_F (((uint32_t)1 << 23) - 1)

/* x = 2^k (1 + f), and log(x) = k ln2 + (f - (f^2 / 2 - f^3 P(f))); k times the first part of ln2 is exact. */
DG_INLINE float dgv_log_f(const int fused, float x)
{
    const float scale = x < 0x1p-126f ? 0x1p24f : 1.0f;
    const uint32_t bits = dgv_bits_f(x * scale) + (DG_ONE_BITS_F - DG_SQRT_HALF_BITS_F);
    /* an integer below 2^23 becomes a float by its bits; minus 24 for a scaled number */
    const float k = dgv_number_f((bits >> 23) | dgv_bits_f(0x1p23f)) - (0x1p23f + 127.0f) - (scale - 1.0f) * (24 * 0x1p-24f);
    const float f = dgv_number_f((bits & DG_FRACTION_BITS_F) + DG_SQRT_HALF_BITS_F) - 1.0f, z = f * f;
    const float g = DG_MADD_F(-f * z, DG_POLYNOMIAL_F(dgv_log_terms_f, f), 0.5f * z);
    float y = DG_MADD_F(k, 0.693359375f, f - DG_MADD_F(k, 2.12194440e-4f, g));
    y = x < INFINITY ? y : x;               /* inf and nan are their own logarithms */
    y = x == 0 ? -INFINITY : y;
    return x < 0 ? NAN : y;
}

typedef struct { float sin, cos; } dgv_circle_f;

/* Sine and cosine of x = n pi/2 + r + tail, and n in the lowest bits. With multiply-add pi/2 in three parts of 24 bits leaves
 * an exact first difference, a multiple of 2^-23, so the error of the next sum is exact too; without it the difference is
 * taken in double. */
DG_INLINE dgv_circle_f dgv_quadrant_f(const int fused, float x, uint32_t *n)
{
    float r, tail;
    if (fused) {
        const float rounded = DG_MADD_F(x, 0x1.45f306p-1f, DG_ROUNDER_F), m = rounded - DG_ROUNDER_F;
        const float first = DG_MADD_F(m, -0x1.921fb6p+0f, x), second = m * 0x1.777a5cp-25f;
        r = first + second;
        tail = DG_MADD_F(m, 0x1.777a5cp-25f, -second) + (second - (r - first));
        tail = DG_MADD_F(m, 0x1.ee59dap-50f, tail);
        *n = dgv_bits_f(rounded);
    } else {
        const double rounded = (double)x * 0x1.45f306dc9c883p-1 + DG_ROUNDER, m = rounded - DG_ROUNDER;
        const double all = ((double)x - m * 0x1.921fb5444p+0) - m * 0x1.68c234c4c6629p-39;
        r = (float)all;
        tail = (float)(all - (double)r);
        *n = (uint32_t)dgv_bits(rounded);
    }
    const float z = r * r, half = 0.5f * z, w = 1.0f - half;
    return (dgv_circle_f){
        r + DG_MADD_F(r * z, DG_POLYNOMIAL_F(dgv_sin_terms_f, z), tail * w),
        w + (((1.0f - w) - half) + DG_MADD_F(z * z, DG_POLYNOMIAL_F(dgv_cos_terms_f, z), -r * tail))};
}

/* -x if n is in the lower half of the circle. */
DG_INLINE float dgv_turned_f(float x, uint32_t n) { return dgv_number_f(dgv_bits_f(x) ^ (n & 2) << 30); }

DG_INLINE float dgv_sin_f(const int fused, float x)
{
    uint32_t n;
    const dgv_circle_f c = dgv_quadrant_f(fused, x, &n);
    const float sine = dgv_turned_f(n & 1 ? c.cos : c.sin, n);
    return x == 0 ? x : sine;
}

DG_INLINE float dgv_cos_f(const int fused, float x)
{
    uint32_t n;
    const dgv_circle_f c = dgv_quadrant_f(fused, x, &n);
    return dgv_turned_f(n & 1 ? c.sin : c.cos, n + 1);
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

DG_INLINE float dgv_logaddexp_f(const int fused, float x, float y)
{
    const float more = dgv_softplus_f(fused, -fabsf(x - y));
    return x == y ? x + 0x1.62e43p-1f : (x > y ? x : y) + more;
}
#define dgv_logaddexp_of(x, y) _Generic((x), float: dgv_logaddexp_f, default: dgv_logaddexp)(0, x, y)

DG_INLINE float dgv_erf_f(const int fused, float x)
{
    const float a = dgv_clamp_f(fabsf(x), 0.0f, 4.0f);
    const float inner = DG_MADD_F(a, DG_POLYNOMIAL_F(dgv_erf_terms_f, a * a), a);
    const float outer = 1.0f - dgv_exp_f(fused, -DG_POLYNOMIAL_F(dgv_erf_exponent_terms_f, a - 1.0f));
    return copysignf(a < 1.0f ? inner : outer, x);
}

#define DG_HALF_OF_BITS_F (((uint32_t)1 << 12) - 1) /* without them 12 bits are left, and products are exact */

/* exp(-(a + b)^2) with an a of 12 bits, as in the kernel of double: a^2 is exact, and the rest of the square is subtracted after the
 * reduction. */
DG_INLINE float dgv_gauss_f(const int fused, float x)
{
    const float size = dgv_clamp_f(fabsf(x), 0.0f, 10.5f), a = dgv_number_f(dgv_bits_f(size) & ~DG_HALF_OF_BITS_F);
    return dgv_exp_of_difference_f(fused, -a * a, (size - a) * (size + a));
}

/* Through double, where the square of a float is exact. */
DG_INLINE float dgv_erfc_f(const int fused, float x) { return (float)dgv_erfc(fused, x); }

#endif
