/* Bessel functions of whole order: n is rounded down, so that n - 1 and n + 1 are its neighbours.
 *
 * J and Y are the C library's. I is its power series or the asymptotic one. K is an integral whose integrand falls doubly
 * exponentially, so that the trapezoidal rule converges as fast. In I and K all terms are positive, so no digit is lost at
 * any argument. All are computed in double; float kernels round the result.
 *
 * Derivatives are means of 2^k neighbours, which may overflow although their mean does not. So the last parameter of a
 * kernel is a power of two by which the result is multiplied before it can overflow.
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

enum { DG_LARGEST_ORDER = 100000 };     /* the recurrences take as many steps */

static double dg_bessel_j_times(double n, double x, int power)
{
    return fabs(n) <= DG_LARGEST_ORDER ? ldexp(dg_libm_j((int)floor(n), x), power) : NAN;
}
#define dg_bessel_j(n, x) dg_bessel_j_times(n, x, 0)

static double dg_bessel_y_times(double order, double x, int power)
{
    const double n = fabs(floor(order));
    double low, high, next, value;
    if (!(n <= DG_LARGEST_ORDER) || !(x >= 0.0))
        return NAN;
    value = dg_libm_y((int)floor(order), x);
    if (power == 0 || isfinite(value) || x == 0.0)
        return ldexp(value, power);
    low = dg_libm_y(0, x);
    high = dg_libm_y(1, x);
    for (double k = 1.0; k < n; ++k) {
        if (fabs(high) > 0x1p300) {
            low *= 0x1p-600;
            high *= 0x1p-600;
            power += 600;
        }
        next = 2.0 * k / x * high - low;
        if (isinf(next))
            return value;
        low = high;
        high = next;
    }
    return copysign(ldexp(high, power), value);
}
#define dg_bessel_y(n, x) dg_bessel_y_times(n, x, 0)

/* exp(-a) I_n(a), or 2^power I_n(a) itself, for a >= 0. */
static double dg_bessel_i_size(double n, double a, int scaled, int power)
{
    double term = 1.0, sum = 1.0, lost = 0.0, first = 1.0, next, k;
    int exponent;
    if (a > 20.0 && a > 0.5 * n * n) {  /* exp(a) / sqrt(2 pi a) (1 - (4n^2 - 1) / (8a) + ...) */
        for (k = 1.0; fabs(term) > 0x1p-56 && k < 60.0; ++k) {
            term *= ((2.0 * k - 1.0) * (2.0 * k - 1.0) - 4.0 * n * n) / (8.0 * k * a);
            lost += term;
        }
        sum = (1.0 + lost) * 0.39894228040143267794 / sqrt(a);
        if (scaled)
            return sum;
        sum = ldexp(sum, power);
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
        if (sum > 0x1p500) {
            sum *= 0x1p-500;
            lost *= 0x1p-500;
            term *= 0x1p-500;
            low *= 0x1p-500;
            power += 500;
        }
    }
    sum += lost;
    for (k = 1.0; k <= n; ++k) {
        first = frexp(first * (0.5 * a / k), &exponent);
        power += exponent;
    }
    return ldexp(scaled ? first * (sum * exp(-a)) : first * sum, power);
}

static double dg_bessel_i_signed(double order, double x, int scaled, int power)
{
    const double n = fabs(floor(order));
    if (!(n <= DG_LARGEST_ORDER) || x != x)
        return NAN;
    const double size = dg_bessel_i_size(n, fabs(x), scaled, power);
    return x < 0.0 && fmod(n, 2.0) != 0.0 ? -size : size;
}
#define dg_bessel_i(n, x) dg_bessel_i_signed(n, x, 0, 0)
#define dg_bessel_ie(n, x) dg_bessel_i_signed(n, x, 1, 0)

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
 * k-th derivative of exp(x) K_m(x). The steps are as long as the strip allows in which the integrand is regular. Powers of v
 * may overflow although the integrand does not, so the root of the integrand is squared. */
static double dg_bessel_k_integral(double k, int m, double x)
{
    const double unit = x < 1.0 ? 0x1p-20 : 1.0;    /* of the sum: for small x it is larger than the integral */
    double sum = k == 0.0 ? 0.5 * unit : 0.0, lost = 0.0, h, term, next, s, root, fall;
    int j = 1, exponent;
    if (!(x > 0.0) || isinf(x) || !(k >= 0.0 && k <= DG_LARGEST_ORDER))
        return x == 0.0 ? INFINITY : isinf(x) && x > 0.0 ? 0.0 : NAN;
    h = frexp(1.0 / (5.0 + 0.25 * (k + m) + (1.5 + 0.05 * k) * sqrt(x)), &exponent);
    h = ldexp(floor(256.0 * h), exponent - 8);      /* a few bits, so that all multiples are exact */
    do {
        s = sinh(0.5 * h * j++);                    /* v = 2 s^2 */
        fall = 2.0 * (x * s) * s;
        term = unit * exp(-fall);
        if (k == 1.0)
            term = 2.0 * (term * s) * s;
        else if (k != 0.0) {
            root = pow(2.0 * s * s, 0.5 * k) * exp(-0.5 * fall);
            term = unit * root * root;
        }
        if (m == 1)
            term += 2.0 * (term * s) * s;
        next = sum + term;
        if (isinf(next))
            return next;
        lost += (sum - next) + term;
        sum = next;
    } while (term > 0x1p-60 * sum || fall < k + 1.0);
    return h / unit * (sum + lost);
}
#define dg_bessel_ke(n, x) dg_bessel_k_integral(0.0, n, x)
#define dg_bessel_k0_decay(k, x) dg_bessel_k_integral(k, 0, x)
#define dg_bessel_k1_decay(k, x) dg_bessel_k_integral(k, 1, x)

static double dg_bessel_k_times(double order, double x, int power)
{
    const double n = fabs(floor(order));
    double low, high, next, part, low_rest = 0.0, high_rest = 0.0, rest, halvings;
    if (!(n <= DG_LARGEST_ORDER) || !(x >= 0.0))
        return NAN;
    if (x == 0.0)
        return INFINITY;
    if (x > 800.0 + n)
        return 0.0;
    low = dg_bessel_k_integral(0.0, 0, x);
    high = n == 0.0 ? low : dg_bessel_k_integral(0.0, 1, x);
    for (double k = 1.0; k < n; ++k) {  /* upwards all terms are positive; each value is in two parts */
        if (high > 0x1p300) {
            low *= 0x1p-600;
            low_rest *= 0x1p-600;
            high *= 0x1p-600;
            high_rest *= 0x1p-600;
            power += 600;
        }
        part = 2.0 * k * high;
        rest = fma(2.0 * k, high, -part) + 2.0 * k * high_rest;
        next = part / x;
        rest = (fma(-next, x, part) + rest) / x + low_rest;
        part = next;
        next += low;
        if (isinf(next))
            return next;
        rest += part >= low ? (part - next) + low : (low - next) + part;
        low = high;
        low_rest = high_rest;
        high = next;
        high_rest = rest;
    }
    high += high_rest;
    if (x < 700.0)
        return ldexp(exp(-x) * high, power);
    halvings = rint(x * 1.4426950408889634074);     /* below, exp(-x) would lose digits */
    x = (x - halvings * 6.93147180369123816490e-01) - halvings * 1.90821492927058770002e-10;
    return ldexp(exp(-x) * high, power - (int)halvings);
}
#define dg_bessel_k(n, x) dg_bessel_k_times(n, x, 0)

/* 2^power times the binomial sum of the neighbours of order n - k, n - k + 2, ..., n + k. */
static double dg_bessel_sum(double (*f)(double, double, int), double sign, double k, double n, double x, int power)
{
    double sum = 0.0, lost = 0.0, choose = 1.0, term, next;
    for (double j = 0.0; j <= k; ++j) {
        term = f(n - k + 2.0 * j, x, power) * choose;
        next = sum + term;
        if (isinf(next))            /* the order furthest from 0 outgrows the others */
            return (n >= 0.0 ? f(n + k, x, power) * pow(sign, k) : f(n - k, x, power)) * INFINITY;
        lost += fabs(sum) >= fabs(term) ? (sum - next) + term : (term - next) + sum;
        sum = next;
        choose = sign * choose * (k - j) / (j + 1.0);
    }
    return sum + lost;
}

/* The k-th derivative by x of a function with f_n' = (f_{n-1} + sign f_{n+1}) / 2. Only a sum that overflows is
 * halved before, since halving takes digits from subnormal neighbours. */
static double dg_bessel_derivative(double (*f)(double, double, int), double sign, double k, double n, double x)
{
    if (!(k >= 0.0 && k <= 500.0) || k != floor(k))
        return NAN;
    const double sum = dg_bessel_sum(f, sign, k, n, x, 0);
    return isinf(sum) ? dg_bessel_sum(f, sign, k, n, x, -(int)k) : ldexp(sum, -(int)k);
}

static double dg_bessel_i_times(double n, double x, int power)
{
    return dg_bessel_i_signed(n, x, 0, power);
}
#define dg_bessel_j_derivative(k, n, x) dg_bessel_derivative(dg_bessel_j_times, -1.0, k, n, x)
#define dg_bessel_y_derivative(k, n, x) dg_bessel_derivative(dg_bessel_y_times, -1.0, k, n, x)
#define dg_bessel_i_derivative(k, n, x) dg_bessel_derivative(dg_bessel_i_times, 1.0, k, n, x)
#define dg_bessel_k_derivative(k, n, x) \
    dg_bessel_derivative(dg_bessel_k_times, 1.0, k, n, x) * (fmod(k, 2.0) == 0.0 ? 1.0 : -1.0)

#endif
