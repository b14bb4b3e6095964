/* The CPUs are those of the moment, and a stack size that is too small is ignored (OMP_STACKSIZE=8). */
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>

int main(void)
{
    int sum = 0;
#pragma omp parallel num_threads(4) reduction(+ : sum)
    {
        volatile char room[100000];
        room[0] = 1;
        room[99999] = 1;
        sum += room[0];
    }
    cpu_set_t mask;
    sched_getaffinity(0, sizeof mask, &mask);
    int before = CPU_COUNT(&mask) == omp_get_num_procs(), first = 0;
    while (!CPU_ISSET(first, &mask))
        first++;
    CPU_ZERO(&mask);
    CPU_SET(first, &mask);
    sched_setaffinity(0, sizeof mask, &mask);
    printf("%d members, CPUs right before: %d, then %d\n", sum, before, omp_get_num_procs());
    return 0;
}
