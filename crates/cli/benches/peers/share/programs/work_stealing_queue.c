/* The layout of the queue in taskflow/work-stealing-queue (number 4 there): `top`, which thieves move, and `bottom`,
   which the owner moves, lie next to each other and to the pointer to the tasks. The fix gives each a line of its
   own. Both threads own a queue, and look into the other's now and then. Threads share `top` and `bottom` also where
   these lie apart. */
#include <stdatomic.h>
#include "pair.h"

enum { TASKS = 1024, ROUND = 16, LOOKS = 64 };

#ifdef APART
#define OWN_LINE __attribute__((aligned(2 * LINE)))
#else
#define OWN_LINE
#endif

static struct queue {
    OWN_LINE atomic_long top;
    OWN_LINE atomic_long bottom;
    OWN_LINE atomic_long *tasks;
} queues[2] __attribute__((aligned(2 * LINE)));

static atomic_long tasks[2][TASKS] __attribute__((aligned(LINE)));

static void push(struct queue *queue, long task)
{
    long bottom = atomic_load_explicit(&queue->bottom, memory_order_relaxed);
    atomic_store_explicit(&queue->tasks[bottom % TASKS], task, memory_order_relaxed);
    atomic_store_explicit(&queue->bottom, bottom + 1, memory_order_release);
}

static long pop(struct queue *queue)
{
    long bottom = atomic_load_explicit(&queue->bottom, memory_order_relaxed) - 1;
    atomic_store_explicit(&queue->bottom, bottom, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    long top = atomic_load_explicit(&queue->top, memory_order_relaxed), task = 0;
    if (top <= bottom) {
        task = atomic_load_explicit(&queue->tasks[bottom % TASKS], memory_order_relaxed);
        if (top < bottom)
            return task;
        if (!atomic_compare_exchange_strong(&queue->top, &top, top + 1))
            task = 0;
    }
    atomic_store_explicit(&queue->bottom, bottom + 1, memory_order_relaxed);
    return task;
}

static long steal(struct queue *queue)
{
    long top = atomic_load_explicit(&queue->top, memory_order_acquire);
    atomic_thread_fence(memory_order_seq_cst);
    if (top >= atomic_load_explicit(&queue->bottom, memory_order_acquire))
        return 0;
    long task = atomic_load_explicit(&queue->tasks[top % TASKS], memory_order_relaxed);
    return atomic_compare_exchange_strong(&queue->top, &top, top + 1) ? task : 0;
}

static void work(long rank, long repeats)
{
    struct queue *mine = &queues[rank];
    HIDE(mine);
    mine->tasks = tasks[rank];
    volatile long done = 0;
    /* The other's tasks are there once both have begun. */
    queues[1 - rank].tasks = tasks[1 - rank];
    for (long i = 0; i < repeats; i++) {
        for (int task = 0; task < ROUND; task++)
            push(mine, 1 + task);
        for (int task = 0; task < ROUND; task++)
            done += pop(mine);
        if (i % LOOKS == rank)
            done += steal(&queues[1 - rank]);
    }
}
