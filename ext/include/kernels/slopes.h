/* Scalar kernels of slopes for which a formula of other primitives would cancel or overflow.
 *
 * Two operands are a point x + iy of the plane. Squares of its coordinates overflow from 1e154 on and vanish below
 * 1e-162, so the float64 kernels scale the point by a power of two. The float32 kernels compute in float64, where no
 * square overflows, and round once. At the origin every slope is 0 by convention, like the slope of a norm.
 */
#ifndef DG_SLOPES_H
#define DG_SLOPES_H

#include <float.h>
#include "kernels/functions.h"

/* A factor that moves the square of the larger coordinate away from both ends of the range. Large numbers are scaled down
 * no more than necessary, since the other coordinate loses digits. */
DG_INLINE double dg_scale(double x, double y)
{
    const double a = fabs(x), b = fabs(y), m = a > b ? a : b;
    return m > 0x1p511 ? 0x1p-513 : (m < 0x1p-500 ? 0x1p700 : 1.0);
}

/* x / (x*x + y*y): the real part of 1 / (x + iy). */
DG_INLINE double dg_inversion_d(double x, double y)
{
    const double s = dg_scale(x, y), a = x * s, b = y * s, q = a * a + b * b;
    return ((q == 0) | (q > DBL_MAX)) ? 0.0 : a / q * s;
}
DG_INLINE float dg_inversion_f(float x, float y)
{
    const double a = x, b = y, q = a * a + b * b;
    return (float)(((q == 0) | (q > DBL_MAX)) ? 0.0 : a / q);
}
#define dg_inversion(x, y) _Generic((x), float: dg_inversion_f, default: dg_inversion_d)(x, y)

/* x / hypot(x, y): the cosine of the angle. A finite coordinate counts as 0 beside an infinite one. */
DG_INLINE double dg_direction_d(double x, double y)
{
    const int far_x = fabs(x) > DBL_MAX, far_y = fabs(y) > DBL_MAX;
    const double u = far_x ? copysign(1.0, x) : (far_y ? 0.0 * x : x), v = far_y ? 1.0 : (far_x ? 0.0 * y : y);
    const double s = dg_scale(u, v), a = u * s, b = v * s, q = a * a + b * b;
    return q == 0 ? 0.0 : a / sqrt(q);
}
DG_INLINE float dg_direction_f(float x, float y)
{
    return (float)dg_direction_d(x, y);
}
#define dg_direction(x, y) _Generic((x), float: dg_direction_f, default: dg_direction_d)(x, y)

/* Derivatives of a function of two operands are numbered along the diagonals of the table of orders: the derivative of
 * total order n, with order j by y, is number n (n + 1) / 2 + j. One more derivative by x adds n + 1, one by y adds n + 2. */
DG_INLINE double dg_order_of(double number)
{
    return number < 0 ? 0.0 : floor((sqrt(8.0 * floor(number) + 1.0) - 1.0) / 2.0);
}

#define DG_MOST_ORDERS 170              /* the factorial of a higher one overflows */

/* Derivatives of r = hypot(x, y) and of the angle t with ordinate x and abscissa y. Each is a homogeneous polynomial
 * with whole coefficients over a power of r:
 *
 *     d/dx  x^p y^q / r^m  =  (p x^(p-1) y^(q+2) + (p - m) x^(p+1) y^q) / r^(m+2)
 *
 * starting from r = 1 / r^(-1), or dt/dx = y / r^2 and dt/dy = -x / r^2. It is evaluated in the ratio of the
 * coordinates, without its lowest power and without powers of two. So nothing overflows or vanishes unless the result
 * does. */
static double dg_plane_partial(double x, double y, double number, int angle)
{
    double rows[2][DG_MOST_ORDERS + 4], *a = rows[0], *b = rows[1], *swap;
    const int n = (int)fmin(dg_order_of(number), DG_MOST_ORDERS + 1.0), j = (int)(floor(number) - 0.5 * n * (n + 1.0));
    const int wide = fabs(y) > fabs(x);
    const double big = wide ? y : x, small = wide ? x : y;
    int by_x = n - j, by_y = j, degree = 0, m = -1, e, d, k, lowest;
    double f, g, ratio, sum = 0.0, scale;
    if (x != x || y != y) return x + y;
    if (n > DG_MOST_ORDERS) return NAN;
    if (big == 0 || fabs(big) > DBL_MAX) return 0.0;
    a[0] = 1.0;
    if (angle) {
        a[0] = by_x ? 1.0 : 0.0;
        a[1] = by_x ? 0.0 : -1.0;
        if (by_x) --by_x; else --by_y;
        degree = 1;
        m = 2;
    }
    for (; by_x + by_y > 0; ++degree, m += 2) {
        for (k = 0; k <= degree + 2; ++k) b[k] = 0.0;
        for (k = 0; k <= degree; ++k) {
            if (by_x) {
                if (k) b[k - 1] += k * a[k];
                b[k + 1] += (k - m) * a[k];
            } else {
                if (k < degree) b[k + 2] += (degree - k) * a[k];
                b[k] += (degree - k - m) * a[k];
            }
        }
        if (by_x) --by_x; else --by_y;
        swap = a;
        a = b;
        b = swap;
    }
    /* a[k] belongs to x^k y^(degree - k) */
    f = fabs(frexp(big, &e));
    g = frexp(small, &d);
    ratio = (big < 0 ? -g : g) / f;
#define DG_COEFFICIENT(k) a[wide ? (k) : degree - (k)]
    for (lowest = 0; lowest < degree && DG_COEFFICIENT(lowest) == 0; ++lowest) {}
    scale = pow(f, degree - m) * pow(ratio, lowest);
    ratio = ldexp(ratio, d - e);
    for (k = degree; k >= lowest; --k) sum = sum * ratio + DG_COEFFICIENT(k);
#undef DG_COEFFICIENT
    scale *= pow(fma(ratio, ratio, 1.0), -0.5 * m);
    if (big < 0 && degree % 2) sum = -sum;
    return ldexp(sum * scale, e * (degree - m) + (d - e) * lowest);
}
DG_INLINE double dg_hypot_partial(double x, double y, double number) { return dg_plane_partial(x, y, number, 0); }
DG_INLINE double dg_atan2_partial(double x, double y, double number) { return dg_plane_partial(x, y, number, 1); }

/* Derivatives of x^y, numbered in the same way. With order i by x and j by y it is x^(y-i) times a polynomial in log x. d/dx
 * gives its coefficients one order after the other:
 *
 *     d/dx  x^(y-k) log(x)^l  =  x^(y-k-1) ((y - k) log(x)^l + l log(x)^(l-1))
 *
 * At 0 a derivative by x is the polynomial's, one by y is 0; below 0 one by y is nan. */
static double dg_pow_partial(double x, double y, double number)
{
    double a[DG_MOST_ORDERS + 2], sum = 0.0, exponent, back, lost, p, l = 0.0;
    const int n = (int)fmin(dg_order_of(number), 1e6), j = (int)(floor(number) - 0.5 * n * (n + 1.0));
    const int i = n - j;
    int k, m;
    if (j > DG_MOST_ORDERS) return NAN;
    if (j && x == 0) return 0.0;
    for (k = 0; k < j; ++k) a[k] = 0.0;
    a[j] = 1.0;
    for (m = 0; m < i; ++m)
        for (k = 0; k <= j; ++k) a[k] = (y - m) * a[k] + (k < j ? (k + 1) * a[k + 1] : 0.0);
    /* y - i in two parts: its rounding error counts times log x, up to 745 units in the last place */
    exponent = y - i;
    back = exponent - y;
    lost = (y - (exponent - back)) - (i + back);
    if (lost != lost) lost = 0.0;
    if (j) l = log(x);
    else if (lost != 0 || fabs(y) > 0x1p100) l = log(fabs(x));
    if (fabs(y) > 0x1p100 && fabs(l) > 0)           /* the power is 0 or infinite; only the sign of y^i log(x)^j counts */
        sum = (i % 2 && y < 0 ? -1.0 : 1.0) * (j % 2 && l < 0 ? -1.0 : 1.0);
    else if (j && l == 0)
        sum = a[0];
    else
        for (k = j; k >= 0; --k) sum = sum * l + a[k];
    if (sum == 0) return 0.0;
    p = pow(x, exponent);
    if (x == 0 || lost == 0) l = 0.0;
    if ((p >= DBL_MIN) & (p <= DBL_MAX)) return sum * p * (1.0 + lost * l);
    if ((x > 0) & (x <= DBL_MAX) & (fabs(exponent) <= DBL_MAX)) {   /* the sum may bring the result back into range */
        p = pow(x, exponent / 2);
        if ((p >= DBL_MIN) & (p <= DBL_MAX)) return sum * p * p * (1.0 + lost * l);
        p = pow(x, exponent / 8);
        for (k = 0; k < 8; ++k) sum *= p;
        return sum;
    }
    return sum * p;
}

#endif
