/* Threads that share lines in one way each: share HOW BYTES N [THREADS], where BYTES lie between two threads' words. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long between, repeats;
static char *words;
static _Atomic long turn;

/* Each adds to a word of its own. */
static void *counters(void *rank)
{
    volatile long *mine = (volatile long *)(words + (long)rank * between);
    for (long i = 0; i < repeats; i++)
        ++*mine;
    return NULL;
}

/* Each waits in a loop until it is its turn. */
static void *ring(void *rank)
{
    for (long i = 0; i < repeats; i++) {
        while (atomic_load(&turn) % 2 != (long)rank)
            ;
        atomic_fetch_add(&turn, 1);
    }
    return NULL;
}

int main(int count, char **arguments)
{
    pthread_t threads[64];
    if (count < 4)
        return 2;
    void *(*work)(void *) = strcmp(arguments[1], "ring") ? counters : ring;
    between = atol(arguments[2]);
    repeats = atol(arguments[3]);
    long all = count > 4 ? atol(arguments[4]) : 2;
    if (all > 64 || !(words = aligned_alloc(128, 64 * 128)))
        return 2;
    memset(words, 0, 64 * 128);
    for (long rank = 0; rank < all; rank++)
        if (pthread_create(&threads[rank], NULL, work, (void *)rank))
            return 2;
    for (long rank = 0; rank < all; rank++)
        pthread_join(threads[rank], NULL);
    puts("done");
    return 0;
}
