/* Runs a planned region: a short list of instructions over rows. It runs tile by tile, so that the results of one
 * instruction are still in cache for the next one. It never calls Python.
 *
 * An operand has a base pointer (an input, a constant, a result, or the memory of the tile), an offset, and a row
 * stride. Instructions are elementwise loops over rows * width elements, matrix products, products and sums that are
 * added up over the rows, and strided copies.
 */
#ifndef DG_EXECUTOR_H
#define DG_EXECUTOR_H

#include <stdlib.h>
#include <string.h>
#include "executor/copies.h"
#include "executor/gather.h"
#include "executor/instruction.h"
#include "executor/native.h"
#include "executor/operations.h"
#include "executor/scale.h"
#include "executor/sums.h"
#include "executor/symmetric.h"
#include "executor/threads.h"

/* The address of row `start` of an operand, in the tile that begins with row `row0`. */
static inline char *dg_at(const dg_operand *o, char *const *bases, npy_intp start, npy_intp row0)
{
    return bases[o->base] + o->offset + start * o->row + (start - row0) * o->local;
}

static void dg_run_periods(const dg_instruction *in, char **p, npy_intp rows)
{
    for (npy_intp n; rows > 0; rows -= in->period) {
        n = (rows < in->period ? rows : in->period) * in->width;
        char *q[DG_PLACES]; /* a loop may change its pointers */
        memcpy(q, p, sizeof q);
        in->fn(q, &n, in->step, in->data);
        for (int k = 0; k <= in->n_in; ++k) p[k] += in->period * in->advance[k];
    }
}

#if defined(__GNUC__)
#define DG_PREFETCH(p) __builtin_prefetch(p, 0, 2)
#else
#define DG_PREFETCH(p) ((void)(p)) /* prefetching only saves time */
#endif

/* Prefetch part `part` of `parts` of the cache lines of some rows. */
static inline void dg_prefetch(const dg_streams *streams, char *const *bases, npy_intp row, npy_intp rows, npy_intp part,
                               npy_intp parts)
{
    for (int s = 0; s < streams->count; ++s) {
        const dg_stream *stream = &streams->at[s];
        const npy_intp first = row < stream->low ? stream->low : row;
        const npy_intp behind = row + rows < stream->high ? row + rows : stream->high;
        if (behind <= first) continue;
        const npy_intp lines = (behind - first) * stream->row / DG_LINE, each = lines / parts + 1;
        const npy_intp stop = (part + 1) * each < lines ? (part + 1) * each : lines;
        const char *p = bases[stream->base] + stream->offset + first * stream->row;
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

static inline void dg_run_loop(const dg_instruction *in, char **p, npy_intp rows)
{
    npy_intp n = rows * in->width;
    if (in->period && rows > in->period) dg_run_periods(in, p, rows);
    else in->fn(p, &n, in->step, in->data);
}

/* Extents of a product; -p stands for p times the number of rows. */
static inline void dg_extents(const dg_instruction *in, npy_intp rows, npy_intp *d)
{
    for (int k = 0; k < 4; ++k) d[k] = in->dims[k] < 0 ? -in->dims[k] * rows : in->dims[k];
}

static inline void dg_multiply(const dg_instruction *in, char **p, npy_intp rows, char *const *bases)
{
    npy_intp d[4];
    if (in->half) {
        dg_multiply_half(in, p, rows, bases);
        return;
    }
    dg_extents(in, rows, d);
    /* contiguous matrices with a common right factor: one matrix with more rows */
    if (d[0] > 1 && in->strides[1] == 0 && in->strides[0] == d[1] * in->strides[3]
        && in->strides[2] == d[1] * in->strides[7])
        d[1] *= d[0], d[0] = 1;
    in->fn(p, d, in->strides, in->data);
}

/* Write the product of this tile to scratch memory, then add it to the result. */
static inline void dg_multiply_add(const dg_instruction *in, char **p, npy_intp rows, char *const *bases)
{
    npy_intp d[4], n = in->width;
    char *q[3];
    dg_extents(in, rows, d);
    p[3] = dg_at(&in->arg[3], bases, 0, 0);
    q[0] = p[0], q[1] = p[1], q[2] = p[3];
    in->fn(q, d, in->strides, in->data);
    q[0] = p[2], q[1] = p[3], q[2] = p[2];
    in->add(q, &n, in->step, in->add_data);
}

/* The same with a loop of ours, which adds to the result directly. */
static inline void dg_multiply_onto(const dg_instruction *in, char **p, npy_intp rows)
{
    npy_intp d[4];
    if (in->half) {
        dg_multiply_upper(in, p, rows);
        return;
    }
    dg_extents(in, rows, d);
    in->fn(p, d, in->strides, (void *)in);
}

/* Sum pairwise, into one number. */
static inline void dg_sum_all(const dg_instruction *in, char **p, npy_intp rows)
{
    char *q[3] = {p[1], p[0], p[1]};
    npy_intp n = rows * in->width;
    in->fn(q, &n, in->step, in->data);
}

static inline void dg_sum_axis(const dg_instruction *in, char **p, npy_intp rows)
{
    const npy_intp n = in->dims[1] < 0 ? -in->dims[1] * rows : in->dims[1];
    if (in->item == 8) DG_CHOOSE(dg_sum_axis_double)((const double *)p[0], (double *)p[1], n, in->dims[2], in->dims[3]);
    else DG_CHOOSE(dg_sum_axis_float)((const float *)p[0], (float *)p[1], n, in->dims[2], in->dims[3]);
}

static inline void dg_sum_rows(const dg_instruction *in, char **p, npy_intp rows)
{
    if (in->item == 8) DG_CHOOSE(dg_sum_rows_double)((const double *)p[0], (double *)p[1], rows, in->width);
    else DG_CHOOSE(dg_sum_rows_float)((const float *)p[0], (float *)p[1], rows, in->width);
}

/* Execute one instruction on some rows; `p` holds the addresses of its operands. */
static void dg_execute(const dg_instruction *in, char **p, npy_intp rows, char *const *bases)
{
    switch (in->kind) {
#define DG_INSTRUCTION(NAME, name, ...) case DG_##NAME: __VA_ARGS__; break;
#include "executor/instructions.def"
#undef DG_INSTRUCTION
    }
}

/* Run one tile. `ahead`: memory that the next tile, of `next` rows, walks along; 0 for no prefetching. */
static void dg_run_block(const dg_instruction *program, npy_intp count, char *const *bases, npy_intp row0,
                         npy_intp block, int first, const dg_streams *ahead, npy_intp next)
{
    for (npy_intp i = 0; i < count; ++i) {
        const dg_instruction *in = &program[i];
        char *p[DG_PLACES];
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

/* Instructions on single numbers, stored in as little memory as possible, so that a long program fits into the cache.
 * Other instructions run in their full form, from the region's program. */
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

static __attribute__((unused)) void dg_run_scalars(const dg_scalar *s, const dg_instruction *program, npy_intp count,
                                                   char *const *bases)
{
    for (npy_intp i = 0; i < count; ++i, ++s) {
        if (s->op < DG_S_CALL) {
            if (s->wide) dg_run_scalar_double(s, bases);
            else dg_run_scalar_float(s, bases);
        } else if (s->op == DG_S_CALL) {
            const npy_intp one = 1;
            char *p[5];
            for (int k = 0; k <= s->n_in; ++k) p[k] = bases[s->base[k]] + s->offset[k];
            s->fn(p, &one, program[i].step, s->data); /* NumPy's power tests the stride of its exponent */
        } else {
            dg_run_block(program + i, 1, bases, 0, 1, 1, 0, 0);
        }
    }
}

/* Most tiles are away from the ends of the rows. There each instruction covers the same number of rows as in the tile
 * before, or none. Its parameters are collected once for all these tiles, and its addresses move on from tile to tile.
 * */
typedef struct {
    dg_loop fn; /* of an elementwise loop, or NULL */
    void *data;
    const npy_intp *step;
    npy_intp n, rows;
    char *p[DG_PLACES];
    npy_intp move[DG_PLACES];
    const dg_instruction *in;
} dg_turn;

enum { DG_LEAST_TURNS = 3 }; /* least alike tiles for this to pay */

/* The number of rows of the tile that begins with `row`; 0 or less behind the last row. */
static inline npy_intp dg_rows_from(npy_intp row, npy_intp stop, npy_intp block)
{
    return stop - row < block ? stop - row : block;
}

/* The number of whole tiles from `row0` on that are alike in this sense. */
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

/* Run alike tiles, without the first tile of the region; return -1 if memory is short. */
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
        for (int k = 0; k < DG_PLACES; ++k) {
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
            char *p[DG_PLACES]; /* the loop may change them */
            memcpy(p, t->p, sizeof p);
            if (t->fn != NULL) t->fn(p, &t->n, t->step, t->data);
            else dg_execute(t->in, p, t->rows, bases);
            for (int k = 0; k < DG_PLACES; ++k) t->p[k] += t->move[k];
        }
    }
    free(turn);
    return 0;
}

/* Run all tiles of a region from row `start` to row `stop`. */
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

/* Divide the rows into equal parts of whole tiles. A worker's part depends neither on time nor on chunks. */
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

/* Run the next chunk of every part; return 1 if rows are left. */
static __attribute__((unused)) int dg_run_chunk(dg_region *r)
{
    if (r->workers == 1 || dg_parallel(dg_run_part, r, r->workers) != 0)
        for (int w = 0; w < r->workers; ++w) dg_run_part(r, w);
    r->done += r->chunk;
    for (int w = 0; w < r->workers; ++w)
        if (dg_part_start(r, w) + r->done < dg_part_start(r, w + 1)) return 1;
    return 0;
}

#endif
