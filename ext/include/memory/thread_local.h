/* The state of each thread: one struct for the whole engine. See arrays/thread.pyx. */
#ifndef DG_THREAD_LOCAL_H
#define DG_THREAD_LOCAL_H

#include <Python.h>

#if defined(_MSC_VER)
#define DG_THREAD_LOCAL __declspec(thread)
#else
#define DG_THREAD_LOCAL _Thread_local
#endif

typedef struct {
    PyObject *level;        /* the innermost open level */
    PyObject *tracer;       /* executes the primitives: a recording or a watch */
    PyObject *closed_call;  /* the innermost closed call that is running */
    PyObject *environment;  /* meaning of kept values while a user's rule runs */
    PyObject *deferring_call; /* the outermost call that may defer; its frame holds the reference */
    size_t largest;         /* bytes of the largest array since the last reset */
    Py_ssize_t deferred;    /* least bytes of an array that a recording defers */
    Py_ssize_t defers_above; /* an eager call defers only if its first large array exceeds these bytes */
    int depth;              /* current depth in a pytree */
    int planning;           /* programs are planned */
    int checking;           /* every replay also runs eagerly, for comparison */
    int interrupted;        /* a signal handler has raised in a program */
    int deferring;          /* an eager call that may defer is running */
    PyObject *rebinding;    /* called with handles that are about to get a new value */
} dg_thread;

#define DG_THREAD_AT_FIRST {NULL, NULL, NULL, NULL, NULL, 0, 1 << 16, 0, 0, 1, 0, 0, 0, NULL}

#endif
