/* A few threads that wait until there is work for them, and sleep: a spinning one would slow whoever is timed next.
 *
 * One job runs at a time; whoever comes while another job runs is told so and does the work alone. After a fork the
 * child has none of the threads, nor the job that another thread may have had: they are started anew when they are first
 * needed.
 */
#ifndef DG_THREADS_H
#define DG_THREADS_H

typedef void (*dg_job)(void *data, int worker);

enum { DG_MAX_THREADS = 64 };

#if defined(_WIN32)

static int dg_parallel(dg_job job, void *data, int workers)
{
    (void)job, (void)data, (void)workers;
    return -1;
}

#else

#include <pthread.h>

static struct {
    pthread_mutex_t busy;   /* held by whoever has a job */
    pthread_mutex_t lock;   /* for what follows */
    pthread_cond_t start, done;
    int started, round, left, wanted;
    dg_job job;
    void *data;
} dg_pool = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER,
             0, 0, 0, 0, 0, 0};

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
        if (--dg_pool.left == 0) pthread_cond_signal(&dg_pool.done);
    }
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
    while (dg_pool.started < workers) {
        pthread_t thread;
        pthread_attr_t attr;
        int failed;
        pthread_attr_init(&attr);
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
        failed = pthread_create(&thread, &attr, dg_worker, (void *)(intptr_t)dg_pool.started);
        pthread_attr_destroy(&attr);
        if (failed) break;
        dg_pool.started++;
    }
    if (dg_pool.started < workers) {
        dg_pool.wanted = 0;
        pthread_mutex_unlock(&dg_pool.lock);
        pthread_mutex_unlock(&dg_pool.busy);
        return -1;
    }
    dg_pool.left = workers - 1;
    pthread_cond_broadcast(&dg_pool.start);
    pthread_mutex_unlock(&dg_pool.lock);
    job(data, 0);
    pthread_mutex_lock(&dg_pool.lock);
    while (dg_pool.left) pthread_cond_wait(&dg_pool.done, &dg_pool.lock);
    dg_pool.wanted = 0;
    pthread_mutex_unlock(&dg_pool.lock);
    pthread_mutex_unlock(&dg_pool.busy);
    return 0;
}

#endif
#endif
