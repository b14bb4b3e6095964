/* The times of tasks, one a line: its name and nanoseconds. */
#include "flags.h"
#include <omp.h>
#include <stdio.h>

static long fib(int n)
{
    if (n < 2)
        return n;
    long a, b;
#pragma omp task shared(a)
    a = fib(n - 1);
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

int main(void)
{
    double begun = 0;
    print_flags();
    for (int warm = 0; warm < 2; warm++) {
        begun = omp_get_wtime();
#pragma omp parallel
#pragma omp single
        for (int i = 0; i < 20000; i++) {
#pragma omp task
            __asm__ volatile("");
        }
    }
    printf("task %.1f\n", (omp_get_wtime() - begun) / 20000 * 1e9);
    long result = 0;
    for (int warm = 0; warm < 2; warm++) {
        begun = omp_get_wtime();
#pragma omp parallel
#pragma omp single
        result = fib(20);
    }
    printf("task and wait %.1f\n", (omp_get_wtime() - begun) / 10945 * 1e9);
    print_flags();
    return result != 6765;
}
