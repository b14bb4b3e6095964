/* Reductions in which tasks take part: of loops, sections, scopes and task groups. */
#include <stdio.h>

int main(void)
{
    int loop = 0, sections = 0, scope = 0, group = 0;
#pragma omp parallel num_threads(3)
    {
#pragma omp for reduction(task, + : loop) schedule(dynamic)
        for (int i = 0; i < 50; i++) {
#pragma omp task in_reduction(+ : loop)
            loop += i;
        }
#pragma omp sections reduction(task, + : sections)
        {
            sections += 1;
#pragma omp section
            sections += 2;
        }
#pragma omp scope reduction(task, + : scope)
        scope += 1;
#pragma omp single
#pragma omp taskgroup task_reduction(+ : group)
        for (int i = 0; i < 50; i++) {
#pragma omp task in_reduction(+ : group)
            group += i;
        }
    }
    printf("%d %d %d %d\n", loop, sections, scope, group);
    return 0;
}
