/* A thread adds to a queue's head and another to its tail, N times each: queue N. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct queue {
    long capacity;
    volatile long head, tail;
};

static long repeats;

static void *put(void *queue)
{
    struct queue *mine = queue;
    for (long i = 0; i < repeats; i++)
        mine->tail++;
    return NULL;
}

static void *take(void *queue)
{
    struct queue *mine = queue;
    for (long i = 0; i < repeats; i++)
        mine->head++;
    return NULL;
}

int main(int count, char **arguments)
{
    pthread_t threads[2];
    /* So that its fields never lie across two lines. */
    struct queue *queue = aligned_alloc(64, 64);
    if (count < 2 || !queue)
        return 2;
    repeats = atol(arguments[1]);
    *queue = (struct queue){ 8, 0, 0 };
    pthread_create(&threads[0], NULL, put, queue);
    pthread_create(&threads[1], NULL, take, queue);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    puts(queue->head == queue->tail ? "done" : "lost");
    return 0;
}
