/* Inner loops that somebody else wrote: those of ufuncs that users bring along, and the few of NumPy's that may fail.
 *
 * Such a loop may change the pointers, lengths and steps that it is given, and it may set a Python error, which it
 * does while it holds the GIL for a moment. So it gets copies, and it is not called while an error is set on the thread:
 * whoever runs loops asks for an error when it has the GIL again. What the loops after the error leave is dropped. A
 * thread without a Python state has no place for an error; there such loops do not run at all.
 */
#ifndef DG_FOREIGN_H
#define DG_FOREIGN_H

#include "vector/loop.h"

enum { DG_FOREIGN_OPERANDS = 4 }; /* operands and the result */

typedef struct {
    dg_loop fn;
    void *data;
    int operands;
} dg_foreign;

/* Whether an error is set on this thread; with or without the GIL, since nobody else writes there. */
static inline int dg_error_set(void)
{
    const PyThreadState *here = PyGILState_GetThisThreadState();
#if PY_VERSION_HEX < 0x030C0000
    return here != NULL && here->curexc_type != NULL;
#else
    return here != NULL && here->current_exception != NULL;
#endif
}

static void dg_foreign_loop(char **args, const npy_intp *dims, const npy_intp *steps, void *data)
{
    const dg_foreign *loop = (const dg_foreign *)data;
    char *p[DG_FOREIGN_OPERANDS];
    npy_intp n = dims[0], s[DG_FOREIGN_OPERANDS];
    if (dg_error_set()) return;
    for (int k = 0; k < loop->operands; ++k) p[k] = args[k], s[k] = steps[k];
    loop->fn(p, &n, s, loop->data);
}

#endif
