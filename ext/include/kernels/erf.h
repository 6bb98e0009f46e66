/* Inverses of the error function, and their slopes.
 *
 * Both inverses use one routine for each half: a rough start, then two steps of third order. Near +-1 the start uses
 * the tail q = 1 - |x|. The steps solve log erfc(y) = log q, which is nearly a parabola in y. So the result is as
 * accurate as erfc, even for q = 1e-300.
 *
 * The slope sqrt(pi)/2 exp(y*y) multiplies the relative error of y by 2 y*y: 70 next to +-1, 1400 for q = 1e-300. So the
 * rounding error of the last step of y goes into the slope.
 */
#ifndef DG_ERF_H
#define DG_ERF_H

#include <math.h>
#include "vector/erf.h"

#define DG_HALF_SQRT_PI 0.88622692545275801365
#define DG_HALF_SQRT_PI_REST -4.3254e-17 /* its rounding error, relative to it */

/* The value and slope of an inverse at one point; the slope is always positive. */
typedef struct { double y, slope; } dg_inverse;

/* sqrt(pi)/2 exp((y + off)^2): the square is taken in two parts, and so is the factor. */
static double dg_exp_square(double y, double off)
{
    const double high = y * y, rest = fma(y, y, -high) + 2.0 * y * off + DG_HALF_SQRT_PI_REST;
    const double power = DG_HALF_SQRT_PI * exp(high);
    return power + power * rest;
}

/* The middle, |x| <= 1/2. */
static dg_inverse dg_erfinv_middle(double x)
{
    const double s = x * x;
    dg_inverse r;
    double y, step, lost = 0.0;
    r.y = x * (0.886284454600932 + s * (0.227915571266271 + s * 0.168605826784370));
    for (int k = 0; k < 2; ++k) {
        y = r.y;
        step = (x - erf(y)) * DG_HALF_SQRT_PI * exp(y * y);
        step /= 1.0 - y * step;
        r.y = y + step;
        lost = (y - r.y) + step;
    }
    r.slope = dg_exp_square(r.y, lost);
    return r;
}

/* exp(y*y) erfc(y) for y > 8, by its asymptotic series. */
static double dg_erfcx_large(double y)
{
    const double z = 0.5 / (y * y);
    double sum = 1.0;
    for (int k = 41; k >= 1; k -= 2)
        sum = 1.0 - k * z * sum;
    return sum / (2.0 * DG_HALF_SQRT_PI * y);
}

/* The y > 0 with erfc(y) = q, 0 < q <= 1/2. */
static dg_inverse dg_erfc_tail(double q)
{
    const double t = log(q), s = sqrt(-t), z = 1.0 / s;
    double y, e, m, off, step, lost = 0.0;
    dg_inverse r;
    r.y = s * (1.002126680838409 + z * (-0.086164060377346 + z * (-0.929646307566914
          + z * (1.137777124963007 + z * (-0.626393336573586 + z * 0.139057106756070)))));
    for (int k = 0; k < 2; ++k) {       /* off: log(erfc(y) / q); m: -d log erfc(y) / dy */
        y = r.y;
        if (y > 10.0) {
            e = dg_erfcx_large(y);
            off = log(e) - t - y * y;
            m = 1.0 / (DG_HALF_SQRT_PI * e);
        } else {
            e = dgv_erfc(0, y);
            off = log1p((e - q) / q);
            m = exp(-y * y) / (DG_HALF_SQRT_PI * e);
        }
        step = off / m;
        step -= 0.5 * (m - 2.0 * y) * step * step;
        r.y = y + step;
        lost = (y - r.y) + step;
    }
    if (r.y > 10.0)         /* exp(y*y) = exp(y*y) erfc(y) / q hardly depends on y */
        r.slope = DG_HALF_SQRT_PI * dg_erfcx_large(r.y) / q;
    else
        r.slope = dg_exp_square(r.y, lost);
    return r;
}

static dg_inverse dg_inverse_of_erf(double x)
{
    const double q = 1.0 - fabs(x);
    dg_inverse r;
    if (!(q > 0.0)) {
        r.y = q == 0.0 ? copysign(INFINITY, x) : NAN;
        r.slope = q == 0.0 ? INFINITY : NAN;
        return r;
    }
    if (q >= 0.5)
        return dg_erfinv_middle(x);
    r = dg_erfc_tail(q);
    r.y = copysign(r.y, x);
    return r;
}

static dg_inverse dg_inverse_of_erfc(double x)
{
    if (x > 0.0 && x < 0.5)
        return dg_erfc_tail(x);
    dg_inverse r = x == 0.0 ? dg_inverse_of_erf(1.0) : dg_inverse_of_erf(1.0 - x);
    return r;
}

#define dg_erfinv(x) dg_inverse_of_erf((double)(x)).y
#define dg_erfinv_slope(x) dg_inverse_of_erf((double)(x)).slope
#define dg_erfcinv(x) dg_inverse_of_erfc((double)(x)).y
#define dg_erfcinv_slope(x) (-dg_inverse_of_erfc((double)(x)).slope)

#endif
