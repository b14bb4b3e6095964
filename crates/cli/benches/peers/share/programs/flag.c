/* One thread counts, and the other looks at a flag that nobody sets, and counts for itself. */
#include "pair.h"

static struct {
    volatile long counter;
#ifdef APART
    char apart[LINE - sizeof(long)];
#endif
    volatile int flag;
} state __attribute__((aligned(LINE)));

static void work(long rank, long repeats)
{
    volatile long own[LINE / sizeof(long)] = {0};
    for (long i = 0; i < repeats; i++) {
        if (rank == 0)
            state.counter++;
        else if (!state.flag)
            own[0]++;
        for (int one = 0; one < 8; one++)
            own[1 + one % 4] += i;
    }
}
