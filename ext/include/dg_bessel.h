/* Bessel functions of whole order: n is rounded down, so that n - 1 and n + 1 are its neighbours.
 *
 * J and Y are the C library's. I is its power series, or the asymptotic one; K is an integral whose integrand falls doubly
 * exponentially, so that the trapezoidal rule converges as fast. In I and K all terms are positive, so every digit counts
 * at every argument. All are computed in double; float kernels round the result.
 */
#ifndef DG_BESSEL_H
#define DG_BESSEL_H

#include <math.h>

#ifdef _MSC_VER
#define dg_libm_j(n, x) _jn(n, x)
#define dg_libm_y(n, x) _yn(n, x)
#else
#define dg_libm_j(n, x) jn(n, x)
#define dg_libm_y(n, x) yn(n, x)
#endif

enum { DG_LARGEST_ORDER = 100000 };     /* the recurrences behind them take as many steps */

static double dg_bessel_j(double n, double x)
{
    return fabs(n) <= DG_LARGEST_ORDER ? dg_libm_j((int)floor(n), x) : NAN;
}

static double dg_bessel_y(double n, double x)
{
    if (!(fabs(n) <= DG_LARGEST_ORDER) || !(x >= 0.0))
        return NAN;
    return dg_libm_y((int)floor(n), x);
}

/* exp(-a) I_n(a), or I_n(a) itself, for a >= 0. */
static double dg_bessel_i_size(double n, double a, int scaled)
{
    double term = 1.0, sum = 1.0, lost = 0.0, first = 1.0, next, k;
    if (a > 20.0 && a > 0.5 * n * n) {  /* exp(a) / sqrt(2 pi a) (1 - (4n^2 - 1) / (8a) + ...) */
        for (k = 1.0; fabs(term) > 0x1p-56 && k < 60.0; ++k) {
            term *= ((2.0 * k - 1.0) * (2.0 * k - 1.0) - 4.0 * n * n) / (8.0 * k * a);
            lost += term;
        }
        sum = (1.0 + lost) * 0.39894228040143267794 / sqrt(a);
        if (scaled)
            return sum;
        return a < 700.0 ? exp(a) * sum : isinf(a) ? a : exp(0.5 * a) * sum * exp(0.5 * a);
    }
    /* (a/2)^n / n! (1 + q / (n+1) + q^2 / (2 (n+1) (n+2)) + ...), terms and sum each in two parts */
    const double q = 0.25 * a * a, q_low = 0.25 * fma(a, a, -a * a);
    double low = 0.0, product, d;
    for (k = 1.0; term > 0x1p-57 * sum; ++k) {
        d = k * (n + k);
        product = term * q;
        low = fma(term, q, -product) + term * q_low + low * q;
        term = product / d;
        low = (low + fma(-term, d, product)) / d;
        next = sum + term;
        lost += (sum - next) + term + low;
        sum = next;
    }
    sum += lost;
    if (n > 20.0)
        return a == 0.0 ? 0.0 : exp(n * log(0.5 * a) - lgamma(n + 1.0) + log(sum) - (scaled ? a : 0.0));
    for (k = 1.0; k <= n; ++k)
        first *= 0.5 * a / k;
    return scaled ? first * (sum * exp(-a)) : first * sum;
}

static double dg_bessel_i_signed(double order, double x, int scaled)
{
    const double n = fabs(floor(order));
    if (!(n <= DG_LARGEST_ORDER) || x != x)
        return NAN;
    const double size = dg_bessel_i_size(n, fabs(x), scaled);
    return x < 0.0 && fmod(n, 2.0) != 0.0 ? -size : size;
}
#define dg_bessel_i(n, x) dg_bessel_i_signed(n, x, 0)
#define dg_bessel_ie(n, x) dg_bessel_i_signed(n, x, 1)

/* 1/pi times the integral of v^k cos(m t) exp(-a v) over half a turn, v = 1 - cos t and m = 0 or 1: up to signs the k-th
 * derivative of exp(-a) I_m(a), without the cancellation of differences of such functions. The trapezoidal rule converges
 * at once, and for large a the asymptotic series does. */
static double dg_bessel_i_integral(double k, int m, double x)
{
    const double a = fabs(x);
    double sum = 0.0, lost = 0.0, term, next, v, s;
    if (!(k >= 0.0 && k <= DG_LARGEST_ORDER) || x != x)
        return NAN;
    if (a > 100.0 && a > k * k) {
        if (m == 1)         /* cos t = 1 - v */
            return dg_bessel_i_integral(k, 0, a) - dg_bessel_i_integral(k + 1.0, 0, a);
        term = 0.39894228040143267794 / sqrt(a);
        for (double j = 0.5; j < k; ++j)
            term *= j / a;
        for (double j = 0.0; term > 0x1p-57 * sum; ++j) {
            sum += term;
            term *= (2.0 * j + 1.0) / (4.0 * (j + 1.0)) * (k + j + 0.5) / a;
        }
        return sum;
    }
    const int points = 2 * (int)(12.0 + 0.5 * k + 4.5 * sqrt(a));
    for (int j = points; j >= 0; --j) {
        s = sin(1.57079632679489661923 * j / points);
        v = 2.0 * s * s;
        term = (m == 1 ? 1.0 - v : 1.0) * pow(v, k) * exp(-a * v) * (j == 0 || j == points ? 0.5 : 1.0);
        next = sum + term;
        lost += fabs(sum) >= fabs(term) ? (sum - next) + term : (term - next) + sum;
        sum = next;
    }
    return (sum + lost) / points;
}
#define dg_bessel_i0_decay(k, x) dg_bessel_i_integral(k, 0, x)
#define dg_bessel_i1_decay(k, x) dg_bessel_i_integral(k, 1, x)

/* exp(x) times the integral of v^k cosh(m t) exp(-x cosh t) over t > 0, v = cosh t - 1 and m = 0 or 1: up to its sign the
 * k-th derivative of exp(x) K_m(x). The steps are as long as the strip allows in which the integrand is regular. */
static double dg_bessel_k_integral(double k, int m, double x)
{
    double sum = k == 0.0 ? 0.5 : 0.0, lost = 0.0, h, term, next, s, v, fall;
    int j = 1, exponent;
    if (!(x > 0.0) || isinf(x) || !(k >= 0.0 && k <= DG_LARGEST_ORDER))
        return x == 0.0 ? INFINITY : isinf(x) && x > 0.0 ? 0.0 : NAN;
    h = frexp(1.0 / (5.0 + 0.25 * (k + m) + (1.5 + 0.05 * k) * sqrt(x)), &exponent);
    h = ldexp(floor(256.0 * h), exponent - 8);      /* a few bits, so that all multiples are exact */
    do {
        s = sinh(0.5 * h * j++);
        v = 2.0 * s * s;
        fall = 2.0 * (x * s) * s;
        term = exp(-fall);
        if (k != 0.0)
            term *= k == 1.0 ? v : pow(v, k);
        if (m == 1)
            term *= 1.0 + v;
        next = sum + term;
        if (isinf(next))
            return next;
        lost += (sum - next) + term;
        sum = next;
    } while (term > 0x1p-60 * sum || fall < k + 1.0);
    return h * (sum + lost);
}
#define dg_bessel_ke(n, x) dg_bessel_k_integral(0.0, n, x)
#define dg_bessel_k0_decay(k, x) dg_bessel_k_integral(k, 0, x)
#define dg_bessel_k1_decay(k, x) dg_bessel_k_integral(k, 1, x)

static double dg_bessel_k(double order, double x)
{
    const double n = fabs(floor(order));
    double low, high, next;
    if (!(n <= DG_LARGEST_ORDER) || !(x >= 0.0))
        return NAN;
    if (x == 0.0)
        return INFINITY;
    if (x > 800.0)
        return 0.0;
    low = exp(-x) * dg_bessel_k_integral(0.0, 0, x);
    if (n == 0.0)
        return low;
    high = exp(-x) * dg_bessel_k_integral(0.0, 1, x);
    for (double k = 1.0; k < n; ++k) {  /* upwards all terms are positive */
        next = low + 2.0 * k / x * high;
        low = high;
        high = next;
    }
    return high;
}

/* The k-th derivative by x of a function with f_n' = (f_{n-1} + sign f_{n+1}) / 2: the binomial sum of neighbours. */
static double dg_bessel_derivative(double (*f)(double, double), double sign, double k, double n, double x)
{
    double sum = 0.0, lost = 0.0, choose = 1.0, term, next;
    if (!(k >= 0.0 && k <= 500.0) || k != floor(k))
        return NAN;
    for (double j = 0.0; j <= k; ++j) {
        term = f(n - k + 2.0 * j, x) * choose;
        if (isinf(term))            /* the order furthest from 0 outgrows the others */
            return n >= 0.0 ? f(n + k, x) * pow(sign, k) : f(n - k, x);
        next = sum + term;
        lost += fabs(sum) >= fabs(term) ? (sum - next) + term : (term - next) + sum;
        sum = next;
        choose *= sign * (k - j) / (j + 1.0);
    }
    return ldexp(sum + lost, -(int)k);
}

static double dg_bessel_i_plain(double n, double x)
{
    return dg_bessel_i(n, x);
}
#define dg_bessel_j_derivative(k, n, x) dg_bessel_derivative(dg_bessel_j, -1.0, k, n, x)
#define dg_bessel_y_derivative(k, n, x) dg_bessel_derivative(dg_bessel_y, -1.0, k, n, x)
#define dg_bessel_i_derivative(k, n, x) dg_bessel_derivative(dg_bessel_i_plain, 1.0, k, n, x)
#define dg_bessel_k_derivative(k, n, x) dg_bessel_derivative(dg_bessel_k, 1.0, k, n, x) * (fmod(k, 2.0) == 0.0 ? 1.0 : -1.0)

#endif
