/* Inner loops from outside: loops of users' ufuncs, and the few NumPy loops that may fail.
 *
 * Such a loop may change its pointers, lengths and steps, so it gets copies. It may take the GIL and set a Python
 * error. While the thread has an error, the loop is not called again. When the caller has the GIL again, it checks for
 * an error and then drops the results. Such loops never run on a thread without a Python state, which cannot hold an
 * error.
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

/* Return 1 if this thread has a Python error. It needs no GIL: only this thread writes the error. */
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
