/* Exponentials and functions of them, for loops that become vector code; see vector/registers.h.
 *
 * x = n ln2 + r with a whole n and |r| <= ln2 / 2. n ln2 is subtracted in two parts, the first product being exact (Cody and
 * Waite). Then e^x = 2^n e^r; 2^n is applied in two factors where it may not be a normal number.
 */
#ifndef DG_VECTOR_EXP_H
#define DG_VECTOR_EXP_H

#include "vector/registers.h"

#define DG_LOG2_E 1.4426950408889634074
#define DG_LN2_HIGH 0x1.62e42feep-1
#define DG_LN2_LOW 0x1.a39ef35793c76p-33

/* (e^r - 1 - r) / r^2 */
static const double dgv_exp_terms[] = {
    0.5000000000000012, 0.166666666666667, 0.04166666666651559, 0.008333333333307139, 0.0013888888946975632,
    0.00019841269917612994, 2.480148997866459e-05, 2.7557216032349676e-06, 2.76312691596531e-07, 2.5117960638322875e-08};

/* (2^r - 1 - r ln2) / r^2, |r| <= 1/2 */
static const double dgv_exp2_terms[] = {
    0.24022650695910133, 0.05550410866482169, 0.009618129107593602, 0.001333355814638653, 0.00015403530457803807,
    1.5252733862748433e-05, 1.3215434931405752e-06, 1.0178047895932579e-07, 7.073843500062056e-09,
    4.4572238978861103e-10};

/* (sinh(r) / r - 1) / r^2 and (cosh(r) - 1) / r^2, in r^2 */
static const double dgv_sinh_terms[] = {0.16666666666666677, 0.008333333333321615, 0.0001984126988615902,
                                       2.7557244181201635e-06, 2.510904519436927e-08};
static const double dgv_cosh_terms[] = {0.5000000000000013, 0.0416666666665143, 0.0013888888947259637,
                                       2.4801489724146447e-05, 2.7631349406429773e-07};

/* x 2^n from n + rounder; n from -2044 to 2046. 2^n is two factors, each of half of n. */
DG_INLINE double dgv_scale(double x, double rounded)
{
    const uint64_t n = dgv_bits(rounded), half = n >> 1;
    return x * dgv_number((half << 52) + DG_ONE_BITS) * dgv_number(((n - half) << 52) + DG_ONE_BITS);
}

/* x = n ln2 + r + tail, and n with the rounder added */
typedef struct { double n, rounded, r, tail; } dgv_reduced;

DG_INLINE dgv_reduced dgv_reduce_by_ln2(const int fused, double x)
{
    dgv_reduced y;
    double first;
    y.rounded = DG_MADD(x, DG_LOG2_E, DG_ROUNDER);
    y.n = y.rounded - DG_ROUNDER;
    first = DG_MADD(y.n, -DG_LN2_HIGH, x);
    y.r = DG_MADD(y.n, -DG_LN2_LOW, first);
    y.tail = DG_MADD(y.n, -DG_LN2_LOW, first - y.r);
    return y;
}

/* e^r - 1 - r */
DG_INLINE double dgv_exp_rest(const int fused, double r) { return r * r * DG_POLYNOMIAL(dgv_exp_terms, r); }

DG_INLINE double dgv_exp(const int fused, double x)
{
    const dgv_reduced y = dgv_reduce_by_ln2(fused, dgv_clamp(x, -746.0, 710.0));
    return dgv_scale(1.0 + (y.r + dgv_exp_rest(fused, y.r)), y.rounded);
}

DG_INLINE double dgv_exp2(const int fused, double x)
{
    const double limited = dgv_clamp(x, -1080.0, 1025.0);
    const double rounded = limited + DG_ROUNDER, r = limited - (rounded - DG_ROUNDER);
    const double rest = DG_MADD(r * r, DG_POLYNOMIAL(dgv_exp2_terms, r), r * 0x1.abc9e3b39803fp-56);
    return dgv_scale(1.0 + DG_MADD(r, 0x1.62e42fefa39efp-1, rest), rounded);
}

/* e^x - 1 = 2^n (e^r - 1) + (2^n - 1), the second term exact where it counts. Returns half of it, so that 2^n stays in range. */
DG_INLINE double dgv_expm1(const int fused, double x)
{
    const dgv_reduced y = dgv_reduce_by_ln2(fused, dgv_clamp(x, -40.0, 710.0));
    const double p = y.r + (dgv_exp_rest(fused, y.r) + y.tail);
    const double power = dgv_power_of_two(y.rounded - 1.0), all = 2.0 * DG_MADD(power, p, power - 0.5);
    return copysign(y.n == 0 ? p : all, x);
}

/* With A = 2^(n-1) + 2^(-n-1) and B = 2^(n-1) - 2^(-n-1): sinh(x) = A sinh(r) + B cosh(r), cosh(x) = A cosh(r) + B sinh(r).
 * Here a quarter of A and B, so that they stay in range. From n = 27 the smaller power is lost in rounding. */
typedef struct { double n, a, b, sinh, cosh_minus_1; } dgv_hyperbolic;

DG_INLINE dgv_hyperbolic dgv_hyperbolic_parts(const int fused, double x)
{
    const dgv_reduced y = dgv_reduce_by_ln2(fused, dgv_clamp(fabs(x), 0.0, 712.0));
    const double z = y.r * y.r, least = -3.0 - (y.n > 100.0 ? 100.0 : y.n);
    const double large = dgv_power_of_two(y.rounded - 3.0), small = dgv_power_of_two(least + DG_ROUNDER);
    return (dgv_hyperbolic){y.n, large + small, large - small,
                           y.r + DG_MADD(y.r * z, DG_POLYNOMIAL(dgv_sinh_terms, z), y.tail),
                           z * DG_POLYNOMIAL(dgv_cosh_terms, z)};
}

DG_INLINE double dgv_sinh(const int fused, double x)
{
    const dgv_hyperbolic h = dgv_hyperbolic_parts(fused, x);
    const double all = 4.0 * (h.b + DG_MADD(h.b, h.cosh_minus_1, h.a * h.sinh));
    return copysign(h.n == 0 ? h.sinh : all, x);
}

DG_INLINE double dgv_cosh(const int fused, double x)
{
    const dgv_hyperbolic h = dgv_hyperbolic_parts(fused, x);
    return 4.0 * (h.a + DG_MADD(h.a, h.cosh_minus_1, h.b * h.sinh));
}

/* Both tails of the logistic function from one exponential of -|x|: nothing overflows, nothing cancels. */
DG_INLINE double dgv_sigmoid(const int fused, double x)
{
    const double e = dgv_exp(fused, -fabs(x));
    return (x < 0 ? e : 1.0) / (1.0 + e);
}

/* sech(x)^2 = 4 e / (1 + e)^2 with e = exp(-2|x|); 1 - tanh(x)^2 has no correct digit left at x = 20. */
DG_INLINE double dgv_sech2(const int fused, double x)
{
    const double e = dgv_exp(fused, -2.0 * fabs(x));
    return 4.0 * e / DG_MADD(e, 2.0 + e, 1.0);
}

/* (1 - e) / (1 + e) with e = exp(-2|x|) = u + u p. The effect of the rounding errors of numerator and denominator
 * is added at the end, with a rough 1 / (1 + e). */
DG_INLINE double dgv_tanh(const int fused, double x)
{
    const dgv_reduced y = dgv_reduce_by_ln2(fused, -2.0 * dgv_clamp(fabs(x), 0.0, 22.0));
    const double rest = dgv_exp_rest(fused, y.r) + y.tail, p = y.r + rest, p_tail = (y.r - p) + rest;
    const double u = dgv_power_of_two(y.rounded), up = u * p, up_tail = u * p_tail;
    const double top = (1.0 - u) - up, top_tail = (((1.0 - u) - top) - up) - up_tail;
    const double bottom = (1.0 + u) + up, bottom_tail = (((1.0 + u) - bottom) + up) + up_tail;
    const double t = top / bottom;
    return copysign(t + (top_tail - t * bottom_tail) * (1.5 - 0.5 * bottom), x);
}

#endif
