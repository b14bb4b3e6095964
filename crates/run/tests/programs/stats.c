/* Prints where the words of its threads lie; some share lines. */
#include <stdio.h>

struct stats {
    long hits, *last; /* ; */

    unsigned
    int misses[2];
    struct { char *name; long turn; } slots[4];
};

static volatile struct stats stats = { 1, 0, { 2, 3 } };
volatile long alone;

int main(void)
{
    stats.hits++;
    alone++;
    printf("%p %p %p %p %p\n", (void *)&stats.hits, (void *)&stats.misses[1], (void *)&stats.slots[0].turn,
           (void *)&stats.slots[1].turn, (void *)&alone);
    return stats.misses[1] != 3;
}
