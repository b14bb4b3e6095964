/* Where threads are bound, and what they are told about it. */
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

static void tell(const char *where)
{
    int lines[64][70], size = 0;
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        cpu_set_t mask;
        sched_getaffinity(0, sizeof mask, &mask);
#pragma omp single
        size = omp_get_num_threads();
        lines[me][0] = omp_get_place_num();
        lines[me][1] = omp_get_partition_num_places();
        lines[me][2] = CPU_COUNT(&mask);
        lines[me][3] = -1;
        for (int cpu = 0; cpu < 64; cpu++)
            if (CPU_ISSET(cpu, &mask) && lines[me][3] < 0)
                lines[me][3] = cpu;
        lines[me][4] = omp_get_proc_bind();
    }
    for (int i = 0; i < size; i++)
        printf("%s %d of %d: place %d of %d, %d CPUs from %d, bind %d\n", where, i, size, lines[i][0], lines[i][1],
            lines[i][2], lines[i][3], lines[i][4]);
}

int main(void)
{
    int places = omp_get_num_places();
    printf("places: %d, bind %d\n", places, omp_get_proc_bind());
    for (int place = 0; place < places; place++) {
        int ids[64], count = omp_get_place_num_procs(place);
        omp_get_place_proc_ids(place, ids);
        printf("place %d:", place);
        for (int i = 0; i < count; i++)
            printf(" %d", ids[i]);
        printf("\n");
    }
    tell("first");
    omp_set_num_threads(2);
    tell("two");
#pragma omp parallel num_threads(2) proc_bind(spread)
#pragma omp single
    printf("by the clause: bind %d\n", omp_get_proc_bind());
    printf("afterwards: bind %d\n", omp_get_proc_bind());
    return 0;
}
