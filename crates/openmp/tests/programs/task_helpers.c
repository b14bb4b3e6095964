/* Tasks that a member leaves at the end of a region to those that are at its end already: two at a time, each of which
   waits for the other. And regions without tasks, in a program that has some. */
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

static int alone;

static void meet(int *met)
{
    int now;
#pragma omp atomic update
    (*met)++;
    double begun = omp_get_wtime();
    do {
#pragma omp atomic read
        now = *met;
        usleep(1);
    } while (now < 2 && omp_get_wtime() - begun < 20);
    if (now < 2) {
#pragma omp atomic
        alone++;
    }
}

int main(void)
{
    int none = 0;
    for (int round = 0; round < 100; round++) {
        int met = 0, maker = round % 2;
#pragma omp parallel num_threads(2) shared(met)
        if (omp_get_thread_num() == maker) {
            if (round % 5 == 0)
                usleep(3000);
#pragma omp task shared(met)
            meet(&met);
#pragma omp task shared(met)
            {
                /* Its child outlives it. */
#pragma omp task shared(met)
                meet(&met);
            }
        }
        if (met != 2)
            printf("round %d ended with %d\n", round, met);
#pragma omp parallel num_threads(2) reduction(+ : none)
        none++;
    }
    printf("%d alone, %d\n", alone, none);
    return 0;
}
