/* Threads of OpenMP that add to elements of an array beside each other. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static long sums[8];

int main(int count, char **arguments)
{
    long repeats = count > 1 ? atol(arguments[1]) : 100000;
#pragma omp parallel num_threads(2)
    {
        volatile long *mine = &sums[omp_get_thread_num()];
#pragma omp for
        for (long i = 0; i < repeats; i++)
            *mine += i;
    }
    printf("%ld\n", sums[0] + sums[1]);
}
