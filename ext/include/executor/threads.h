/* A few threads that sleep until there is work for them: spinning would slow other work. Only the calling thread spins
 * for a moment after its own part, since the others are about to finish.
 *
 * One job runs at a time. A thread that comes during another job is turned away and does its work alone. A forked child
 * has neither the threads nor a job of another thread; it starts threads again on first use.
 */
#ifndef DG_THREADS_H
#define DG_THREADS_H

#include "executor/instruction.h"
#include "executor/system.h"
#if defined(__linux__)
#include <sched.h>
#endif

typedef void (*dg_job)(void *data, int worker);

enum { DG_MOMENT = 1000 };

static struct {
    dg_mutex busy;   /* held by the thread that has a job */
    dg_mutex lock;   /* for the fields below */
    dg_condition start, done;
    int started, round, wanted;
    dg_counter left;
    dg_job job;
    void *data;
    dg_thread_id thread[DG_MAX_THREADS];
#if defined(__linux__)
    cpu_set_t place[DG_MAX_THREADS]; /* processors that each may use; empty: not set */
#endif
} dg_pool = {.busy = DG_MUTEX_AT_FIRST, .lock = DG_MUTEX_AT_FIRST,
             .start = DG_CONDITION_AT_FIRST, .done = DG_CONDITION_AT_FIRST};

/* A scheduler may wake a thread on the processor of its waker and leave both there, one after the other, until it
 * balances the load. (Measured: after each pause, 20 calls took twice their time.) So a calling thread keeps its
 * processor for itself. Systems other than Linux place the threads themselves. */
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

#if defined(_WIN32)
static void dg_watch_forks(void) {}
#else
/* In a forked process, the locks may be in any state. */
static void dg_forget_threads(void)
{
    pthread_mutex_init(&dg_pool.busy, 0);
    pthread_mutex_init(&dg_pool.lock, 0);
    pthread_cond_init(&dg_pool.start, 0);
    pthread_cond_init(&dg_pool.done, 0);
    dg_pool.started = 1;
}

static void dg_watch_forks(void) { pthread_atfork(0, 0, dg_forget_threads); }
#endif

DG_THREAD_BODY(dg_worker, arg)
{
    const int number = (int)(intptr_t)arg;
    int seen = 0;
    dg_lock(&dg_pool.lock);
    seen = dg_pool.round - 1; /* run the round for which it was started */
    for (;;) {
        while (dg_pool.round == seen || number >= dg_pool.wanted) {
            seen = dg_pool.round;
            dg_wait(&dg_pool.start, &dg_pool.lock);
        }
        seen = dg_pool.round;
        dg_unlock(&dg_pool.lock);
        dg_pool.job(dg_pool.data, number);
        dg_lock(&dg_pool.lock);
        if (dg_lower(&dg_pool.left) == 0) dg_wake_one(&dg_pool.done);
    }
    return 0;
}

/* Start the next worker. */
static int dg_start_worker(void)
{
    const int number = dg_pool.started;
    if (dg_start_thread(dg_worker, (void *)(intptr_t)number, &dg_pool.thread[number]) != 0) return -1;
#if defined(__linux__)
    CPU_ZERO(&dg_pool.place[number]);
#endif
    dg_pool.started++;
    return 0;
}

/* Run job(data, w) for w = 0 .. workers - 1, number 0 on the calling thread; return -1, without running any, on
 * failure. */
static int dg_parallel(dg_job job, void *data, int workers)
{
    if (!dg_try_lock(&dg_pool.busy)) return -1;
    if (dg_pool.started == 0) {
        dg_watch_forks();
        dg_pool.started = 1; /* the calling thread is number 0 */
    }
    dg_lock(&dg_pool.lock);
    dg_pool.job = job;
    dg_pool.data = data;
    dg_pool.round++;
    dg_pool.wanted = workers;
    while (dg_pool.started < workers && dg_start_worker() == 0) continue;
    if (dg_pool.started < workers) {
        dg_pool.wanted = 0;
        dg_unlock(&dg_pool.lock);
        dg_unlock(&dg_pool.busy);
        return -1;
    }
    dg_keep_apart(workers);
    dg_pool.left = workers - 1;
    dg_wake_all(&dg_pool.start);
    dg_unlock(&dg_pool.lock);
    job(data, 0);
    for (int i = 0; i < DG_MOMENT && dg_count(&dg_pool.left); ++i) DG_PAUSE();
    dg_lock(&dg_pool.lock);
    while (dg_count(&dg_pool.left)) dg_wait(&dg_pool.done, &dg_pool.lock);
    dg_pool.wanted = 0;
    dg_unlock(&dg_pool.lock);
    dg_unlock(&dg_pool.busy);
    return 0;
}

#endif
