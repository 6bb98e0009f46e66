/* The incomplete gamma function P(a, x), its density, and all their derivatives by a.
 *
 * With the density f(a, t) = t^(a-1) exp(-t) / Gamma(a), the n-th derivative by a is f times the n-th complete Bell
 * polynomial of u = log t - digamma(a), -digamma'(a), -digamma''(a), ... So the derivative of P is one integral over t
 * < x, or minus that over t > x. The smaller side is used; either is accurate far into its tail. The variable is w =
 * |log(t / x)|, mapped by w = c exp(v - exp(-v)). So the integrand falls doubly exponentially and the trapezoidal rule
 * converges as fast.
 *
 * For a < 1 the polynomial would cancel against 1 / Gamma(a), which vanishes at 0; there f(a, t) = a t^(a-1) exp(-t) /
 * Gamma(a + 1) is differentiated as a product, and P(a, x) = f(a + 1, x) + P(a + 1, x).
 */
#ifndef DG_IGAMMA_H
#define DG_IGAMMA_H

#include "kernels/gamma.h"

enum { DG_IGAMMA_ORDERS = 24 };     /* the highest derivative by a; nan above */

/* The arguments of Bell polynomials that do not depend on t, and log(a) - digamma(a) for u. */
typedef struct { double cumulant[DG_IGAMMA_ORDERS + 1], shift; } dg_bell;

static dg_bell dg_bell_at(double a, int n)
{
    dg_bell b;
    for (int k = 2; k <= n; ++k)
        b.cumulant[k] = -dg_polygamma(k - 1, a);
    b.shift = a >= 8.0 ? dg_log_minus_digamma(a) : log(a) - dg_digamma(a);
    return b;
}

/* Complete Bell polynomials of order n and n - 1, by B_{m+1} = sum of C(m, k) B_{m-k} c_{k+1}. */
static void dg_bell_values(const dg_bell *b, int n, double u, double *last, double *one_less)
{
    double values[DG_IGAMMA_ORDERS + 2] = {0.0, 1.0}, choose, sum;      /* values[m + 1] is B_m */
    for (int m = 0; m < n; ++m) {
        sum = u * values[m + 1];
        choose = 1.0;
        for (int k = 1; k <= m; ++k) {
            choose = choose * (m - k + 1) / k;
            sum += choose * values[m - k + 1] * b->cumulant[k + 1];
        }
        values[m + 2] = sum;
    }
    *last = values[n + 1];
    *one_less = values[n];
}

/* log(x / a). */
static double dg_log_ratio(double x, double a)
{
    const double d = (x - a) / a;
    return d > -0.5 && d < 1.0 ? log1p(d) : log(x / a);
}

/* d - log(1 + d) for d = (x - a) / a, and exp(w) - 1 - w, both exact near 0. */
static double dg_log_gap(double x, double a)
{
    const double d = (x - a) / a;
    if (d < -0.3 || d > 0.5)
        return d - dg_log_ratio(x, a);
    const double r = d / (2.0 + d), s = r * r;
    double sum = 0.0;
    for (int k = 18; k >= 1; --k)
        sum = (sum + 1.0 / (2 * k + 1)) * s;
    return r * (d - 2.0 * sum);
}

static double dg_exp_gap(double w)
{
    if (fabs(w) > 0.5)
        return expm1(w) - w;
    double sum = 1.0;
    for (int k = 15; k >= 3; --k)
        sum = 1.0 + sum * w / k;
    return 0.5 * w * w * sum;
}

/* x^a exp(-x) / Gamma(a + 1). For large a it is exp(-a (d - log(1 + d))) with x = a (1 + d), times Stirling's series. The
 * exponent multiplies relative errors, so the factors are multiplied directly if they are in range. */
static double dg_gamma_bump(double a, double x)
{
    const double exponent = a * dg_log_gap(x, a);
    if (a < 8.0 || (exponent > 4.0 && a < 100.0 && x < 700.0))
        return pow(x, a) * exp(-x) / tgamma(a + 1.0);
    const double z = 1.0 / (a * a);
    double sum = 0.0;
    for (int k = 9; k >= 0; --k)
        sum = sum * z + DG_STIRLING[k] / (2 * k + 1);
    return exp(-exponent - sum / a) / sqrt(6.28318530717958647693 * a);
}

/* The n-th derivative by a of the density f(a, x); 0 for n < 0, which sums contain. */
static double dg_gamma_density(double order, double a, double x)
{
    const int n = (int)order;
    double last, less;
    if (!(order <= DG_IGAMMA_ORDERS) || !(a > -INFINITY) || !(x >= 0.0))
        return NAN;
    if (n < 0)
        return 0.0;
    if (!(a > 0.0))         /* only for the limits at 0 of slopes by x: f'(a, 0) = f(a - 1, 0) - f(a, 0) */
        return x > 0.0 || n > 0 ? NAN : a == floor(a) ? 0.0 : copysign(INFINITY, tgamma(a));
    if (x == 0.0) {         /* x^(a-1) log(x)^n */
        if (a > 1.0)
            return 0.0;
        if (a == 1.0 && n == 0)
            return 1.0;
        return n % 2 ? -INFINITY : INFINITY;
    }
    if (isinf(x))
        return 0.0;
    const int small = a < 1.0;
    const double b = small ? a + 1.0 : a;
    const dg_bell bell = dg_bell_at(b, n);
    dg_bell_values(&bell, n, dg_log_ratio(x, b) + bell.shift, &last, &less);
    return dg_gamma_bump(a, x) * (small ? a * last + n * less : a * last) / x;
}

/* The integral of the n-th derivative of the density over t < x (side -1) or t > x (side 1). */
static double dg_gamma_side(int n, double a, double x, int side)
{
    const int small = a < 1.0;
    const double b = small ? a + 1.0 : a, rate = side * (x - a);
    const dg_bell bell = dg_bell_at(b, n);
    const double u = dg_log_ratio(x, b) + bell.shift;
    const double scale = 1.0 / (fmax(rate, 0.0) + sqrt(x));
    const double h = 1.0 / 24.0;
    double sum = 0.0, lost = 0.0, v, w, term, next, last, less, fall;
    for (int j = -84; j < 200; ++j) {
        v = j * h;
        w = scale * exp(v - exp(-v));
        fall = rate * w + x * dg_exp_gap(side * w);
        if (fall > 745.0)
            break;
        dg_bell_values(&bell, n, u + side * w, &last, &less);
        term = (small ? a * last + n * less : a * last) * exp(-fall) * w * (1.0 + exp(-v));
        next = sum + term;
        lost += fabs(sum) >= fabs(term) ? (sum - next) + term : (term - next) + sum;
        sum = next;
    }
    return dg_gamma_bump(a, x) * (h * (sum + lost));
}

/* Q(a, x) for a < 1 and small x: 1 - x^a / Gamma(a + 1) is an expm1, so that no digit is lost if P is near 1. */
static double dg_igammac_small(double a, double x)
{
    double log_gamma = a * 0.42278433509846713939 - log1p(a);      /* log Gamma(1 + a); 1 - Euler's constant */
    double power = -a, term = 1.0, sum = 0.0, exponent;
    for (int k = 2; fabs(power) > 0x1p-70 && k < 60; ++k) {
        power *= -a;
        log_gamma += dg_zeta(k, 2.0) * power / k;
    }
    for (int k = 1; k < 20; ++k) {
        term *= -x / k;
        sum += term / (a + k);
    }
    exponent = a * log(x) - log_gamma;
    return -expm1(exponent) - exp(exponent) * a * sum;
}

/* The n-th derivative by a of P(a, x), or for upper = 1 of Q(a, x) = 1 - P(a, x). */
static double dg_igamma_order(double order, double a, double x, int upper)
{
    const int n = (int)order;
    double lower, last, less;
    if (!(order >= 0.0 && order <= DG_IGAMMA_ORDERS) || !(a > 0.0) || !(x >= 0.0))
        return NAN;
    if (x == 0.0 || isinf(x))
        return n == 0 && (x == 0.0) == upper ? 1.0 : 0.0;
    if (x >= fmax(a, 0.3)) {
        const double above = dg_gamma_side(n, a, x, 1);
        return upper ? above : n == 0 ? 1.0 - above : -above;
    }
    if (upper && n == 0 && a < 1.0 && x < 0.3)
        return dg_igammac_small(a, x);
    if (a < 1.0) {          /* the first term uses a itself, since a + 1 is rounded */
        const dg_bell bell = dg_bell_at(a + 1.0, n);
        dg_bell_values(&bell, n, dg_log_ratio(x, a + 1.0) + bell.shift, &last, &less);
        lower = dg_gamma_bump(a, x) * last + dg_gamma_side(n, a + 1.0, x, -1);
    } else {
        lower = dg_gamma_side(n, a, x, -1);
    }
    return !upper ? lower : n == 0 ? 1.0 - lower : -lower;
}

#define dg_igamma(a, x) dg_igamma_order(0.0, a, x, 0)
#define dg_igammac(a, x) dg_igamma_order(0.0, a, x, 1)
#define dg_igamma_by_a(n, a, x) dg_igamma_order(n, a, x, 0)

#endif
