/* The layout of Phoenix 2.0's histogram (pthreads), as papers on false sharing describe it: each thread counts red,
   green and blue in arrays of a struct, and the structs lie one after another, so that the last counts of one thread
   and the first of the next share a line. Which are used is up to the picture; this one is bright in blue and dark in
   red. */
#include "pair.h"

struct counts {
    int red[256], green[256], blue[256];
#ifdef APART
    char apart[2 * LINE];
#endif
};

/* As in memory from malloc, which begins 16 bytes into a line. */
static struct {
    char before[16];
    volatile struct counts of[2];
} all __attribute__((aligned(LINE)));

enum { PIXELS = 4096 };

static void work(long rank, long repeats)
{
    static unsigned char picture[PIXELS][3];
    for (int at = 0; at < PIXELS; at++) {
        picture[at][0] = at * 7919 >> 3 & 7;
        picture[at][1] = at * 104729 >> 3 & 255;
        picture[at][2] = 248 + (at * 7919 >> 5 & 7);
    }
    volatile struct counts *mine = &all.of[rank];
    HIDE(mine);
    for (long i = 0; i < repeats; i++)
        for (int at = 0; at < PIXELS; at++) {
            mine->red[picture[at][0]]++;
            mine->green[picture[at][1]]++;
            mine->blue[picture[at][2]]++;
        }
}
