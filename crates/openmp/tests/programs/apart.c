/* Regions between which the threads sleep: in how many the two were on different CPUs, and how many CPUs each may use
   afterwards. */
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

enum { REGIONS = 60 };

int main(void)
{
    int apart = 0, allowed[2];
    for (int region = 0; region < REGIONS; region++) {
        int cpu[2];
        usleep(3000);
#pragma omp parallel num_threads(2)
        {
            cpu[omp_get_thread_num()] = sched_getcpu();
#pragma omp barrier
        }
        apart += cpu[0] != cpu[1];
    }
#pragma omp parallel num_threads(2)
    {
        cpu_set_t mask;
        sched_getaffinity(0, sizeof mask, &mask);
        allowed[omp_get_thread_num()] = CPU_COUNT(&mask);
    }
    printf("%d %d %d %d\n", REGIONS, apart, allowed[0], allowed[1]);
    return 0;
}
