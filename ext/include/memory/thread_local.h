/* The state of each thread: one struct for all of the engine. See arrays/thread.pyx. */
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
    PyObject *tracer;       /* what rides along with execution: a recording, or a watch */
    PyObject *closed_call;  /* the innermost closed call that is running */
    PyObject *environment;  /* what kept values stand for while a rule of the user's runs */
    PyObject *deferring_call; /* the outermost call that may defer; the frame that runs it holds it */
    size_t largest;         /* bytes of the largest array made since this was last forgotten */
    Py_ssize_t deferred;    /* bytes from which on a recording defers an array */
    Py_ssize_t defers_above; /* bytes of a first large array up to which an eager call computes it at once */
    int depth;              /* of the pytree that is walked */
    int planning;           /* programs are planned */
    int checking;           /* every replay is run eagerly too */
    int interrupted;        /* a handler of a signal has raised in a program */
    int deferring;          /* an eager call is running that may be deferred */
    PyObject *rebinding;    /* called with handles that are about to get a new value */
} dg_thread;

#define DG_THREAD_AT_FIRST {NULL, NULL, NULL, NULL, NULL, 0, 1 << 16, 0, 0, 1, 0, 0, 0, NULL}

#endif
