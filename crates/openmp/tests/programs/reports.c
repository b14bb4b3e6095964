/* A library whose functions have names that begin like OpenMP's. */
#include <stdio.h>

void omp_report(int members)
{
    printf("%d members\n", members);
}
