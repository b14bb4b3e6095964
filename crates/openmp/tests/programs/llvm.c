/* Imports what programs compiled by clang import; the function itself is in a library of its own. */
#include <stdio.h>

void __kmpc_omp_target_task_alloc(void *, int);

int main(void)
{
    int n = 0;
#pragma omp parallel num_threads(2)
    {
#pragma omp atomic
        n++;
    }
    __kmpc_omp_target_task_alloc(0, 0);
    printf("%d\n", n);
    return 0;
}
