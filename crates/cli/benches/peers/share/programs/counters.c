/* A counter for each thread, BETWEEN additions in a register between two steps of it. */
#include "pair.h"

static struct counter {
    volatile long value;
#ifdef APART
    char apart[LINE - sizeof(long)];
#endif
} counters[2] __attribute__((aligned(LINE)));

static void work(long rank, long repeats)
{
    volatile long *mine = &counters[rank].value;
    HIDE(mine);
    long sum = rank;
    for (long i = 0; i < repeats; i++) {
        ++*mine;
        for (int one = 0; one < BETWEEN; one++)
            __asm__ volatile("add $1, %0" : "+r"(sum));
    }
}
