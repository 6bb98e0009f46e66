/* Copies along axes, and selections between elements. */
#ifndef DG_COPIES_H
#define DG_COPIES_H

#include <stdint.h>
#include <string.h>
#include "executor/instruction.h"
#include "vector/registers.h"

/* Elements of one, two, four or eight bytes, of any dtype. Both halves of a complex64 are aligned to four bytes only.
 * */
typedef uint64_t dg_eight __attribute__((aligned(4), may_alias));
typedef uint32_t dg_four __attribute__((may_alias));
typedef uint16_t dg_two __attribute__((may_alias));
typedef uint8_t dg_one __attribute__((may_alias));

/* Repeat each number three times, for a trailing axis of coordinates. */
#define DG_TRIPLE_OF(LEVEL, T)                                                            \
    static void dg_triple_##T##_##LEVEL(const dg_##T *x, dg_##T *r, npy_intp n)           \
    {                                                                                     \
        DG_INDEPENDENT for (npy_intp i = 0; i < n; ++i) r[3 * i] = r[3 * i + 1] = r[3 * i + 2] = x[i]; \
    }
DG_EACH_LEVEL(DG_TRIPLE_OF, eight)
DG_EACH_LEVEL(DG_TRIPLE_OF, four)

/* Repeat a few bytes to a total size, by copying the part that is already written. */
static void dg_repeat_pattern(const char *from, char *to, size_t bytes, size_t total)
{
    memcpy(to, from, bytes);
    for (size_t done = bytes, n; done < total; done += n) {
        n = done < total - done ? done : total - done;
        memcpy(to + done, to, n);
    }
}

/* Repeat one element along a short axis, for trailing axes of length two or three. */
#define DG_REPEAT_LOOP(T)                                                                 \
    for (npy_intp i = 0; i < m; ++i, from += s, to += t) {                                \
        const T x = *(const T *)from;                                                     \
        T *r = (T *)to;                                                                   \
        if (n == 3) r[0] = x, r[1] = x, r[2] = x;                                         \
        else for (npy_intp j = 0; j < n; ++j) r[j] = x;                                   \
    }

static int dg_repeat(const dg_instruction *in, int axis, char *from, char *to, npy_intp m)
{
    const npy_intp n = in->shape[axis + 1], s = in->from[axis], t = in->to[axis];
    if (in->to[axis + 1] != in->item || m <= 0 || n <= 0) return 0;
    if (s == 0 && in->from[axis + 1] == in->item && t == n * in->item) {
        dg_repeat_pattern(from, to, (size_t)(n * in->item), (size_t)(m * n * in->item));
        return 1;
    }
    if (in->from[axis + 1] != 0) return 0;
    if (n == 3 && s == in->item && t == 3 * s && (s == 8 || s == 4)) {
        if (s == 8) DG_CHOOSE(dg_triple_eight)((const dg_eight *)from, (dg_eight *)to, m);
        else DG_CHOOSE(dg_triple_four)((const dg_four *)from, (dg_four *)to, m);
        return 1;
    }
    if (in->item == 8) {
        DG_REPEAT_LOOP(dg_eight)
    } else if (in->item == 4) {
        DG_REPEAT_LOOP(dg_four)
    } else {
        return 0;
    }
    return 1;
}

static void dg_copy_axes(const dg_instruction *in, int axis, char *from, char *to, npy_intp rows)
{
    const npy_intp n = axis == 0 ? rows : in->shape[axis], s = in->from[axis], t = in->to[axis];
    if (axis == in->axes) {
        if (s == in->item && t == in->item) {
            memcpy(to, from, (size_t)(n * in->item));
        } else if (in->item == 8) {
            for (npy_intp i = 0; i < n; ++i, from += s, to += t) *(dg_eight *)to = *(const dg_eight *)from;
        } else if (in->item == 4) {
            for (npy_intp i = 0; i < n; ++i, from += s, to += t) *(dg_four *)to = *(const dg_four *)from;
        } else {
            for (npy_intp i = 0; i < n; ++i, from += s, to += t) memcpy(to, from, (size_t)in->item);
        }
        return;
    }
    if (axis + 1 == in->axes && dg_repeat(in, axis, from, to, n)) return;
    for (npy_intp i = 0; i < n; ++i, from += s, to += t) dg_copy_axes(in, axis + 1, from, to, rows);
}

/* where: a bool for each element, both choices, the result. The loop reads both choices and then selects one, because a
 * branch would be mispredicted half of the time. A choice may be a single number for all elements. */
#define DG_SELECT_OF(LEVEL, T)                                                                         \
    static void dg_select_##T##_##LEVEL(const char *c, const char *p, const char *q, char *to, npy_intp n, \
                                        const npy_intp *step)                                          \
    {                                                                                                  \
        const npy_intp w = (npy_intp)sizeof(dg_##T);                                                   \
        const dg_##T *x = (const dg_##T *)p, *y = (const dg_##T *)q;                                   \
        dg_##T *r = (dg_##T *)to;                                                                      \
        if (n <= 0) return;                                                                            \
        if (step[0] == 1 && step[1] == w && step[2] == w && step[3] == w) {                            \
            DG_INDEPENDENT for (npy_intp i = 0; i < n; ++i)                                            \
            {                                                                                          \
                const dg_##T a = x[i], b = y[i];                                                       \
                r[i] = c[i] ? a : b;                                                                   \
            }                                                                                          \
        } else if (step[0] == 1 && step[1] == w && step[2] == 0 && step[3] == w) {                     \
            const dg_##T b = *y;                                                                       \
            DG_INDEPENDENT for (npy_intp i = 0; i < n; ++i)                                            \
            {                                                                                          \
                const dg_##T a = x[i];                                                                 \
                r[i] = c[i] ? a : b;                                                                   \
            }                                                                                          \
        } else if (step[0] == 1 && step[1] == 0 && step[2] == w && step[3] == w) {                     \
            const dg_##T a = *x;                                                                       \
            DG_INDEPENDENT for (npy_intp i = 0; i < n; ++i)                                            \
            {                                                                                          \
                const dg_##T b = y[i];                                                                 \
                r[i] = c[i] ? a : b;                                                                   \
            }                                                                                          \
        } else {                                                                                       \
            for (npy_intp i = 0; i < n; ++i, c += step[0], p += step[1], q += step[2], to += step[3]) { \
                const dg_##T a = *(const dg_##T *)p, b = *(const dg_##T *)q;                           \
                *(dg_##T *)to = *c ? a : b;                                                            \
            }                                                                                          \
        }                                                                                              \
    }
DG_EACH_LEVEL(DG_SELECT_OF, eight)
DG_EACH_LEVEL(DG_SELECT_OF, four)
DG_EACH_LEVEL(DG_SELECT_OF, two)
DG_EACH_LEVEL(DG_SELECT_OF, one)

static void dg_select(const dg_instruction *in, const char *c, const char *x, const char *y, char *r, npy_intp n)
{
    if (in->item == 8) DG_CHOOSE(dg_select_eight)(c, x, y, r, n, in->step);
    else if (in->item == 4) DG_CHOOSE(dg_select_four)(c, x, y, r, n, in->step);
    else if (in->item == 2) DG_CHOOSE(dg_select_two)(c, x, y, r, n, in->step);
    else DG_CHOOSE(dg_select_one)(c, x, y, r, n, in->step);
}

#endif
