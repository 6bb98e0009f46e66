/* The instruction sets that this processor has and the operating system lets programs use.
 *
 * GCC's and Clang's own functions for this need a library that not every linker gets.
 */
#ifndef DG_PROCESSOR_H
#define DG_PROCESSOR_H

#include "vector/compiler.h"

typedef struct { unsigned a, b, c, d; } dg_registers;

static inline dg_registers dg_cpuid(unsigned leaf, unsigned part)
{
    dg_registers r;
    __asm__ volatile("cpuid" : "=a"(r.a), "=b"(r.b), "=c"(r.c), "=d"(r.d) : "a"(leaf), "c"(part));
    return r;
}

/* The registers that the operating system saves. */
static inline unsigned dg_saved_registers(void)
{
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    (void)high;
    return low;
}

static inline int dg_has_all(unsigned word, unsigned bits) { return (word & bits) == bits; }

#define DG_BIT(n) (1u << (n))

/* The level of x86-64 as its specification numbers them: 4, 3, or 1 for anything below. */
static int dg_find_x86_64(void)
{
    /* ssse3, fma, cmpxchg16b, sse4.1, sse4.2, movbe, popcnt, xsave in use, avx, f16c */
    const unsigned first = DG_BIT(9) | DG_BIT(12) | DG_BIT(13) | DG_BIT(19) | DG_BIT(20) | DG_BIT(22) | DG_BIT(23)
                           | DG_BIT(27) | DG_BIT(28) | DG_BIT(29);
    const unsigned v3 = DG_BIT(3) | DG_BIT(5) | DG_BIT(8);                                 /* bmi1, avx2, bmi2 */
    const unsigned v4 = DG_BIT(16) | DG_BIT(17) | DG_BIT(28) | DG_BIT(30) | DG_BIT(31);    /* avx512 f, dq, cd, bw, vl */
    const unsigned lzcnt = DG_BIT(5), wide = 0x06, wider = 0xe6;                            /* avx, avx512 */
    dg_registers more;
    unsigned saved;
    if (dg_cpuid(0, 0).a < 7 || dg_cpuid(0x80000000u, 0).a < 0x80000001u || !dg_has_all(dg_cpuid(1, 0).c, first)
        || !dg_has_all(dg_cpuid(0x80000001u, 0).c, lzcnt))
        return 1;
    saved = dg_saved_registers();
    more = dg_cpuid(7, 0);
    if (!dg_has_all(saved, wide) || !dg_has_all(more.b, v3)) return 1;
    return dg_has_all(saved, wider) && dg_has_all(more.b, v4) ? 4 : 3;
}

#endif
