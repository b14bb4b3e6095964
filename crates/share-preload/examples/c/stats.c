/*
 * Two threads look keys up and count how that ended: one its hits, the other its misses, in words that lie side by side
 * on one cache line. `coho share` names the line, what it costs, and the fields to separate.
 *
 *   gcc -O2 -g -pthread -o stats stats.c && coho share ./stats
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { LOOKUPS = 50000000 };

struct {
    long hits;
    long misses;
} stats;

/* A few multiplications that wait for each other, as a hash of a key does. */
static uint64_t hash(uint64_t key)
{
    for (int i = 0; i < 4; i++)
        key = (key ^ key >> 31) * 0x9e3779b97f4a7c15;
    return key;
}

static void *look_up(void *counter)
{
    volatile long *count = counter;
    for (uint64_t key = 1; key <= LOOKUPS; key++)
        if (hash(key) != 0)
            ++*count;
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, look_up, &stats.hits);
    pthread_create(&threads[1], NULL, look_up, &stats.misses);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%ld hits, %ld misses\n", stats.hits, stats.misses);
    return 0;
}
