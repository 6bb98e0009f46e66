/* Functions of the C library for double and float by one name, as tgmath.h has them; not every compiler has that header,
 * and it brings complex.h, whose I may be a name elsewhere. */
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
