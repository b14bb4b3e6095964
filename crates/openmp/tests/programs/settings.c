/* Settings of the environment, as programs see them. */
#include <omp.h>
#include <stdio.h>

static char deep(int depth)
{
    char room[4096];
    room[depth % 4096] = (char)depth;
    return depth ? room[depth % 4096] + deep(depth - 1) : room[0];
}

int main(void)
{
    omp_sched_t kind;
    int chunk, sum = 0;
    omp_get_schedule(&kind, &chunk);
    printf("schedule %x, %d; limit %d; levels %d; nested %d; dynamic %d; threads %d\n", (unsigned)kind, chunk,
        omp_get_thread_limit(), omp_get_max_active_levels(), omp_get_nested(), omp_get_dynamic(), omp_get_max_threads());
#pragma omp parallel
    {
#pragma omp single
        printf("outer: %d, then %d\n", omp_get_num_threads(), omp_get_max_threads());
#pragma omp parallel num_threads(2)
        {
#pragma omp atomic
            sum += omp_get_num_threads() == 2 && omp_get_level() == 2;
        }
    }
    printf("inner: %d\n", sum > 0 || omp_get_thread_limit() < 100);
    /* Half a mebibyte of stack. */
#pragma omp parallel reduction(+ : sum)
    sum += deep(128) != 0;
    printf("deep: %d\n", sum > 0);
    return 0;
}
