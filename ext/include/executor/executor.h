/* Runs a planned region: a short list of instructions over rows, block by block, so that what one instruction leaves
 * is still in cache when the next one reads it. No Python in here.
 *
 * An operand is a base pointer (an input, a constant, a result, or the block's own memory), an offset, and how far it
 * moves per row. Instructions are elementwise loops over rows * width elements, matrix products, products and sums that
 * are added up over the rows, and strided copies.
 */
#ifndef DG_EXECUTOR_H
#define DG_EXECUTOR_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if !defined(_WIN32)
#include <unistd.h>
#endif
#include "executor/cast.h"
#include "executor/fused.h"
#include "executor/gather.h"
#include "vector/loop.h"
#include "executor/threads.h"

enum {
    DG_LOOP, DG_MATMUL, DG_MATMUL_ADD, DG_SUM_ALL, DG_SUM_AXIS, DG_COPY, DG_ZERO, DG_SELECT, DG_CAST, DG_GATHER,
    DG_SCATTER_ADD, DG_SUM_ROWS
};
enum { DG_MAX_AXES = 6 };

/* Bytes of the first-level cache of this machine; as most have them, where it does not say. */
static inline long dg_first_cache_size(void)
{
    long size = 0;
#if defined(_SC_LEVEL1_DCACHE_SIZE)
    size = sysconf(_SC_LEVEL1_DCACHE_SIZE);
#endif
    return size > 0 ? size : 32L << 10;
}

typedef struct {
    int base;
    npy_intp offset; /* bytes */
    npy_intp row;    /* bytes per row of the whole array; 0 for block memory and for what all rows share */
    npy_intp local;  /* bytes per row of the block, in block memory; else 0 */
} dg_operand;

typedef struct {
    int kind;
    int n_in;
    dg_loop fn;
    void *data;
    npy_intp low, high;     /* the rows that there are, */
    npy_intp before, after; /* and how many a block needs beside its own */
    dg_operand arg[5]; /* the operands, then the result, then scratch */
    npy_intp step[5];  /* elementwise: bytes between elements, operands then result */
    npy_intp width;    /* elements per row */
    npy_intp period;   /* elementwise: rows after which an operand that all rows share is begun again; or 0 */
    npy_intp advance[5]; /* then: bytes per row */
    npy_intp dims[4];  /* products: stack, m, k, n; picks: stack, picks; -p stands for p times the number of rows */
    npy_intp strides[9];
    int axes;          /* copies: axes after that of the rows, their lengths and strides; [0] is that of the rows */
    npy_intp shape[DG_MAX_AXES];
    npy_intp from[DG_MAX_AXES]; /* picks: [0] is from stack to stack, of the operand, */
    npy_intp to[DG_MAX_AXES];   /* and of the result */
    npy_intp item;
    dg_picks picks;
    int once;          /* the same for every block: executed for the first one only, on `high` rows */
    dg_loop add;       /* products that are added up: the loop that adds, and its data */
    void *add_data;
} dg_instruction;

/* Where row `start` of an operand lies, while the block that begins with row `row0` is run. */
static inline char *dg_at(const dg_operand *o, char *const *bases, npy_intp start, npy_intp row0)
{
    return bases[o->base] + o->offset + start * o->row + (start - row0) * o->local;
}

/* Each number three times: what a trailing axis of coordinates needs. */
#define DG_TRIPLE_OF(T)                                                                   \
    DG_CLONES static void dg_triple_##T(const T *x, T *r, npy_intp n)                     \
    {                                                                                     \
        DG_INDEPENDENT for (npy_intp i = 0; i < n; ++i) r[3 * i] = r[3 * i + 1] = r[3 * i + 2] = x[i]; \
    }
DG_TRIPLE_OF(uint64_t)
DG_TRIPLE_OF(uint32_t)

/* A few bytes again and again: what is there already is copied. */
static void dg_repeat_pattern(const char *from, char *to, size_t bytes, size_t total)
{
    memcpy(to, from, bytes);
    for (size_t done = bytes, n; done < total; done += n) {
        n = done < total - done ? done : total - done;
        memcpy(to + done, to, n);
    }
}

/* One operand that a whole axis shares, and few steps along it: what trailing axes of two or three need. */
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
        if (s == 8) dg_triple_uint64_t((const uint64_t *)from, (uint64_t *)to, m);
        else dg_triple_uint32_t((const uint32_t *)from, (uint32_t *)to, m);
        return 1;
    }
    if (in->item == 8) {
        DG_REPEAT_LOOP(uint64_t)
    } else if (in->item == 4) {
        DG_REPEAT_LOOP(uint32_t)
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
            for (npy_intp i = 0; i < n; ++i, from += s, to += t) *(uint64_t *)to = *(const uint64_t *)from;
        } else if (in->item == 4) {
            for (npy_intp i = 0; i < n; ++i, from += s, to += t) *(uint32_t *)to = *(const uint32_t *)from;
        } else {
            for (npy_intp i = 0; i < n; ++i, from += s, to += t) memcpy(to, from, (size_t)in->item);
        }
        return;
    }
    if (axis + 1 == in->axes && dg_repeat(in, axis, from, to, n)) return;
    for (npy_intp i = 0; i < n; ++i, from += s, to += t) dg_copy_axes(in, axis + 1, from, to, rows);
}

/* Sums over an axis with few numbers behind it: r[o][j] = sum over i of x[o][i][j]. */
#define DG_SUM_AXIS_LOOP(T, INNER)                                                        \
    for (npy_intp o = 0; o < outer; ++o, x += w * inner, r += inner) {                    \
        T sum[8] = {0};                                                                   \
        for (npy_intp i = 0; i < w; ++i)                                                  \
            for (npy_intp j = 0; j < (INNER); ++j) sum[j] += x[i * (INNER) + j];          \
        for (npy_intp j = 0; j < (INNER); ++j) r[j] = sum[j];                             \
    }
#define DG_SUM_AXIS_OF(T)                                                                 \
    DG_CLONES static void dg_sum_axis_##T(const T *x, T *r, npy_intp outer, npy_intp w, npy_intp inner) \
    {                                                                                     \
        if (inner == 1 && w == 2) {                                                       \
            for (npy_intp o = 0; o < outer; ++o) r[o] = x[2 * o] + x[2 * o + 1];          \
        } else if (inner == 1 && w == 3) {                                                \
            for (npy_intp o = 0; o < outer; ++o) r[o] = x[3 * o] + x[3 * o + 1] + x[3 * o + 2]; \
        } else if (inner == 1) {                                                          \
            DG_SUM_AXIS_LOOP(T, 1)                                                        \
        } else if (inner == 2) {                                                          \
            DG_SUM_AXIS_LOOP(T, 2)                                                        \
        } else if (inner == 3) {                                                          \
            DG_SUM_AXIS_LOOP(T, 3)                                                        \
        } else {                                                                          \
            DG_SUM_AXIS_LOOP(T, inner)                                                    \
        }                                                                                 \
    }
DG_SUM_AXIS_OF(double)
DG_SUM_AXIS_OF(float)

/* Rows added to one row, one after the other, as NumPy adds them up. */
#define DG_SUM_ROWS_OF(T)                                                                 \
    DG_CLONES static void dg_sum_rows_##T(const T *x, T *r, npy_intp rows, npy_intp w)    \
    {                                                                                     \
        for (; rows >= 4; rows -= 4, x += 4 * w) {                                        \
            const T *a = x, *b = a + w, *c = b + w, *d = c + w;                           \
            DG_INDEPENDENT for (npy_intp j = 0; j < w; ++j) r[j] = r[j] + a[j] + b[j] + c[j] + d[j]; \
        }                                                                                 \
        for (; rows > 0; --rows, x += w)                                                  \
            DG_INDEPENDENT for (npy_intp j = 0; j < w; ++j) r[j] += x[j];                 \
    }
DG_SUM_ROWS_OF(double)
DG_SUM_ROWS_OF(float)

/* where: a bool for each element, both choices, the result. */
#define DG_SELECT_LOOP(T)                                                                              \
    for (npy_intp i = 0; i < n; ++i) {                                                                 \
        *(T *)r = *c ? *(const T *)x : *(const T *)y;                                                  \
        c += in->step[0], x += in->step[1], y += in->step[2], r += in->step[3];                        \
    }

static void dg_select(const dg_instruction *in, const char *c, const char *x, const char *y, char *r, npy_intp n)
{
    if (in->item == 8) {
        DG_SELECT_LOOP(uint64_t)
    } else if (in->item == 4) {
        DG_SELECT_LOOP(uint32_t)
    } else if (in->item == 2) {
        DG_SELECT_LOOP(uint16_t)
    } else {
        DG_SELECT_LOOP(uint8_t)
    }
}

static void dg_run_periods(const dg_instruction *in, char **p, npy_intp rows)
{
    for (npy_intp n; rows > 0; rows -= in->period) {
        n = (rows < in->period ? rows : in->period) * in->width;
        char *q[5]; /* a loop may change the pointers that it is given */
        memcpy(q, p, sizeof q);
        in->fn(q, &n, in->step, in->data);
        for (int k = 0; k <= in->n_in; ++k) p[k] += in->period * in->advance[k];
    }
}

/* Memory outside the block that a region walks along, row by row. A block is about as long as a page, and the
 * processor's own prefetching begins anew with each page: so the lines of the next block are asked for here, a share of
 * them before each instruction. */
typedef struct {
    int base;
    npy_intp offset; /* bytes */
    npy_intp row;    /* bytes per row */
} dg_stream;

enum { DG_MAX_STREAMS = 16, DG_LINE = 64 };

#if defined(__GNUC__)
#define DG_PREFETCH(p) __builtin_prefetch(p, 0, 2)
#else
#define DG_PREFETCH(p) ((void)(p)) /* it only saves time */
#endif

typedef struct {
    int count;
    dg_stream at[DG_MAX_STREAMS];
} dg_streams;

/* Part `part` of `parts` of the lines of some rows. */
static inline void dg_prefetch(const dg_streams *streams, char *const *bases, npy_intp row, npy_intp rows, npy_intp part,
                               npy_intp parts)
{
    for (int s = 0; s < streams->count; ++s) {
        const dg_stream *stream = &streams->at[s];
        const npy_intp lines = rows * stream->row / DG_LINE, each = lines / parts + 1;
        const npy_intp stop = (part + 1) * each < lines ? (part + 1) * each : lines;
        const char *p = bases[stream->base] + stream->offset + row * stream->row;
        for (npy_intp k = part * each; k < stop; ++k) DG_PREFETCH(p + k * DG_LINE);
    }
}

static void dg_run_picks(const dg_instruction *in, char *const *p, npy_intp rows)
{
    const npy_intp stack = in->dims[0] < 0 ? -in->dims[0] * rows : in->dims[0];
    const npy_intp n = in->dims[1] < 0 ? -in->dims[1] * rows : in->dims[1];
    for (npy_intp s = 0; s < stack; ++s) {
        const char *from = p[0] + s * in->from[0];
        char *to = p[in->n_in] + s * in->to[0];
        if (in->kind == DG_GATHER) dg_gather(&in->picks, from, p + 1, to, n, in->item);
        else if (in->item == 8) dg_scatter_add_double(&in->picks, from, in->step[0], p + 1, to, n);
        else dg_scatter_add_float(&in->picks, from, in->step[0], p + 1, to, n);
    }
}

/* One instruction on some rows; where its operands lie. */
static void dg_execute(const dg_instruction *in, char **p, npy_intp rows, char *const *bases)
{
    npy_intp n, d[4];
    switch (in->kind) {
    case DG_LOOP:
    case DG_CAST:
        if (in->period && rows > in->period) {
            dg_run_periods(in, p, rows);
            break;
        }
        n = rows * in->width;
        in->fn(p, &n, in->step, in->data);
        break;
    case DG_MATMUL:
    case DG_MATMUL_ADD:
        for (int k = 0; k < 4; ++k) d[k] = in->dims[k] < 0 ? -in->dims[k] * rows : in->dims[k];
        if (in->kind == DG_MATMUL) {
            /* matrices that lie behind each other, and the same factor: one with more rows */
            if (d[0] > 1 && in->strides[1] == 0 && in->strides[0] == d[1] * in->strides[3]
                && in->strides[2] == d[1] * in->strides[7])
                d[1] *= d[0], d[0] = 1;
            in->fn(p, d, in->strides, in->data);
        } else { /* the product of this block goes to scratch and is added to the result */
            char *q[3];
            p[3] = dg_at(&in->arg[3], bases, 0, 0);
            q[0] = p[0], q[1] = p[1], q[2] = p[3];
            in->fn(q, d, in->strides, in->data);
            q[0] = p[2], q[1] = p[3], q[2] = p[2];
            n = in->width;
            in->add(q, &n, in->step, in->add_data);
        }
        break;
    case DG_SUM_ALL: { /* pairwise, into one number */
        char *q[3];
        q[0] = p[1], q[1] = p[0], q[2] = p[1];
        n = rows * in->width;
        in->fn(q, &n, in->step, in->data);
        break;
    }
    case DG_SUM_AXIS:
        n = in->dims[1] < 0 ? -in->dims[1] * rows : in->dims[1];
        if (in->item == 8) dg_sum_axis_double((const double *)p[0], (double *)p[1], n, in->dims[2], in->dims[3]);
        else dg_sum_axis_float((const float *)p[0], (float *)p[1], n, in->dims[2], in->dims[3]);
        break;
    case DG_SUM_ROWS:
        if (in->item == 8) dg_sum_rows_double((const double *)p[0], (double *)p[1], rows, in->width);
        else dg_sum_rows_float((const float *)p[0], (float *)p[1], rows, in->width);
        break;
    case DG_COPY: dg_copy_axes(in, 0, p[0], p[1], rows); break;
    case DG_ZERO: memset(p[0], 0, (size_t)(rows * in->width * in->item)); break;
    case DG_GATHER:
    case DG_SCATTER_ADD: dg_run_picks(in, p, rows); break;
    case DG_SELECT: dg_select(in, p[0], p[1], p[2], p[3], rows * in->width); break;
    }
}

/* `ahead`: what the next block, of `next` rows, walks along; 0 where nothing is asked for. */
static void dg_run_block(const dg_instruction *program, npy_intp count, char *const *bases, npy_intp row0,
                         npy_intp block, int first, const dg_streams *ahead, npy_intp next)
{
    for (npy_intp i = 0; i < count; ++i) {
        const dg_instruction *in = &program[i];
        char *p[5];
        npy_intp start = row0 - in->before, stop = row0 + block + in->after;
        if (next > 0) dg_prefetch(ahead, bases, row0 + block, next, i, count);
        if (in->once) {
            if (!first) continue;
            start = 0, stop = in->high;
        }
        start = start < in->low ? in->low : start;
        stop = stop > in->high ? in->high : stop;
        if (stop <= start) continue;
        for (int k = 0; k <= in->n_in; ++k) p[k] = dg_at(&in->arg[k], bases, start, row0);
        dg_execute(in, p, stop - start, bases);
    }
}

/* Instructions on single numbers, in as little memory as they need: a long program of them does not fit into the cache
 * otherwise. What is no elementwise loop over one number is run as it stands in the region's program. */
enum { DG_S_FUSED_3 = DG_F_KINDS, DG_S_FUSED_4, DG_S_NEG, DG_S_SQUARE, DG_S_DIV, DG_S_RECIPROCAL, DG_S_CALL, DG_S_OTHER };

typedef struct {
    short op, inner, outer, second, wide, n_in;
    int base[5], offset[5];
    dg_loop fn;
    void *data;
} dg_scalar;

#define DG_SCALAR_DO(T)                                                                                       \
    static inline T dg_do_##T(int op, T x, T y)                                                               \
    {                                                                                                         \
        switch (op) {                                                                                         \
        case DG_F_MUL: return dg_MUL_##T(0, x, y);                                                            \
        case DG_F_ABSORB: return dg_ABSORB_##T(0, x, y);                                                      \
        case DG_F_ADD: return dg_ADD_##T(0, x, y);                                                            \
        case DG_F_SUB: return dg_SUB_##T(0, x, y);                                                            \
        default: return dg_BUS_##T(0, x, y);                                                                  \
        }                                                                                                     \
    }                                                                                                         \
    static inline int dg_run_scalar_##T(const dg_scalar *s, char *const *bases)                               \
    {                                                                                                         \
        switch (s->op) {                                                                                      \
        case DG_F_MUL: DG_NUMBER(T, 2) = dg_MUL_##T(0, DG_NUMBER(T, 0), DG_NUMBER(T, 1)); return 1;           \
        case DG_F_ABSORB: DG_NUMBER(T, 2) = dg_ABSORB_##T(0, DG_NUMBER(T, 0), DG_NUMBER(T, 1)); return 1;     \
        case DG_F_ADD: DG_NUMBER(T, 2) = dg_ADD_##T(0, DG_NUMBER(T, 0), DG_NUMBER(T, 1)); return 1;           \
        case DG_F_SUB: DG_NUMBER(T, 2) = dg_SUB_##T(0, DG_NUMBER(T, 0), DG_NUMBER(T, 1)); return 1;           \
        case DG_S_FUSED_3:                                                                                    \
            DG_NUMBER(T, 3) = dg_do_##T(s->outer, dg_do_##T(s->inner, DG_NUMBER(T, 0), DG_NUMBER(T, 1)),      \
                                        DG_NUMBER(T, 2));                                                     \
            return 1;                                                                                         \
        case DG_S_FUSED_4:                                                                                    \
            DG_NUMBER(T, 4) = dg_do_##T(s->outer, dg_do_##T(s->inner, DG_NUMBER(T, 0), DG_NUMBER(T, 1)),      \
                                        dg_do_##T(s->second, DG_NUMBER(T, 2), DG_NUMBER(T, 3)));              \
            return 1;                                                                                         \
        case DG_S_NEG: DG_NUMBER(T, 1) = -DG_NUMBER(T, 0); return 1;                                          \
        case DG_S_SQUARE: DG_NUMBER(T, 1) = DG_NUMBER(T, 0) * DG_NUMBER(T, 0); return 1;                      \
        case DG_S_DIV: DG_NUMBER(T, 2) = DG_NUMBER(T, 0) / DG_NUMBER(T, 1); return 1;                         \
        case DG_S_RECIPROCAL: DG_NUMBER(T, 1) = 1 / DG_NUMBER(T, 0); return 1;                                \
        default: return 0;                                                                                    \
        }                                                                                                     \
    }
#define DG_NUMBER(T, k) (*(T *)(bases[s->base[k]] + s->offset[k]))
DG_SCALAR_DO(double)
DG_SCALAR_DO(float)

static void dg_run_scalars(const dg_scalar *s, const dg_instruction *program, npy_intp count, char *const *bases)
{
    static const npy_intp still[5] = {0, 0, 0, 0, 0};
    for (npy_intp i = 0; i < count; ++i, ++s) {
        if (s->op < DG_S_CALL) {
            if (s->wide) dg_run_scalar_double(s, bases);
            else dg_run_scalar_float(s, bases);
        } else if (s->op == DG_S_CALL) {
            const npy_intp one = 1;
            char *p[5];
            for (int k = 0; k <= s->n_in; ++k) p[k] = bases[s->base[k]] + s->offset[k];
            s->fn(p, &one, still, s->data);
        } else {
            dg_run_block(program + i, 1, bases, 0, 1, 1, 0, 0);
        }
    }
}

/* Most blocks are away from the ends of the rows: there each instruction goes over as many rows as in the block before,
 * or over none. What it needs is gathered once for all of them, side by side, and moved on from block to block. */
typedef struct {
    dg_loop fn; /* of an elementwise loop; else NULL */
    void *data;
    const npy_intp *step;
    npy_intp n, rows;
    char *p[5];
    npy_intp move[5];
    const dg_instruction *in;
} dg_turn;

enum { DG_LEAST_TURNS = 3 }; /* blocks that are worth it */

/* The rows of the block that begins with `row`; at most 0 behind the last one. */
static inline npy_intp dg_rows_from(npy_intp row, npy_intp stop, npy_intp block)
{
    return stop - row < block ? stop - row : block;
}

/* How many whole blocks from `row0` on are alike in that. */
static npy_intp dg_alike(const dg_instruction *program, npy_intp count, npy_intp row0, npy_intp stop, npy_intp block)
{
    npy_intp blocks = (stop - row0) / block;
    for (npy_intp i = 0; i < count && blocks > 0; ++i) {
        const dg_instruction *in = &program[i];
        const npy_intp from = row0 - in->before, to = row0 + block + in->after;
        npy_intp left;
        if (in->once || from >= in->high) continue;
        if (to <= in->low) left = in->low - to;
        else if (from >= in->low && to <= in->high) left = in->high - to;
        else return 0;
        blocks = left / block + 1 < blocks ? left / block + 1 : blocks;
    }
    return blocks;
}

/* Some blocks that are alike, none of them the first one; -1 if there is no memory for that. */
static int dg_run_alike(const dg_instruction *program, npy_intp count, char *const *bases, npy_intp row0, npy_intp block,
                        npy_intp blocks, npy_intp stop, const dg_streams *ahead)
{
    npy_intp turns = 0;
    dg_turn *turn = (dg_turn *)malloc((size_t)count * sizeof(dg_turn));
    if (turn == NULL) return -1;
    for (npy_intp i = 0; i < count; ++i) {
        const dg_instruction *in = &program[i];
        const npy_intp from = row0 - in->before, to = row0 + block + in->after;
        dg_turn *t = &turn[turns];
        if (in->once || from >= in->high || to <= in->low) continue;
        t->in = in;
        t->rows = to - from;
        t->n = t->rows * in->width;
        t->fn = (in->kind == DG_LOOP || in->kind == DG_CAST) && !(in->period && t->rows > in->period) ? in->fn : NULL;
        t->data = in->data;
        t->step = in->step;
        for (int k = 0; k < 5; ++k) {
            t->p[k] = k <= in->n_in ? dg_at(&in->arg[k], bases, from, row0) : NULL;
            t->move[k] = k <= in->n_in ? block * in->arg[k].row : 0;
        }
        ++turns;
    }
    for (; blocks > 0; --blocks) {
        row0 += block;
        const npy_intp next = ahead ? dg_rows_from(row0, stop, block) : 0;
        for (npy_intp i = 0; i < turns; ++i) {
            dg_turn *t = &turn[i];
            if (next > 0) dg_prefetch(ahead, bases, row0, next, i, turns);
            char *p[5]; /* whoever is called may change them */
            memcpy(p, t->p, sizeof p);
            if (t->fn != NULL) t->fn(p, &t->n, t->step, t->data);
            else dg_execute(t->in, p, t->rows, bases);
            for (int k = 0; k < 5; ++k) t->p[k] += t->move[k];
        }
    }
    free(turn);
    return 0;
}

/* All blocks of a region from row `start` to row `stop`. */
static void dg_run_rows(const dg_instruction *program, npy_intp count, char *const *bases, npy_intp start, npy_intp stop,
                        npy_intp block, const dg_streams *ahead)
{
    if (ahead && !ahead->count) ahead = NULL;
    for (npy_intp row0 = start; row0 < stop;) {
        const npy_intp alike = row0 == start ? 0 : dg_alike(program, count, row0, stop, block);
        if (alike >= DG_LEAST_TURNS && !dg_run_alike(program, count, bases, row0, block, alike, stop, ahead)) {
            row0 += alike * block;
            continue;
        }
        dg_run_block(program, count, bases, row0, dg_rows_from(row0, stop, block), row0 == start, ahead,
                     ahead ? dg_rows_from(row0 + block, stop, block) : 0);
        row0 += block;
    }
}

typedef struct {
    const dg_instruction *program;
    npy_intp count, rows, block;
    int workers;
    const dg_streams *ahead;
    npy_intp done, chunk;         /* rows of each worker's part: those that have been gone over, and how many follow */
    char **bases[DG_MAX_THREADS]; /* of each worker: its own block memory and totals */
} dg_region;

/* The rows in equal parts, whole blocks each: which worker does what depends neither on time nor on chunks. */
static npy_intp dg_part_start(const dg_region *r, int worker)
{
    const npy_intp start = (r->rows + r->block - 1) / r->block * worker / r->workers * r->block;
    return start < r->rows ? start : r->rows;
}

static void dg_run_part(void *data, int worker)
{
    const dg_region *r = (const dg_region *)data;
    const npy_intp start = dg_part_start(r, worker) + r->done, end = dg_part_start(r, worker + 1);
    const npy_intp stop = end - start < r->chunk ? end : start + r->chunk;
    if (start < stop) dg_run_rows(r->program, r->count, r->bases[worker], start, stop, r->block, r->ahead);
}

/* The next chunk of every part; whether something is left. */
static int dg_run_chunk(dg_region *r)
{
    if (r->workers == 1 || dg_parallel(dg_run_part, r, r->workers) != 0)
        for (int w = 0; w < r->workers; ++w) dg_run_part(r, w);
    r->done += r->chunk;
    for (int w = 0; w < r->workers; ++w)
        if (dg_part_start(r, w) + r->done < dg_part_start(r, w + 1)) return 1;
    return 0;
}

#endif
