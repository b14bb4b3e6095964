/* `single`s that members reach far ahead of one another, across regions, within regions, and from functions. */
#include <omp.h>
#include <stdio.h>

static void work(volatile int *sink, int rounds)
{
    for (int i = 0; i < rounds; i++)
        *sink += i;
}

static void once(int *count)
{
#pragma omp single nowait
    {
#pragma omp atomic
        ++*count;
    }
}

int main(void)
{
    int count = 0, handed = 0;
    omp_set_max_active_levels(2);
    for (int region = 0; region < 40; region++) {
#pragma omp parallel
        {
            volatile int sink = 0;
            for (int turn = 0; turn < 100; turn++) {
                /* One member lags behind the others, a different one each time. */
                if (turn % omp_get_num_threads() == omp_get_thread_num())
                    work(&sink, 200);
                once(&count);
            }
            int value = -1;
#pragma omp single copyprivate(value)
            value = region;
#pragma omp atomic
            handed += value == region;
        }
    }
    printf("once: %d\n", count);
    int threads = omp_get_max_threads();
    printf("handed to all: %d\n", handed == 40 * threads);
    count = 0;
#pragma omp parallel num_threads(2)
    for (int turn = 0; turn < 20; turn++) {
        once(&count);
#pragma omp parallel num_threads(3)
        for (int inner = 0; inner < 5; inner++)
            once(&count);
        once(&count);
    }
    printf("within: %d\n", count);
    once(&count);
    printf("outside: %d\n", count);
    return 0;
}
