/* Tasks that depend on all memory (`depend(inout : omp_all_memory)`), which compilers that know it, as GCC 13, write as a null
   pointer; those that do not know it write a null pointer so, too. */
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

#define N 20

static int *const all = 0;

int main(void)
{
    int values[N] = {0}, sums[10] = {0}, seen[10][N], wrong = 0, other = 0;
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < N; i++) {
#pragma omp task depend(inout : values[i]) firstprivate(i) shared(values)
            {
                usleep(50);
                values[i]++;
            }
        }
#pragma omp task depend(inout : *all) firstprivate(round) shared(values, sums)
        {
            for (int i = 0; i < N; i++)
                sums[round] += values[i];
            usleep(200);
            for (int i = 0; i < N; i++)
                values[i]++;
        }
        for (int reader = 0; reader < 2; reader++)
            for (int i = 0; i < N; i++) {
#pragma omp task depend(in : values[i]) firstprivate(round, i) shared(values, seen)
#pragma omp atomic write
                seen[round][i] = values[i];
            }
        /* Also one that is done at once, and a place that was never named. */
#pragma omp task depend(inout : other, *all) if (0) shared(other)
        other++;
#pragma omp task depend(in : other) firstprivate(round) shared(other, wrong)
        if (other != round + 1)
#pragma omp atomic
            wrong++;
    }
    for (int round = 0; round < 10; round++) {
        wrong += sums[round] != (2 * round + 1) * N;
        for (int i = 0; i < N; i++)
            wrong += seen[round][i] != 2 * round + 2;
    }
    printf("%d wrong\n", wrong);
    return 0;
}
