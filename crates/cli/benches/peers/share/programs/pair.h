/* Two threads that do the same, each for its own rank: PROGRAM REPEATS. A program that includes this defines `work`;
   with -DAPART, what its threads write lies on lines of its own. */
#include <pthread.h>
#include <stdlib.h>

#define LINE 64
/* Hides where a pointer points to, so that both builds have the same code: a counter in memory takes twice as long on
   some CPUs if its address is a sum of registers. */
#define HIDE(pointer) __asm__("" : "+r"(pointer))

static void work(long rank, long repeats);

static long pair_repeats;

static void *pair_thread(void *rank)
{
    work((long)rank, pair_repeats);
    return NULL;
}

int main(int count, char **arguments)
{
    pthread_t threads[2];
    if (count != 2 || (pair_repeats = atol(arguments[1])) <= 0)
        return 2;
    for (long rank = 0; rank < 2; rank++)
        if (pthread_create(&threads[rank], NULL, pair_thread, (void *)rank))
            return 2;
    for (long rank = 0; rank < 2; rank++)
        pthread_join(threads[rank], NULL);
    return 0;
}
