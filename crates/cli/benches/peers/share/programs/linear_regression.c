/* The layout of Phoenix 2.0's linear_regression (pthreads), as papers on false sharing describe it: a thread's
   arguments and its five sums are one struct, and the structs of all threads are one array. The fix is a struct that
   fills lines. */
#include "pair.h"

struct point {
    unsigned char x, y;
};

struct arguments {
    pthread_t thread;
    const struct point *points;
    int count;
    volatile long long x, y, xx, yy, xy;
#ifdef APART
    char apart[2 * LINE - sizeof(pthread_t) - sizeof(void *) - 6 * sizeof(long long)];
#endif
};

/* As in memory from malloc, which begins 16 bytes into a line. */
static struct {
#ifdef APART
    char before[LINE];
#else
    char before[16];
#endif
    struct arguments of[2];
} all __attribute__((aligned(LINE)));

enum { POINTS = 4096 };
static struct point points[POINTS];

static void work(long rank, long repeats)
{
    struct arguments *mine = &all.of[rank];
    HIDE(mine);
    mine->points = points;
    mine->count = POINTS;
    for (long i = 0; i < repeats; i++)
        for (int at = 0; at < mine->count; at++) {
            long long x = mine->points[at].x, y = mine->points[at].y;
            mine->x += x;
            mine->xx += x * x;
            mine->y += y;
            mine->yy += y * y;
            mine->xy += x * y;
        }
}
