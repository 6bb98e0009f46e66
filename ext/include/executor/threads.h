/* A few threads that wait until there is work for them, and sleep: a spinning one would slow other work. Only
 * the calling thread spins for a moment when it has done its part, since the others are about to be done with theirs.
 *
 * One job runs at a time; a thread that comes while another job runs is told so and does the work alone. After a fork the
 * child has none of the threads, nor the job that another thread may have had: they are started anew when they are first
 * needed.
 */
#ifndef DG_THREADS_H
#define DG_THREADS_H

#include "executor/instruction.h"

typedef void (*dg_job)(void *data, int worker);

enum { DG_MOMENT = 1000 };

#if defined(_WIN32)

static int dg_parallel(dg_job job, void *data, int workers)
{
    (void)job, (void)data, (void)workers;
    return -1;
}

#else

#include <pthread.h>
#include <signal.h>
#if defined(__linux__)
#include <sched.h>
#endif

static struct {
    pthread_mutex_t busy;   /* held by the thread that has a job */
    pthread_mutex_t lock;   /* for what follows */
    pthread_cond_t start, done;
    int started, round, left, wanted;
    dg_job job;
    void *data;
    pthread_t thread[DG_MAX_THREADS];
#if defined(__linux__)
    cpu_set_t place[DG_MAX_THREADS]; /* where each may run; empty: not said */
#endif
} dg_pool = {.busy = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER,
             .start = PTHREAD_COND_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};

#if defined(__x86_64__)
#define DG_PAUSE() __builtin_ia32_pause()
#else
#define DG_PAUSE() ((void)0)
#endif

/* A scheduler may wake a thread on the processor of who wakes it, and leave both there, one behind the other, until it
 * balances its load (measured: after each pause 20 calls took twice their time). So a calling thread has the processor
 * that it runs on for itself. */
static void dg_keep_apart(int workers)
{
#if defined(__linux__)
    cpu_set_t others;
    const int here = sched_getcpu();
    if (here < 0 || here >= CPU_SETSIZE || sched_getaffinity(0, sizeof others, &others) != 0) return;
    if (CPU_COUNT(&others) >= workers) CPU_CLR(here, &others); /* else there are not enough */
    for (int w = 1; w < workers; ++w)
        if (!CPU_EQUAL(&others, &dg_pool.place[w])
            && pthread_setaffinity_np(dg_pool.thread[w], sizeof others, &others) == 0)
            dg_pool.place[w] = others;
#else
    (void)workers;
#endif
}

/* In a forked process: the locks may have been copied in any state. */
static void dg_forget_threads(void)
{
    pthread_mutex_init(&dg_pool.busy, 0);
    pthread_mutex_init(&dg_pool.lock, 0);
    pthread_cond_init(&dg_pool.start, 0);
    pthread_cond_init(&dg_pool.done, 0);
    dg_pool.started = 1;
}

static void *dg_worker(void *arg)
{
    const int number = (int)(intptr_t)arg;
    int seen = 0;
    pthread_mutex_lock(&dg_pool.lock);
    seen = dg_pool.round - 1; /* the round it was started for is to be done */
    for (;;) {
        while (dg_pool.round == seen || number >= dg_pool.wanted) {
            seen = dg_pool.round;
            pthread_cond_wait(&dg_pool.start, &dg_pool.lock);
        }
        seen = dg_pool.round;
        pthread_mutex_unlock(&dg_pool.lock);
        dg_pool.job(dg_pool.data, number);
        pthread_mutex_lock(&dg_pool.lock);
        if (__atomic_sub_fetch(&dg_pool.left, 1, __ATOMIC_RELEASE) == 0) pthread_cond_signal(&dg_pool.done);
    }
    return 0;
}

/* Start the next worker. It leaves signals to the threads that handle them, and takes only those that a fault of
 * its own raises. */
static int dg_start_worker(void)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    pthread_attr_t attr;
    sigset_t signals, former;
    int failed;
    sigfillset(&signals);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; ++i) sigdelset(&signals, faults[i]);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &signals, &former); /* a thread begins with the mask of who starts it */
    failed = pthread_create(&dg_pool.thread[dg_pool.started], &attr, dg_worker, (void *)(intptr_t)dg_pool.started);
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    pthread_attr_destroy(&attr);
    if (failed) return -1;
#if defined(__linux__)
    CPU_ZERO(&dg_pool.place[dg_pool.started]);
#endif
    dg_pool.started++;
    return 0;
}

/* job(data, w) for w = 0 .. workers - 1, number 0 on the calling thread; -1, and nothing done, if that cannot be. */
static int dg_parallel(dg_job job, void *data, int workers)
{
    if (pthread_mutex_trylock(&dg_pool.busy) != 0) return -1;
    if (dg_pool.started == 0) {
        pthread_atfork(0, 0, dg_forget_threads);
        dg_pool.started = 1; /* the calling thread is number 0 */
    }
    pthread_mutex_lock(&dg_pool.lock);
    dg_pool.job = job;
    dg_pool.data = data;
    dg_pool.round++;
    dg_pool.wanted = workers;
    while (dg_pool.started < workers && dg_start_worker() == 0) continue;
    if (dg_pool.started < workers) {
        dg_pool.wanted = 0;
        pthread_mutex_unlock(&dg_pool.lock);
        pthread_mutex_unlock(&dg_pool.busy);
        return -1;
    }
    dg_keep_apart(workers);
    dg_pool.left = workers - 1;
    pthread_cond_broadcast(&dg_pool.start);
    pthread_mutex_unlock(&dg_pool.lock);
    job(data, 0);
    for (int i = 0; i < DG_MOMENT && __atomic_load_n(&dg_pool.left, __ATOMIC_ACQUIRE); ++i) DG_PAUSE();
    pthread_mutex_lock(&dg_pool.lock);
    while (dg_pool.left) pthread_cond_wait(&dg_pool.done, &dg_pool.lock);
    dg_pool.wanted = 0;
    pthread_mutex_unlock(&dg_pool.lock);
    pthread_mutex_unlock(&dg_pool.busy);
    return 0;
}

#endif
#endif
