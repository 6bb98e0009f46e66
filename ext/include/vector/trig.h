/* Sine, cosine, tangent and its inverse, for loops that become vector code; see vector/registers.h.
 *
 * x = n pi/2 + r + tail with a whole n and |r| <= pi/4. pi/2 has three parts of 37, 37 and 53 bits. So for n below 2^16
 * the products of the first two are exact. The sum is accurate even if x is very close to a multiple of pi/2. Larger
 * arguments are left to the C library; the loop finds them by `dgv_is_far`.
 */
#ifndef DG_VECTOR_TRIG_H
#define DG_VECTOR_TRIG_H

#include "vector/registers.h"

#define DG_NEAR 1e5

/* (sin(r) / r - 1) / r^2 and (cos(r) - 1 + r^2 / 2) / r^4, in r^2 */
static const double dgv_sin_terms[] = {-0.16666666666666632, 0.008333333333322413, -0.00019841269829807528,
                                      2.755731369184724e-06, -2.5050758106970953e-08, 1.5896795289298557e-10};
static const double dgv_cos_terms[] = {0.0416666666666666, -0.0013888888888874125, 2.4801587289482967e-05,
                                      -2.7557314352532866e-07, 2.087572329787829e-09, -1.1359648978984292e-11};

typedef struct { double sin, cos; } dgv_circle;

DG_INLINE int dgv_is_far(double x) { return fabs(x) > DG_NEAR; }

/* Sine and cosine of r + tail, and n in the lowest bits. */
DG_INLINE dgv_circle dgv_quadrant(const int fused, double x, uint64_t *n)
{
    const double rounded = DG_MADD(x, 0x1.45f306dc9c883p-1, DG_ROUNDER), m = rounded - DG_ROUNDER;
    const double first = DG_MADD(m, -0x1.921fb5444p+0, x), r = DG_MADD(m, -0x1.68c234c4cp-39, first);
    const double tail = DG_MADD(m, -0x1.98a2e03707345p-77, DG_MADD(m, -0x1.68c234c4cp-39, first - r));
    const double z = r * r, half = 0.5 * z, w = 1.0 - half;
    *n = dgv_bits(rounded);
    return (dgv_circle){
        r + DG_MADD(r * z, DG_POLYNOMIAL(dgv_sin_terms, z), tail * w),
        w + (((1.0 - w) - half) + DG_MADD(z * z, DG_POLYNOMIAL(dgv_cos_terms, z), -r * tail))};
}

/* -x if n is in the lower half of the circle. */
DG_INLINE double dgv_turned(double x, uint64_t n) { return dgv_number(dgv_bits(x) ^ (n & 2) << 62); }

/* Both together cost little more than one, and are the same numbers. */
DG_INLINE dgv_circle dgv_sincos(const int fused, double x)
{
    uint64_t n;
    const dgv_circle c = dgv_quadrant(fused, x, &n);
    const double sine = dgv_turned(n & 1 ? c.cos : c.sin, n);
    return (dgv_circle){x == 0 ? x : sine, dgv_turned(n & 1 ? c.sin : c.cos, n + 1)};
}

DG_INLINE double dgv_sin(const int fused, double x) { return dgv_sincos(fused, x).sin; }
DG_INLINE double dgv_cos(const int fused, double x) { return dgv_sincos(fused, x).cos; }

DG_INLINE double dgv_tan(const int fused, double x)
{
    uint64_t n;
    const dgv_circle c = dgv_quadrant(fused, x, &n);
    const double y = (n & 1 ? -c.cos : c.sin) / (n & 1 ? c.sin : c.cos);
    return x == 0 ? x : y;
}

/* (atan(t) / t - 1) / t^2, in t^2, |t| <= 1/2 */
static const double dgv_atan_terms[] = {
    -0.33333333333333315, 0.19999999999993556, -0.1428571428498657, 0.11111111069729279, -0.09090907701232838,
    0.07692277625768931, -0.06666225347845091, 0.05877821864146531, -0.05230095968115742, 0.045897679082268265,
    -0.03712671424396541, 0.023666619071611064, -0.008373141469915461};

/* atan(x) = atan(q / p) + atan((p x - q) / (q x + p)); q / p is 0, 1 or infinite, so the first angle is a multiple of pi/4. */
DG_INLINE double dgv_atan(const int fused, double x)
{
    const double a = dgv_clamp(fabs(x), 0.0, 0x1p1000), p = a > 2.0 ? 0.0 : 1.0, q = a > 0.5 ? 1.0 : 0.0;
    const double t = (p * a - q) / (q * a + p), z = t * t;
    const double quarters = 1.0 + q - p, turn = quarters * 0x1.921fb54442d18p-1, sum = turn + t;
    const double rest = DG_MADD(t * z, DG_POLYNOMIAL(dgv_atan_terms, z), quarters * 0x1.1a62633145c07p-55);
    return copysign(sum + (((turn - sum) + t) + rest), x);
}

#endif
