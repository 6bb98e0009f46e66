/* Superinstructions: up to four elementwise operations in one loop over operands that lie side by side.
 *
 * What passes between the operations stays in a register instead of taking a store, a load and a place in the tile. The
 * operations and their order are the same, and nothing is contracted, so the results are the same bit for bit.
 *
 *     (x inner y) outer z         products, sums and differences, one of another
 *     (x inner y) outer (z inner2 w)     sums and differences of two products
 *
 * each of these, and x inner y, times a number; it is one where there is none, which changes no bit.
 */
#ifndef DG_FUSED_H
#define DG_FUSED_H

#include "executor/instruction.h"
#include "vector/loop.h"
#include "vector/registers.h"

/* The operations; quick: an absorbing product as it is tried first. */
#define DG_OPERATIONS(T)                                                                                            \
    DG_INLINE T dg_MUL_##T(const int quick, T x, T y) { return (void)quick, x * y; }                                \
    DG_INLINE T dg_ABSORB_##T(const int quick, T x, T y) { return quick ? DG_ABSORB_QUICK(x, y) : DG_ABSORB(x, y); }\
    DG_INLINE T dg_ADD_##T(const int quick, T x, T y) { return (void)quick, x + y; }                                \
    DG_INLINE T dg_SUB_##T(const int quick, T x, T y) { return (void)quick, x - y; }                                \
    DG_INLINE T dg_BUS_##T(const int quick, T x, T y) { return (void)quick, y - x; }
DG_OPERATIONS(double)
DG_OPERATIONS(float)
enum { DG_ABSORBS_MUL = 0, DG_ABSORBS_ABSORB = 1, DG_ABSORBS_ADD = 0, DG_ABSORBS_SUB = 0, DG_ABSORBS_BUS = 0 };

#define DG_SCALE(T) (data ? *(const T *)data : (T)1)

/* The loop over RESULT, in which `quick` stands; where an operation absorbs, the quick one is tried first. */
#define DG_FUSED_LOOP(T, ABSORBS, APART, RESULT)                                                                    \
    if ((ABSORBS) && (APART)) {                                                                                     \
        enum { quick = 1 };                                                                                         \
        DG_TRY_QUICK(T, , (RESULT) * s)                                                                             \
    }                                                                                                               \
    enum { quick = 0 };                                                                                             \
    DG_WIDE for (npy_intp i = 0; i < n; ++i) o[i] = (RESULT) * s;

#define DG_FUSED_2(TAG, T, INNER)                                                                                   \
    DG_CLONES static void dg_##INNER##_scaled_##TAG(char **args, const npy_intp *dims, const npy_intp *steps,       \
                                                    void *data)                                                     \
    {                                                                                                               \
        const T *a = (const T *)args[0], *b = (const T *)args[1], s = DG_SCALE(T);                                  \
        T *o = (T *)args[2];                                                                                        \
        const npy_intp n = dims[0], w = n * (npy_intp)sizeof(T);                                                    \
        (void)steps;                                                                                                \
        DG_FUSED_LOOP(T, DG_ABSORBS_##INNER, dg_apart(o, a, w) && dg_apart(o, b, w),                                \
                      dg_##INNER##_##T(quick, a[i], b[i]))                                                          \
    }

#define DG_FUSED_3(TAG, T, INNER, OUTER)                                                                            \
    DG_CLONES static void dg_##INNER##_##OUTER##_##TAG(char **args, const npy_intp *dims, const npy_intp *steps,    \
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

#define DG_FUSED_4(TAG, T, INNER, OUTER, SECOND)                                                                    \
    DG_CLONES static void dg_##INNER##_##OUTER##_##SECOND##_##TAG(char **args, const npy_intp *dims,                \
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

#define DG_OUTERS(TAG, T, INNER)      \
    DG_FUSED_3(TAG, T, INNER, MUL)    \
    DG_FUSED_3(TAG, T, INNER, ABSORB) \
    DG_FUSED_3(TAG, T, INNER, ADD)    \
    DG_FUSED_3(TAG, T, INNER, SUB)    \
    DG_FUSED_3(TAG, T, INNER, BUS)
#define DG_SECONDS(TAG, T, INNER)            \
    DG_FUSED_4(TAG, T, INNER, ADD, MUL)      \
    DG_FUSED_4(TAG, T, INNER, ADD, ABSORB)   \
    DG_FUSED_4(TAG, T, INNER, SUB, MUL)      \
    DG_FUSED_4(TAG, T, INNER, SUB, ABSORB)
#define DG_ALL_FUSED(TAG, T) \
    DG_FUSED_2(TAG, T, MUL)  \
    DG_FUSED_2(TAG, T, ABSORB) \
    DG_FUSED_2(TAG, T, ADD)  \
    DG_FUSED_2(TAG, T, SUB)  \
    DG_OUTERS(TAG, T, MUL)   \
    DG_OUTERS(TAG, T, ABSORB) \
    DG_OUTERS(TAG, T, ADD)   \
    DG_OUTERS(TAG, T, SUB)   \
    DG_SECONDS(TAG, T, MUL)  \
    DG_SECONDS(TAG, T, ABSORB)

DG_ALL_FUSED(f64, double)
DG_ALL_FUSED(f32, float)

#define DG_ROW_OF(INNER, TAG) \
    {dg_##INNER##_MUL_##TAG, dg_##INNER##_ABSORB_##TAG, dg_##INNER##_ADD_##TAG, dg_##INNER##_SUB_##TAG, dg_##INNER##_BUS_##TAG}
#define DG_ROWS_OF(TAG) {DG_ROW_OF(MUL, TAG), DG_ROW_OF(ABSORB, TAG), DG_ROW_OF(ADD, TAG), DG_ROW_OF(SUB, TAG)}
#define DG_PAIR_OF(INNER, OUTER, TAG) {dg_##INNER##_##OUTER##_MUL_##TAG, dg_##INNER##_##OUTER##_ABSORB_##TAG}
#define DG_PAIRS_OF(INNER, TAG) {DG_PAIR_OF(INNER, ADD, TAG), DG_PAIR_OF(INNER, SUB, TAG)}

#define DG_SCALED_OF(TAG) {dg_MUL_scaled_##TAG, dg_ABSORB_scaled_##TAG, dg_ADD_scaled_##TAG, dg_SUB_scaled_##TAG}

/* The loop of a fused instruction: inner and outer operation, the second inner one, -1 for none; wide for double, else
 * float. Its data: the number that the result is multiplied by, or NULL. */
static __attribute__((unused)) dg_loop dg_fused_loop(int inner, int outer, int second, int wide)
{
    static const dg_loop three[2][4][5] = {DG_ROWS_OF(f32), DG_ROWS_OF(f64)};
    static const dg_loop four[2][2][2][2] = {{DG_PAIRS_OF(MUL, f32), DG_PAIRS_OF(ABSORB, f32)},
                                             {DG_PAIRS_OF(MUL, f64), DG_PAIRS_OF(ABSORB, f64)}};
    static const dg_loop two[2][4] = {DG_SCALED_OF(f32), DG_SCALED_OF(f64)};
    if (outer < 0) return two[wide][inner];
    return second < 0 ? three[wide][inner][outer] : four[wide][inner][outer - DG_F_ADD][second];
}

#endif
