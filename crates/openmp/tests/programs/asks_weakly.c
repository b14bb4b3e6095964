/* Tests whether OpenMP is there, like libraries that can do without it. */
#include <stdio.h>

__attribute__((weak)) int omp_get_max_threads(void);
__attribute__((weak)) int omp_in_parallel(void);

int main(void)
{
    printf("%d\n", omp_get_max_threads ? omp_get_max_threads() : 1);
    printf("%d\n", omp_in_parallel ? omp_in_parallel() : 0);
    return 0;
}
