/* Common names for the locks, conditions and threads of operating systems. */
#ifndef DG_SYSTEM_H
#define DG_SYSTEM_H

#include "vector/compiler.h"

#if defined(_WIN32)

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <process.h>
#include <windows.h>
/* Macros for segmented memory, which are identifiers elsewhere. */
#undef near
#undef far

typedef SRWLOCK dg_mutex;
typedef CONDITION_VARIABLE dg_condition;
typedef HANDLE dg_thread_id;

#define DG_MUTEX_AT_FIRST SRWLOCK_INIT
#define DG_CONDITION_AT_FIRST CONDITION_VARIABLE_INIT
#define DG_THREAD_BODY(NAME, arg) static unsigned __stdcall NAME(void *arg)
typedef unsigned(__stdcall *dg_thread_body)(void *);

static inline void dg_lock(dg_mutex *m) { AcquireSRWLockExclusive(m); }
static inline void dg_unlock(dg_mutex *m) { ReleaseSRWLockExclusive(m); }
static inline int dg_try_lock(dg_mutex *m) { return TryAcquireSRWLockExclusive(m) != 0; }
static inline void dg_wait(dg_condition *c, dg_mutex *m) { SleepConditionVariableSRW(c, m, INFINITE, 0); }
static inline void dg_wake_one(dg_condition *c) { WakeConditionVariable(c); }
static inline void dg_wake_all(dg_condition *c) { WakeAllConditionVariable(c); }

/* Start a detached thread; return -1 on failure. */
static inline int dg_start_thread(dg_thread_body body, void *arg, dg_thread_id *id)
{
    *id = (HANDLE)_beginthreadex(NULL, 0, body, arg, 0, NULL);
    return *id == NULL ? -1 : 0;
}

#define DG_PAUSE() YieldProcessor()

/* A counter that several threads read and lower. */
typedef volatile LONG dg_counter;
static inline int dg_lower(dg_counter *c) { return (int)InterlockedDecrement(c); }
static inline int dg_count(dg_counter *c) { return (int)InterlockedCompareExchange(c, 0, 0); }

#else

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

/* glibc 2.32 and 2.34 moved these functions to another library, under new symbol versions. The first versions are the
 * same functions. A module that asks for them runs on older systems, too, even if it was linked on a new one. */
#if defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))
#if defined(__x86_64__)
#define DG_FIRST_VERSION(NAME, VERSION) __asm__(".symver " #NAME "," #NAME "@GLIBC_" VERSION);
#else
#define DG_FIRST_VERSION(NAME, VERSION) __asm__(".symver " #NAME "," #NAME "@GLIBC_2.17");
#endif
#if __GLIBC_PREREQ(2, 32)
DG_FIRST_VERSION(pthread_sigmask, "2.2.5")
#endif
#if __GLIBC_PREREQ(2, 34)
DG_FIRST_VERSION(pthread_create, "2.2.5")
DG_FIRST_VERSION(pthread_mutex_trylock, "2.2.5")
DG_FIRST_VERSION(pthread_setaffinity_np, "2.3.4")
#endif
#endif

typedef pthread_mutex_t dg_mutex;
typedef pthread_cond_t dg_condition;
typedef pthread_t dg_thread_id;

#define DG_MUTEX_AT_FIRST PTHREAD_MUTEX_INITIALIZER
#define DG_CONDITION_AT_FIRST PTHREAD_COND_INITIALIZER
#define DG_THREAD_BODY(NAME, arg) static void *NAME(void *arg)
typedef void *(*dg_thread_body)(void *);

static inline void dg_lock(dg_mutex *m) { pthread_mutex_lock(m); }
static inline void dg_unlock(dg_mutex *m) { pthread_mutex_unlock(m); }
static inline int dg_try_lock(dg_mutex *m) { return pthread_mutex_trylock(m) == 0; }
static inline void dg_wait(dg_condition *c, dg_mutex *m) { pthread_cond_wait(c, m); }
static inline void dg_wake_one(dg_condition *c) { pthread_cond_signal(c); }
static inline void dg_wake_all(dg_condition *c) { pthread_cond_broadcast(c); }

/* Start a detached thread; return -1 on failure. The thread blocks all signals except those that a fault of its own
 * raises, so other threads handle them. */
static inline int dg_start_thread(dg_thread_body body, void *arg, dg_thread_id *id)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    pthread_attr_t attr;
    sigset_t signals, former;
    int failed;
    sigfillset(&signals);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; ++i) sigdelset(&signals, faults[i]);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &signals, &former); /* a thread inherits the mask of its creator */
    failed = pthread_create(id, &attr, body, arg);
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    pthread_attr_destroy(&attr);
    return failed ? -1 : 0;
}

#if defined(__x86_64__)
#define DG_PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define DG_PAUSE() __asm__ volatile("yield")
#else
#define DG_PAUSE() ((void)0)
#endif

/* A counter that several threads read and lower. */
typedef int dg_counter;
static inline int dg_lower(dg_counter *c) { return __atomic_sub_fetch(c, 1, __ATOMIC_RELEASE); }
static inline int dg_count(dg_counter *c) { return __atomic_load_n(c, __ATOMIC_ACQUIRE); }

#endif
#endif
