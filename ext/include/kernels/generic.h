/* C library functions for double and float under one name, as in tgmath.h. Not every compiler has that header, and it
 * includes complex.h, whose macro I may be an identifier elsewhere. */
#ifndef DG_GENERIC_H
#define DG_GENERIC_H

#include <math.h>

#define DG_GENERIC(F, x) _Generic((x), float: F##f, default: F)

#define fabs(x) DG_GENERIC(fabs, x)(x)
#define sqrt(x) DG_GENERIC(sqrt, x)(x)
#define log(x) DG_GENERIC(log, x)(x)
#define lgamma(x) DG_GENERIC(lgamma, x)(x)
#define fma(x, y, z) DG_GENERIC(fma, (x) + (y) + (z))(x, y, z)

#endif
