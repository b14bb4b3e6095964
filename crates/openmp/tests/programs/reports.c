/* A library whose functions have names that begin as OpenMP's do. */
#include <stdio.h>

void omp_report(int members)
{
    printf("%d members\n", members);
}
