/* Superinstructions: up to four elementwise operations in one loop over operands that lie side by side.
 *
 * Intermediate results stay in registers, which saves a store, a load and memory of the tile. The operations and their
 * order are the same, and nothing is contracted, so the results are equal bit for bit.
 *
 *     (x inner y) outer z         products, sums and differences, one of another
 *     (x inner y) outer (z inner2 w)     sums and differences of two products
 *
 * Each of these, and x inner y, may be multiplied by a number; without one the factor is 1, which changes no bit.
 */
#ifndef DG_FUSED_H
#define DG_FUSED_H

#include "executor/instruction.h"
#include "executor/operations.h"
#include "vector/loop.h"
#include "vector/registers.h"

enum { DG_ABSORBS_MUL = 0, DG_ABSORBS_ABSORB = 1, DG_ABSORBS_ADD = 0, DG_ABSORBS_SUB = 0, DG_ABSORBS_BUS = 0 };

#define DG_SCALE(T) (data ? *(const T *)data : (T)1)

/* The loop over RESULT, which contains `quick`. If an operation absorbs, the quick form is tried first. */
#define DG_FUSED_LOOP(T, ABSORBS, APART, RESULT)                                                                    \
    if ((ABSORBS) && (APART)) {                                                                                     \
        enum { quick = 1 };                                                                                         \
        DG_TRY_QUICK(T, , (RESULT) * s)                                                                             \
    }                                                                                                               \
    enum { quick = 0 };                                                                                             \
    DG_WIDE for (npy_intp i = 0; i < n; ++i) o[i] = (RESULT) * s;

#define DG_FUSED_2(LEVEL, TAG, T, INNER)                                                                            \
    static void dg_##INNER##_scaled_##TAG##_##LEVEL(char **args, const npy_intp *dims, const npy_intp *steps,       \
                                                    void *data)                                                     \
    {                                                                                                               \
        const T *a = (const T *)args[0], *b = (const T *)args[1], s = DG_SCALE(T);                                  \
        T *o = (T *)args[2];                                                                                        \
        const npy_intp n = dims[0], w = n * (npy_intp)sizeof(T);                                                    \
        (void)steps;                                                                                                \
        DG_FUSED_LOOP(T, DG_ABSORBS_##INNER, dg_apart(o, a, w) && dg_apart(o, b, w),                                \
                      dg_##INNER##_##T(quick, a[i], b[i]))                                                          \
    }

#define DG_FUSED_3(LEVEL, TAG, T, INNER, OUTER)                                                                     \
    static void dg_##INNER##_##OUTER##_##TAG##_##LEVEL(char **args, const npy_intp *dims, const npy_intp *steps,    \
                                                       void *data)                                                  \
    {                                                                                                               \
        const T *a = (const T *)args[0], *b = (const T *)args[1], *c = (const T *)args[2], s = DG_SCALE(T);         \
        T *o = (T *)args[3];                                                                                        \
        const npy_intp n = dims[0], w = n * (npy_intp)sizeof(T);                                                    \
        (void)steps;                                                                                                \
        DG_FUSED_LOOP(T, DG_ABSORBS_##INNER || DG_ABSORBS_##OUTER,                                                  \
                      dg_apart(o, a, w) && dg_apart(o, b, w) && dg_apart(o, c, w),                                  \
                      dg_##OUTER##_##T(quick, dg_##INNER##_##T(quick, a[i], b[i]), c[i]))                           \
    }

#define DG_FUSED_4(LEVEL, TAG, T, INNER, OUTER, SECOND)                                                             \
    static void dg_##INNER##_##OUTER##_##SECOND##_##TAG##_##LEVEL(char **args, const npy_intp *dims,                \
                                                                  const npy_intp *steps, void *data)                \
    {                                                                                                               \
        const T *a = (const T *)args[0], *b = (const T *)args[1], *c = (const T *)args[2], *d = (const T *)args[3]; \
        T *o = (T *)args[4];                                                                                        \
        const T s = DG_SCALE(T);                                                                                    \
        const npy_intp n = dims[0], w = n * (npy_intp)sizeof(T);                                                    \
        (void)steps;                                                                                                \
        DG_FUSED_LOOP(T, DG_ABSORBS_##INNER || DG_ABSORBS_##SECOND,                                                 \
                      dg_apart(o, a, w) && dg_apart(o, b, w) && dg_apart(o, c, w) && dg_apart(o, d, w),             \
                      dg_##OUTER##_##T(quick, dg_##INNER##_##T(quick, a[i], b[i]),                                  \
                                       dg_##SECOND##_##T(quick, c[i], d[i])))                                       \
    }

#define DG_OUTERS(TAG, T, INNER)                   \
    DG_EACH_LEVEL(DG_FUSED_3, TAG, T, INNER, MUL)    \
    DG_EACH_LEVEL(DG_FUSED_3, TAG, T, INNER, ABSORB) \
    DG_EACH_LEVEL(DG_FUSED_3, TAG, T, INNER, ADD)    \
    DG_EACH_LEVEL(DG_FUSED_3, TAG, T, INNER, SUB)    \
    DG_EACH_LEVEL(DG_FUSED_3, TAG, T, INNER, BUS)
#define DG_SECONDS(TAG, T, INNER)                       \
    DG_EACH_LEVEL(DG_FUSED_4, TAG, T, INNER, ADD, MUL)    \
    DG_EACH_LEVEL(DG_FUSED_4, TAG, T, INNER, ADD, ABSORB) \
    DG_EACH_LEVEL(DG_FUSED_4, TAG, T, INNER, SUB, MUL)    \
    DG_EACH_LEVEL(DG_FUSED_4, TAG, T, INNER, SUB, ABSORB)
#define DG_ALL_FUSED(TAG, T)                    \
    DG_EACH_LEVEL(DG_FUSED_2, TAG, T, MUL)      \
    DG_EACH_LEVEL(DG_FUSED_2, TAG, T, ABSORB)   \
    DG_EACH_LEVEL(DG_FUSED_2, TAG, T, ADD)      \
    DG_EACH_LEVEL(DG_FUSED_2, TAG, T, SUB)      \
    DG_OUTERS(TAG, T, MUL)                      \
    DG_OUTERS(TAG, T, ABSORB)                   \
    DG_OUTERS(TAG, T, ADD)                      \
    DG_OUTERS(TAG, T, SUB)                      \
    DG_SECONDS(TAG, T, MUL)                     \
    DG_SECONDS(TAG, T, ABSORB)

DG_ALL_FUSED(f64, double)
DG_ALL_FUSED(f32, float)

/* The tables of loops: float, then double; by inner, then outer operation. */
#define DG_ROW_OF(L, INNER, TAG)                                                                                  \
    {dg_##INNER##_MUL_##TAG##_##L, dg_##INNER##_ABSORB_##TAG##_##L, dg_##INNER##_ADD_##TAG##_##L,                 \
     dg_##INNER##_SUB_##TAG##_##L, dg_##INNER##_BUS_##TAG##_##L}
#define DG_ROWS_OF(L, TAG) {DG_ROW_OF(L, MUL, TAG), DG_ROW_OF(L, ABSORB, TAG), DG_ROW_OF(L, ADD, TAG), DG_ROW_OF(L, SUB, TAG)}
#define DG_PAIR_OF(L, INNER, OUTER, TAG) \
    {dg_##INNER##_##OUTER##_MUL_##TAG##_##L, dg_##INNER##_##OUTER##_ABSORB_##TAG##_##L}
#define DG_PAIRS_OF(L, INNER, TAG) {DG_PAIR_OF(L, INNER, ADD, TAG), DG_PAIR_OF(L, INNER, SUB, TAG)}
#define DG_SCALED_OF(L, TAG) \
    {dg_MUL_scaled_##TAG##_##L, dg_ABSORB_scaled_##TAG##_##L, dg_ADD_scaled_##TAG##_##L, dg_SUB_scaled_##TAG##_##L}
#define DG_TWO(L) {DG_SCALED_OF(L, f32), DG_SCALED_OF(L, f64)}
#define DG_THREE(L) {DG_ROWS_OF(L, f32), DG_ROWS_OF(L, f64)}
#define DG_FOUR(L)                                                      \
    {{DG_PAIRS_OF(L, MUL, f32), DG_PAIRS_OF(L, ABSORB, f32)},           \
     {DG_PAIRS_OF(L, MUL, f64), DG_PAIRS_OF(L, ABSORB, f64)}}

/* The loop of a fused instruction: codes of the inner and outer operation and of the second inner one, -1 for none;
 * wide selects double, else float. Its data is the factor of the result, or NULL. */
static __attribute__((unused)) dg_loop dg_fused_loop(int inner, int outer, int second, int wide)
{
    static const dg_loop two[][2][4] = DG_TABLES(DG_TWO);
    static const dg_loop three[][2][4][5] = DG_TABLES(DG_THREE);
    static const dg_loop four[][2][2][2][2] = DG_TABLES(DG_FOUR);
    const int level = dg_level();
    if (outer < 0) return two[level][wide][inner];
    return second < 0 ? three[level][wide][inner][outer] : four[level][wide][inner][outer - DG_F_ADD][second];
}

#endif
