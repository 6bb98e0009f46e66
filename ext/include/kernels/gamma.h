/* Derivatives of the logarithm of the gamma function: digamma and polygamma, by the Hurwitz zeta function.
 *
 * All are computed in double; float kernels round the result.
 */
#ifndef DG_GAMMA_H
#define DG_GAMMA_H

#include <math.h>

#define DG_PI 3.14159265358979323846

/* B(2k) / (2k), the coefficients of Stirling's series. */
static const double DG_STIRLING[] = {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12,
                                     -3617.0 / 8160, 43867.0 / 14364, -174611.0 / 6600, 77683.0 / 276, -236364091.0 / 65520};

/* log(x) - digamma(x) for x >= 8, computed without either of the two. */
static double dg_log_minus_digamma(double x)
{
    const double z = 1.0 / (x * x);
    double sum = 0.0;
    for (int k = 9; k >= 0; --k)
        sum = (sum + DG_STIRLING[k]) * z;
    return 0.5 / x + sum;
}

/* cot(pi r) for |r| <= 1/2; near the ends from the distance to the end, which is exact. */
static double dg_cot_pi(double r)
{
    const double a = fabs(r), c = a > 0.25 ? tan(DG_PI * (0.5 - a)) : 1.0 / tan(DG_PI * a);
    return copysign(c, r);
}

/* Near a zero digamma is the distance to the zero, which is stored in two parts, times a polynomial (Chebyshev nodes). So
 * the relative error is small there too. Of the negative zeros only the first has this. */
static double dg_digamma(double x)
{
    static const double POSITIVE[] = {
        0.951055876031833, -0.4236274212814605, 0.2405424842407742, -0.14840492305390884, 0.09498872445494122,
        -0.061922133273064534, 0.04076083381242074, -0.02697579675613825, 0.0179072524394512, -0.011908218001568644,
        0.007926944646403797, -0.005279964873257405, 0.003519006401502276, -0.002345267632540769, 0.0015566317474486838,
        -0.0010376374098418604, 0.0007233266279287554, -0.0004821990530566789, 0.0002272331660987376,
        -0.00015148586836773365, 0.00025968482126430747, -0.00017312261802727394};
    static const double NEGATIVE[] = {
        8.937031623531025, -0.5460246078251475, 32.23757513641571, -0.6677994684558977, 128.10139611147537,
        -2.1511605093301096, 512.0739774218364, -8.388919859033805, 2048.1543468100595, -33.46150273774012,
        8192.46410944649, -133.87490924583594, 32787.04218604085, -527.9124588091778, 129294.41730655907,
        -2544.146426145888, 623105.6189072273};
    double sum = 0.0, value = 0.0;
    if (x <= 0.0) {
        if (x == 0.0)
            return -INFINITY;
        if (x >= -0.6 && x <= -0.4) {
            for (int k = 16; k >= 0; --k)
                value = value * (x + 0.5) + NEGATIVE[k];
            return ((x + 0x1.02172b05ee260p-1) + 0x1.2cd704405bff6p-57) * value;
        }
        const double r = x - rint(x);
        if (r == 0.0 || isinf(x))
            return NAN;
        return dg_digamma(1.0 - x) - DG_PI * dg_cot_pi(r);
    }
    if (x >= 8.0)
        return log(x) - dg_log_minus_digamma(x);
    if (x < 1.0) {
        sum = -1.0 / x;
        x += 1.0;
    }
    while (x > 2.0) {
        x -= 1.0;
        sum += 1.0 / x;
    }
    for (int k = 21; k >= 0; --k)
        value = value * (x - 1.5) + POSITIVE[k];
    return sum + ((x - 0x1.762d86356be3fp+0) - 0x1.b86a722197829p-54) * value;
}

/* 2^(e (s - 1)) times the sum of (q + k)**-s over k >= 0, for q > 0 and s > 1: terms one by one, and from w = q + k >= s + 10
 * on the formula of Euler and Maclaurin, whose terms then fall by a factor of at least 7. Sums are compensated, w included,
 * since the power multiplies its relative error by s. */
static double dg_zeta_positive(double s, double q, int e)
{
    double sum = 0.0, lost = 0.0, w = q, off = 0.0, term, tail, factor, next;
    for (double k = 1.0; w < s + 10.0; ++k) {
        term = ldexp(pow(ldexp(w, -e), -s), -e);
        next = sum + term;
        if (isinf(next))
            return next;
        lost += (sum - next) + term - term * (s * off);
        sum = next;
        if (!(term * (1.0 + w / (s - 1.0)) > 0x1p-57 * sum))
            return sum + lost;
        w = q + k;
        off = (k > q ? q - (w - k) : k - (w - q)) / w;
    }
    tail = 0.5;
    factor = s / w;                     /* s (s+1) ... (s+2j-2) / ((2j-1)! w**(2j-1)) */
    for (int j = 1; j <= 12; ++j) {
        tail += DG_STIRLING[j - 1] * factor;
        factor *= (s + 2 * j - 1) * (s + 2 * j) / (2.0 * j * (2 * j + 1) * w * w);
    }
    term = pow(ldexp(w, -e), 1.0 - s) * (1.0 / (s - 1.0) + tail / w);
    return sum + (lost + (term - term * ((s - 1.0) * off)));
}

/* The Hurwitz zeta function for s >= 1. For q < 0 it is real for whole s; there the sum of the terms from q up to
 * 0 is a difference of two zeta functions of positive argument. inf at its poles. */
static double dg_zeta(double s, double q)
{
    if (!(s > 1.0))
        return s == 1.0 ? INFINITY : NAN;
    if (q > 0.0)
        return isinf(q) ? 0.0 : dg_zeta_positive(s, q, 0);
    if (q == floor(q))
        return isinf(q) ? NAN : INFINITY;
    if (s != floor(s) || q != q)
        return NAN;
    const double passed = dg_zeta_positive(s, ceil(q) - q, 0) - dg_zeta_positive(s, 1.0 - q, 0);
    return dg_zeta_positive(s, q - floor(q), 0) + (fmod(s, 2.0) == 0.0 ? passed : -passed);
}

/* The n-th derivative of digamma; nan unless n is a whole number and not negative. For large x the zeta function may
 * underflow although its product with n! does not, so a power of two is taken out of it. */
static double dg_polygamma(double n, double x)
{
    double size;
    int e = 0;
    if (n == 0.0)
        return dg_digamma(x);
    if (!(n > 0.0) || n != floor(n))
        return NAN;
    if (x > 1.0 && !isinf(x))
        e = ilogb(x);
    const double zeta = e ? dg_zeta_positive(n + 1.0, x, e) : dg_zeta(n + 1.0, x);
    if (n <= 170.0)
        size = ldexp(tgamma(n + 1.0) * zeta, -e * (int)n);
    else
        size = copysign(exp(lgamma(n + 1.0) + log(fabs(zeta)) - e * n * 0.69314718055994530942), zeta);
    return fmod(n, 2.0) == 0.0 ? -size : size;
}

#endif
