/* Scalar functions for which a textbook formula would overflow, cancel or lose digits of its argument.
 *
 * Functions that need not be fast exist for double only; kernels for float convert. None uses fused multiply-add, so
 * results are the same on every machine.
 */
#ifndef DG_FUNCTIONS_H
#define DG_FUNCTIONS_H

#include <math.h>
#include <stdint.h>

#include "vector/compiler.h"

/* exp(r) * 2^k for |r| <= ln2 / 2, without branches so that the compiler vectorises it. 2^k is applied in two halves so
 * that subnormal results are right. */
DG_INLINE double dg_exp_scaled(double r, int64_t k)
{
    union { double f; uint64_t i; } lo, hi;
    const int64_t half = ((k + 2048) >> 1) - 1024;      /* the shifted number is not negative */
    double p;
    p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r * r + r + 1.0;
    lo.i = (uint64_t)(half + 1023) << 52;       /* unsigned: where x is nan, k is any number */
    hi.i = (uint64_t)(k - half + 1023) << 52;
    return p * lo.f * hi.f;
}

/* The nearest integer, as a double and as an integer, for |x| < 2^51: adding the magic number rounds x and puts the
 * integer into the low bits. */
DG_INLINE double dg_nearest(double x, int64_t *k)
{
    const double magic = 0x1.8p52;
    union { double f; int64_t i; } t, m;
    m.f = magic;
    t.f = x + magic;
    *k = t.i - m.i;
    return t.f - magic;
}

/* exp(x + tail) for x <= 0 and a tail as small as the rounding of x. x = n ln2 + r with n ln2 in two parts (Cody and Waite).
 * Error at most 1.5 ULP; exp(nan) is nan, exp(-inf) is 0. */
DG_INLINE double dg_exp_negative_with_tail(double x, double tail)
{
    int64_t k;
    double n;
    tail = x < -746.0 ? 0.0 : tail;
    x = x < -746.0 ? -746.0 : x;
    n = dg_nearest(x * 1.4426950408889634074, &k);
    return dg_exp_scaled(((x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10) + tail, k);
}

/* 2^(x + tail) under the same conditions. */
DG_INLINE double dg_exp2_negative_with_tail(double x, double tail)
{
    int64_t k;
    double n;
    tail = x < -1080.0 ? 0.0 : tail;
    x = x < -1080.0 ? -1080.0 : x;
    n = dg_nearest(x, &k);
    return dg_exp_scaled(((x - n) + tail) * 0.69314718055994530942, k);
}

/* ------------------------------------------------------------------------------------------- unevaluated sums
 *
 * A number as the sum of a double and a much smaller one (Dekker, A floating-point technique for extending the
 * available precision, 1971): about 106 bits. */
typedef struct { double high, low; } dg_pair;

DG_INLINE dg_pair dg_sum(double a, double b)
{
    const double s = a + b, t = s - a;
    return (dg_pair){s, (a - (s - t)) + (b - t)};
}

DG_INLINE dg_pair dg_product(double a, double b)
{
    const double s = 134217729.0 * a, t = 134217729.0 * b, p = a * b;      /* 2^27 + 1 splits 53 bits */
    const double ah = s - (s - a), bh = t - (t - b), al = a - ah, bl = b - bh;
    return (dg_pair){p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

DG_INLINE dg_pair dg_pair_add(dg_pair a, dg_pair b)
{
    const dg_pair s = dg_sum(a.high, b.high), t = dg_sum(a.low, b.low), u = dg_sum(s.high, s.low + t.high);
    return dg_sum(u.high, u.low + t.low);
}

DG_INLINE dg_pair dg_pair_mul(dg_pair a, dg_pair b)
{
    const dg_pair p = dg_product(a.high, b.high);
    return dg_sum(p.high, p.low + (a.high * b.low + a.low * b.high));
}

DG_INLINE dg_pair dg_pair_div(dg_pair a, double b)
{
    const double q = a.high / b;
    const dg_pair p = dg_product(q, b);
    return dg_sum(q, ((a.high - p.high) - p.low + a.low) / b);
}

/* ----------------------------------------------------------------------------------- arguments with a rounding error */

/* x - y with its rounding error; 0 for equal infinities too. */
DG_INLINE dg_pair dg_difference(double x, double y)
{
    const dg_pair d = dg_sum(x, -y);
    if (x == y) return (dg_pair){0.0, 0.0};
    return (dg_pair){d.high, fabs(d.high) < INFINITY ? d.low : 0.0};
}

/* e to the power -|x - y|, and 2. */
DG_INLINE double dg_exp_distance(double x, double y)
{
    const dg_pair d = dg_difference(x, y);
    return dg_exp_negative_with_tail(-fabs(d.high), d.high > 0 ? -d.low : d.low);
}
DG_INLINE double dg_exp2_distance(double x, double y)
{
    const dg_pair d = dg_difference(x, y);
    return dg_exp2_negative_with_tail(-fabs(d.high), d.high > 0 ? -d.low : d.low);
}

/* e / (1 + e)^2, the product of both tails of the logistic function. */
DG_INLINE double dg_tails(double e) { return e / (1.0 + e * (2.0 + e)); }

/* 1 / (1 + base^(y - x)), from e = base^-|x - y|. */
DG_INLINE double dg_share(double x, double y, double e) { return (x >= y ? 1.0 : e) / (1.0 + e); }

/* x * 2^y, even if 2^y overflows or underflows. */
static inline double dg_ldexp(double x, double y)
{
    int e;
    const double limited = y > 5000.0 ? 5000.0 : (y < -5000.0 ? -5000.0 : y), n = rint(limited);
    const double m = frexp(x, &e);
    if (!(fabs(x) < INFINITY) || !(fabs(y) < INFINITY)) return x * exp2(y);
    if (x == 0) return x;
    return ldexp(limited == n ? m : m * exp2(limited - n), e + (int)n);
}

/* --------------------------------------------------------------------------------------------- sin(pi x) / (pi x)
 *
 * The reduction of the argument to |r| <= 1/2 or 1/4 is exact, so sinc is exactly 0 at all whole numbers but 0. */
static const dg_pair dg_pi = {3.14159265358979311600e+00, 1.22464679914735317636e-16};
static const dg_pair dg_one_over_pi = {3.18309886183790691216e-01, -1.96786766751824869e-17};

static inline double dg_sinc(double x)
{
    const double n = rint(x), s = sin(dg_pi.high * (x - n));
    if (x == n) return x == 0;                      /* at infinity the limit, 0 */
    return (fmod(n, 2.0) != 0 ? -s : s) / (dg_pi.high * x);
}

/* sin(pi x + k pi/2) as a pair, by the power series of the sine or the cosine. */
static dg_pair dg_sin_pi(double x, int k)
{
    const double n = rint(2.0 * x);
    const int quadrant = ((int)fmod(n, 4.0) + 4 + k) & 3, is_cosine = quadrant & 1;
    const dg_pair z = dg_pair_mul(dg_pi, (dg_pair){x - 0.5 * n, 0.0}), w = dg_pair_mul(z, z), one = {1.0, 0.0};
    dg_pair s = one;
    for (int m = is_cosine ? 28 : 27; m > 1; m -= 2)
        s = dg_pair_add(one, dg_pair_div(dg_pair_mul(s, w), -(double)m * (m - 1)));
    if (!is_cosine) s = dg_pair_mul(s, z);
    return quadrant & 2 ? (dg_pair){-s.high, -s.low} : s;
}

/* The derivative T_k of sinc, of any order. From x sinc(x) = sin(pi x) / pi follows
 * x T_k + k T_(k-1) = pi^(k-1) sin(pi x + k pi/2). Used upwards this loses a factor k! / (pi x)^k, which is
 * nothing for pi x > k; below that the power series is used. Pairs keep digits near the zeros of a derivative. */
static double dg_sinc_derivative(double order, double x)
{
    const int k = order > 500.0 ? 500 : (order >= 0.5 ? (int)rint(order) : 0);
    const double a = fabs(x), sign = (k & 1) && x < 0 ? -1.0 : 1.0;
    dg_pair t, power = {1.0, 0.0}, sine[2];
    if (!(a < INFINITY)) return x != x ? x : 0.0;
    if (dg_pi.high * a <= 1.0 || dg_pi.high * a <= k) {
        const dg_pair z = dg_pair_mul(dg_pi, (dg_pair){a, 0.0}), w = dg_pair_mul(z, z);
        dg_pair term = {((k + 1) / 2) & 1 ? -1.0 : 1.0, 0.0};
        int j = k & 1;                              /* the power of z, which is left out where it is 1 */
        t = dg_pair_div(term, j + k + 1);
        for (; fabs(term.high) > 1e-34 * fabs(t.high) && j < 4000; j += 2) {
            term = dg_pair_div(dg_pair_mul(term, w), -(double)(j + 1) * (j + 2));
            t = dg_pair_add(t, dg_pair_div(term, j + k + 3));
        }
        for (int i = 0; i < k + (k & 1); ++i) power = dg_pair_mul(power, dg_pi);
        t = dg_pair_mul(t, power);
        return sign * (k & 1 ? t.high * a : t.high);
    }
    if (a >= 0x1p60) {                              /* x is a whole number; its product with pi may overflow */
        double d = 0.0, p = 1.0;
        for (int i = 1; i <= k; ++i, p *= dg_pi.high) d = ((i & 1 ? (i & 2 ? -p : p) : 0.0) - i * d) / a;
        return sign * d;
    }
    sine[0] = dg_sin_pi(a, 0);
    sine[1] = dg_sin_pi(a, 1);
    t = dg_pair_mul(dg_pair_div(sine[0], a), dg_one_over_pi);
    for (int i = 1; i <= k; ++i) {
        const double turn = i & 2 ? -1.0 : 1.0;
        dg_pair s = dg_pair_mul(power, sine[i & 1]);
        s.high *= turn;
        s.low *= turn;
        t = dg_pair_div(dg_pair_add(s, dg_pair_mul(t, (dg_pair){-(double)i, 0.0})), a);
        power = dg_pair_mul(power, dg_pi);
    }
    return sign * t.high;
}

#endif
