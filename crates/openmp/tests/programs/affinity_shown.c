/* Regions one after the other, as the words on the command line say: a number of threads; `m`, `s`, `c`: two that are bound
   by a clause; `n`: regions of three within one of two; `i`: one that is not to be; `f`: another format. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

/* Compilers leave out regions in which nothing is done. */
static void something(void)
{
    __asm__ volatile("" ::: "memory");
}

/* The runtimes show threads in one file or in the other. */
static void mark(const char *word)
{
    printf("-- %s\n", word);
    fflush(stdout);
    fprintf(stderr, "-- %s\n", word);
}

static void nested(void)
{
#pragma omp parallel num_threads(2)
    for (int turn = 0; turn < 2; turn++) {
#pragma omp barrier
        if (omp_get_thread_num() == turn) {
            mark("within");
#pragma omp parallel num_threads(3)
            something();
        }
    }
}

int main(int arguments, char **words)
{
    for (int i = 1; i < arguments; i++) {
        mark(words[i]);
        int threads = atoi(words[i]);
        switch (words[i][0]) {
        case 'm':
#pragma omp parallel num_threads(2) proc_bind(master)
        something();
        break;
        case 's':
#pragma omp parallel num_threads(2) proc_bind(spread)
        something();
        break;
        case 'c':
#pragma omp parallel num_threads(2) proc_bind(close)
        something();
        break;
        case 'n':
            nested();
            break;
        case 'i':
#pragma omp parallel if (threads)
        something();
        break;
        case 'f':
            omp_set_affinity_format("now %n of %N {%A}");
            break;
        default:
#pragma omp parallel num_threads(threads)
        something();
        }
    }
    mark("end");
    return 0;
}
