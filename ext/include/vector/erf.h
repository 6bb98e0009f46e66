/* The error function and its complement, for loops that become vector code; see vector/registers.h. */
#ifndef DG_VECTOR_ERF_H
#define DG_VECTOR_ERF_H

#include "vector/exp.h"

/* erf(x) / x - 1, in x^2, |x| <= 1 */
static const double dgv_erf_terms[] = {
    0.12837916709551256, -0.3761263890318352, 0.11283791670944186, -0.02686617064311159, 0.0052239776061191925,
    -0.0008548325929337175, 0.00012055293577292792, -1.4924712304983726e-05, 1.644713156008381e-06,
    -1.6206313353603884e-07, 1.3710977426754569e-08, -7.779460911463882e-10};

/* -log(1 - erf(x)), in x - 1, 1 <= x <= 6 */
static const double dgv_erf_exponent_terms[] = {
    1.8496055099332482, 2.6389675142347775, 0.8431072563593297, 0.04156109802669401, -0.01003382519525145,
    0.0019779013113545335, -0.00023731679974595208, -2.6295378620405676e-05, 2.7197236694206258e-05,
    -9.669086712298225e-06, 2.129733674905666e-06, -2.0325306377249078e-07, -5.881637719572376e-08,
    3.369049629271278e-08, -8.59660469548185e-09, 1.3325124967930147e-09, -1.20697918215e-10,
    4.928020112461087e-12};

/* (2 x + 1) exp(x^2) erfc(x), in (x - 4) / (x + 4), 1/2 <= x <= 28; without the first term, 1.2329951186255526 */
static const double dgv_erfc_terms[] = {
    -0.1396211168405625, 0.015379652102618909, 0.06809705425468973, -0.10103906603624603, 0.09373283499847426,
    -0.0663303658138008, 0.03716751553502615, -0.016197734035835, 0.0050319700050890865, -0.0007577734659823014,
    -0.00019925687876926848, 0.00015062256937449798, -2.4398401917143266e-05, -1.1224927806999804e-05,
    5.707347895193938e-06, 2.9986704557712757e-07, -8.207905458236208e-07, 6.675551400522714e-08,
    1.0432592948197355e-07, -1.212503651077541e-08, -1.0031780583294147e-08};

/* exp(-(a + b)^2) with an a of 26 bits: a^2 is exact, and the rest of the square is subtracted after the reduction. The rounding
 * of x^2 alone would cost 360 units of the last place at x = 27. */
DG_INLINE double dgv_gauss(const int fused, double x)
{
    const double size = dgv_clamp(fabs(x), 0.0, 28.0), a = dgv_number(dgv_bits(size) & ~DG_HALF_OF_BITS);
    const dgv_reduced y = dgv_reduce_by_ln2(fused, -a * a);
    const double more = (size - a) * (size + a), r = y.r - more, tail = ((y.r - r) - more) + y.tail;
    return dgv_scale(1.0 + (r + (dgv_exp_rest(fused, r) + tail)), y.rounded);
}

DG_INLINE double dgv_erf_inner(const int fused, double x)
{
    return DG_MADD(x, DG_POLYNOMIAL(dgv_erf_terms, x * x), x);
}

DG_INLINE double dgv_erf(const int fused, double x)
{
    const double a = dgv_clamp(fabs(x), 0.0, 6.0);
    const dgv_reduced y = dgv_reduce_by_ln2(fused, -DG_POLYNOMIAL(dgv_erf_exponent_terms, a - 1.0));
    const double power = dgv_power_of_two(y.rounded);
    const double outer = (1.0 - power) - power * (y.r + dgv_exp_rest(fused, y.r));
    return copysign(a < 1.0 ? dgv_erf_inner(fused, a) : outer, x);
}

/* For a + b with an a of 26 bits: exp(-a^2) (F(a) - 2 / sqrt(pi) (b - a b^2 + (2 a^2 - 1) b^3 / 3)), F the scaled function. So
 * neither the square nor the argument of F is rounded. The numerator of F, from 1.1 to 1.3, is formed with its rounding error.
 * Next to 0 it is 1 - erf(x). */
DG_INLINE double dgv_erfc(const int fused, double x)
{
    const double size = dgv_clamp(fabs(x), 0.0, 28.0), a = dgv_number(dgv_bits(size) & ~DG_HALF_OF_BITS), b = size - a;
    const double square = a * a, third = DG_MADD(square, 2.0, -1.0) * (b * b) * (1.0 / 3.0);
    const double t = (a - 4.0) / (a + 4.0), first = 1.2329951186255526, others = t * DG_POLYNOMIAL(dgv_erfc_terms, t);
    const double top = first + others, top_tail = (first - top) + others, scaled = top / (2.0 * a + 1.0);
    const double small = DG_MADD(top_tail * 0.84, scaled, -1.1283791670955126 * b * (1.0 - a * b + third));
    const dgv_reduced y = dgv_reduce_by_ln2(fused, -square);
    const double p = y.r + (dgv_exp_rest(fused, y.r) + y.tail);
    const double c = dgv_scale(scaled + DG_MADD(scaled, p, DG_MADD(small, p, small)), y.rounded);
    const double outer = x < 0 ? 2.0 - c : c;
    return fabs(x) < 0.5 ? 1.0 - dgv_erf_inner(fused, x) : outer;
}

#endif
