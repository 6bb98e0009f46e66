/* Logarithms, for loops that become vector code; see vector/registers.h.
 *
 * x = 2^k (1 + f) with 1 + f from sqrt(1/2) to sqrt(2), and log(1 + f) = 2 atanh(s) with s = f / (2 + f). As 2 s = f - s f, the
 * logarithm is written f - g with a small g, so that the error of the division hardly counts.
 */
#ifndef DG_VECTOR_LOG_H
#define DG_VECTOR_LOG_H

#include "vector/exp.h"

#define DG_SQRT_HALF_BITS ((uint64_t)0x3fe6a09e667f3bcd)
#define DG_FRACTION_BITS (((uint64_t)1 << 52) - 1)
#define DG_EXPONENT_BITS ((uint64_t)0x7ff << 52)

/* (2 atanh(s) / s - 2) / s^2, in s^2: for f as above, and for f from 0 to 1 */
static const double dgv_log_terms[] = {0.6666666666666734, 0.39999999999414526, 0.2857142874243524, 0.22222198567102774,
                                      0.18183564696079318, 0.153140398493373, 0.14796068148242766};
static const double dgv_log1p_terms[] = {
    0.6666666666666632, 0.40000000000153735, 0.2857142854822028, 0.2222222395010433, 0.18181744537118166,
    0.15386548161140362, 0.13301114776679202, 0.12105054257667655, 0.08344303227340864, 0.17011268564344845};

typedef struct { double k, f, reverse; } dgv_binary;

/* k and f of a positive number; and 2^(1-k), or 0 for k = 1024. */
DG_INLINE dgv_binary dgv_binary_parts(double x)
{
    const double scale = x < 0x1p-1022 ? 0x1p54 : 1.0;
    const uint64_t bits = dgv_bits(x * scale) + (DG_ONE_BITS - DG_SQRT_HALF_BITS);
    /* an integer below 2^52 becomes a double by its bits; minus 54 for a scaled number */
    const double k = dgv_number((bits >> 52) | dgv_bits(0x1p52)) - (0x1p52 + 1023.0) - (scale - 1.0) * (54.0 * 0x1p-54);
    return (dgv_binary){k, dgv_number((bits & DG_FRACTION_BITS) + DG_SQRT_HALF_BITS) - 1.0,
                        dgv_number(~bits & DG_EXPONENT_BITS)};
}

/* f - log(1 + f) */
DG_INLINE double dgv_log_rest(const int fused, double f, double s)
{
    const double z = s * s, half = 0.5 * f * f;
    return half - s * DG_MADD(z, DG_POLYNOMIAL(dgv_log_terms, z), half);
}

/* A logarithm with its special values: x = `zero`, below it, inf and nan. */
DG_INLINE double dgv_log_or_special(double y, double x, double zero)
{
    y = x < INFINITY ? y : x;               /* inf and nan are their own logarithms */
    y = x == zero ? -INFINITY : y;
    return x < zero ? NAN : y;
}

DG_INLINE double dgv_log(const int fused, double x)
{
    const dgv_binary b = dgv_binary_parts(x);
    const double g = dgv_log_rest(fused, b.f, b.f / (2.0 + b.f));
    return dgv_log_or_special(DG_MADD(b.k, DG_LN2_HIGH, b.f - DG_MADD(b.k, -DG_LN2_LOW, g)), x, 0.0);
}

/* k step + c log(1 + f), the constants in two parts. The products of first parts are exact. */
DG_INLINE double dgv_log_of_base(const int fused, double x, double c, double c_low, double step, double step_low)
{
    const dgv_binary b = dgv_binary_parts(x);
    const double g = dgv_log_rest(fused, b.f, b.f / (2.0 + b.f));
    const double f = dgv_number(dgv_bits(b.f) & ~DG_HALF_OF_BITS), f_low = b.f - f;
    const double whole = b.k * step, part = f * c, sum = whole + part;
    const double small = DG_MADD(f_low, c, DG_MADD(b.f, c_low, -g * (c + c_low)));
    return dgv_log_or_special(sum + (((whole - sum) + part) + DG_MADD(b.k, step_low, small)), x, 0.0);
}

DG_INLINE double dgv_log2(const int fused, double x)
{
    return dgv_log_of_base(fused, x, 0x1.715476p+0, 0x1.4ae0bf85ddf44p-26, 1.0, 0.0);
}

DG_INLINE double dgv_log10(const int fused, double x)
{
    return dgv_log_of_base(fused, x, 0x1.bcb7b1p-2, 0x1.49b9438ca9aaep-28, 0x1.34413508p-2, 0x1.f79fef311f12bp-34);
}

/* The logarithm of u = 1 + x plus the effect lost / u of its rounding error, with a rough 1 / (1 + f) = 1 - 2 s + 2 s^2 - ... */
DG_INLINE double dgv_log1p(const int fused, double x)
{
    const double u = 1.0 + x, lost = x < 1.0 ? x - (u - 1.0) : 1.0 - (u - x);
    const dgv_binary b = dgv_binary_parts(u);
    const double s = b.f / (2.0 + b.f), g = dgv_log_rest(fused, b.f, s);
    const double more = lost * b.reverse * DG_MADD(s, s - 1.0, 0.5);
    const double y = DG_MADD(b.k, DG_LN2_HIGH, b.f - (DG_MADD(b.k, -DG_LN2_LOW, g) - more));
    return dgv_log_or_special(copysign(y, x), x, -1.0);
}

/* log(1 + e^x) = max(x, 0) + log(1 + e) with e = e^-|x|, at most 1. */
DG_INLINE double dgv_softplus(const int fused, double x)
{
    const double e = dgv_exp(fused, -fabs(x)), s = e / (2.0 + e), z = s * s;
    const double y = e - s * (e - z * DG_POLYNOMIAL(dgv_log1p_terms, z));
    return x < 0 ? y : x + y;
}

/* log(e^x + e^y) = max(x, y) + log(1 + e^-|x - y|); of equal numbers, infinite ones too, x + log(2). */
DG_INLINE double dgv_logaddexp(const int fused, double x, double y)
{
    const double more = dgv_softplus(fused, -fabs(x - y));
    return x == y ? x + 0x1.62e42fefa39efp-1 : (x > y ? x : y) + more;
}

#endif
