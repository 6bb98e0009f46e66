/* Conversions between dtypes, as C does them: from masks and integers to any dtype but bool, and between floats.
 *
 * NumPy converts floats to integers, since it has rules of its own for values that do not fit. Indices always fit.
 */
#ifndef DG_CAST_H
#define DG_CAST_H

#include "vector/registers.h"

#define DG_CAST(LEVEL, FROM, TO, TAG)                                                                       \
    static void dg_cast_##TAG##_##LEVEL(char **args, const npy_intp *dims, const npy_intp *steps, void *data) \
    {                                                                                                       \
        const char *x = args[0];                                                                            \
        char *r = args[1];                                                                                  \
        const npy_intp n = dims[0], s = steps[0], t = steps[1];                                             \
        (void)data;                                                                                         \
        if (s == (npy_intp)sizeof(FROM) && t == (npy_intp)sizeof(TO))                                       \
            DG_INDEPENDENT for (npy_intp i = 0; i < n; ++i)((TO *)r)[i] = (TO)((const FROM *)x)[i];         \
        else                                                                                                \
            for (npy_intp i = 0; i < n; ++i, x += s, r += t) *(TO *)r = (TO) * (const FROM *)x;             \
    }

#define DG_CASTS_OF_INTEGER(FROM, TAG)                 \
    DG_EACH_LEVEL(DG_CAST, FROM, int32_t, TAG##_i32)   \
    DG_EACH_LEVEL(DG_CAST, FROM, int64_t, TAG##_i64)   \
    DG_EACH_LEVEL(DG_CAST, FROM, float, TAG##_f32)     \
    DG_EACH_LEVEL(DG_CAST, FROM, double, TAG##_f64)
DG_CASTS_OF_INTEGER(uint8_t, u8) /* and bool */
DG_CASTS_OF_INTEGER(int8_t, i8)
DG_CASTS_OF_INTEGER(int32_t, i32)
DG_CASTS_OF_INTEGER(int64_t, i64)
DG_EACH_LEVEL(DG_CAST, float, double, f32_f64)
DG_EACH_LEVEL(DG_CAST, double, float, f64_f32)

enum { DG_T_U8, DG_T_I8, DG_T_I32, DG_T_I64, DG_T_F32, DG_T_F64, DG_T_NONE };

static int dg_type_of(int typenum)
{
    switch (typenum) {
    case NPY_BOOL:
    case NPY_UBYTE: return DG_T_U8;
    case NPY_BYTE: return DG_T_I8;
    case NPY_INT: return DG_T_I32;
    case NPY_LONG: return sizeof(long) == 8 ? DG_T_I64 : DG_T_I32;
    case NPY_LONGLONG: return DG_T_I64;
    case NPY_FLOAT: return DG_T_F32;
    case NPY_DOUBLE: return DG_T_F64;
    default: return DG_T_NONE;
    }
}

/* The loop that converts between two dtypes; NULL if there is none. */
static dg_loop dg_cast_loop(int from, int to)
{
#define DG_CASTS_TO(LEVEL, TAG) \
    {0, 0, dg_cast_##TAG##_i32_##LEVEL, dg_cast_##TAG##_i64_##LEVEL, dg_cast_##TAG##_f32_##LEVEL, dg_cast_##TAG##_f64_##LEVEL}
#define DG_CASTS(LEVEL)                                                                                           \
    {DG_CASTS_TO(LEVEL, u8), DG_CASTS_TO(LEVEL, i8), DG_CASTS_TO(LEVEL, i32), DG_CASTS_TO(LEVEL, i64),             \
     {0, 0, 0, 0, 0, dg_cast_f32_f64_##LEVEL}, {0, 0, 0, 0, dg_cast_f64_f32_##LEVEL, 0}}
    static const dg_loop loops[][DG_T_NONE][DG_T_NONE] = DG_TABLES(DG_CASTS);
    const int i = dg_type_of(from), j = dg_type_of(to);
    return i == DG_T_NONE || j == DG_T_NONE || to == NPY_BOOL ? 0 : loops[dg_level()][i][j];
}

/* Convert numbers to indices of an axis of n elements, clipped to 0 and n - 1; nan becomes 0. `data` is n. */
#define DG_INDEX_OF(LEVEL, T)                                                                               \
    static void dg_index_##T##_##LEVEL(char **args, const npy_intp *dims, const npy_intp *steps, void *data) \
    {                                                                                                       \
        const char *x = args[0];                                                                            \
        char *r = args[1];                                                                                  \
        const npy_intp n = dims[0], s = steps[0], t = steps[1];                                             \
        const double last = (double)((npy_intp)data - 1);                                                   \
        if (s == (npy_intp)sizeof(T) && t == (npy_intp)sizeof(int64_t))                                     \
            DG_INDEPENDENT for (npy_intp i = 0; i < n; ++i)                                                 \
            {                                                                                               \
                const double y = (double)((const T *)x)[i], z = y > 0.0 ? y : 0.0;                          \
                ((int64_t *)r)[i] = (int64_t)(z < last ? z : last);                                         \
            }                                                                                               \
        else                                                                                                \
            for (npy_intp i = 0; i < n; ++i, x += s, r += t) {                                              \
                const double y = (double)*(const T *)x, z = y > 0.0 ? y : 0.0;                              \
                *(int64_t *)r = (int64_t)(z < last ? z : last);                                             \
            }                                                                                               \
    }
DG_EACH_LEVEL(DG_INDEX_OF, double)
DG_EACH_LEVEL(DG_INDEX_OF, float)

/* The loop that makes indices; NULL if there is none. */
static dg_loop dg_index_loop(int from)
{
    if (from == NPY_DOUBLE) return DG_CHOOSE(dg_index_double);
    return from == NPY_FLOAT ? DG_CHOOSE(dg_index_float) : 0;
}

#endif
