/* Thread-local variables. */
#ifndef DG_THREAD_LOCAL_H
#define DG_THREAD_LOCAL_H

#if defined(_MSC_VER)
#define DG_THREAD_LOCAL __declspec(thread)
#else
#define DG_THREAD_LOCAL _Thread_local
#endif

#endif
