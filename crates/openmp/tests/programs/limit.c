/* With OMP_THREAD_LIMIT=6, no more than six threads are at work at once, however regions nest. */
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

static int size_of(int asked)
{
    int size = 0;
#pragma omp parallel num_threads(asked)
#pragma omp single
    size = omp_get_num_threads();
    return size;
}

int main(void)
{
    int at_work = 0, most = 0;
    omp_set_dynamic(0);
    omp_set_max_active_levels(3);
    printf("limit %d: %d of 3, %d of 8, %d of 6\n", omp_get_thread_limit(), size_of(3), size_of(8), size_of(6));
    for (int round = 0; round < 20; round++) {
#pragma omp parallel num_threads(3)
#pragma omp parallel num_threads(5)
#pragma omp parallel num_threads(2)
        {
            int now;
#pragma omp atomic capture
            now = ++at_work;
#pragma omp critical
            if (now > most)
                most = now;
            usleep(500);
#pragma omp atomic
            --at_work;
        }
    }
    printf("%s; afterwards %d of 6\n", most >= 3 && most <= 6 ? "within the limit" : "beyond the limit", size_of(6));
    return 0;
}
