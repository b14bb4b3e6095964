/* Lays out memory by the most threads of a region. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    int most = omp_get_max_threads(), size = 0;
    char (*lines)[4096] = malloc((size_t)most * sizeof *lines);
    memset(lines[most - 1], 1, sizeof *lines);
#pragma omp parallel num_threads(2)
    {
        lines[omp_get_thread_num()][0] = 2;
#pragma omp single
        size = omp_get_num_threads();
    }
    omp_set_num_threads(2000000000);
    printf("%d %d %d\n", most, omp_get_max_threads(), size);
    free(lines);
    return 0;
}
