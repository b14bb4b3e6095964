/* Regions of ever more threads than there are CPUs. */
#include <omp.h>
#include <stdio.h>

int main(void)
{
    int wrong = 0;
    for (int size = 1; size <= 400; size += 13) {
        int met = 0, once = 0;
#pragma omp parallel num_threads(size) reduction(+ : met)
        {
            met += omp_get_num_threads() == size;
#pragma omp barrier
#pragma omp single
            once++;
        }
        wrong += met != size || once != 1;
    }
    printf("%d wrong\n", wrong);
    return 0;
}
