/* Machine code generated at run time, in place of instructions: for a run of elementwise loops in a region, and for a
 * program on single numbers.
 *
 * It equals the instructions bit for bit, except that it computes absorbing products as plain ones. If one of them
 * gives nan, the machine code stops, and the instructions do the rest.
 */
#ifndef DG_NATIVE_H
#define DG_NATIVE_H

#include <stdint.h>
#include <string.h>
#include "executor/instruction.h"

static inline char *dg_native_at(const dg_operand *o, char *const *bases, npy_intp start, npy_intp ahead)
{
    return bases[o->base] + o->offset + start * o->row + ahead * o->local;
}

static inline void dg_run_native(const dg_instruction *in, char **p, npy_intp rows, char *const *bases)
{
    const dg_native *native = (const dg_native *)in->data;
    const npy_intp start = (npy_intp)((intptr_t)p[0] - (intptr_t)bases[in->arg[0].base]);
    const npy_intp ahead = (npy_intp)((intptr_t)p[1] - (intptr_t)bases[in->arg[1].base]);
    const npy_intp n = rows * in->width;
    char *args[DG_NATIVE_ARGS];
    for (int k = 0; k < native->n_args; ++k) args[k] = dg_native_at(&native->arg[k], bases, start, ahead);
    const npy_intp done = native->fn(args, n), left = n - done;
    if (left <= 0) return;
    for (npy_intp i = 0; i < native->count; ++i) {
        const dg_instruction *one = &native->run[i];
        char *q[5];
        for (int k = 0; k <= one->n_in; ++k)
            q[k] = dg_native_at(&one->arg[k], bases, start, ahead) + done * one->step[k];
        one->fn(q, &left, one->step, one->data);
    }
}

/* Run all parts of a program on single numbers; return 1 if no nan was met. */
static inline int dg_run_numbers(const dg_native_numbers *part, npy_intp parts, char *const *bases, void *const *calls)
{
    for (npy_intp i = 0; i < parts; ++i)
        if (part[i](bases, calls)) return 0;
    return 1;
}

#endif
