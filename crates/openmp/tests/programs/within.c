/* Teams of three within a team of two. */
#include <omp.h>
#include <stdio.h>

int main(void)
{
    int count = 0;
    omp_set_max_active_levels(2);
    for (int region = 0; region < 20; region++) {
#pragma omp parallel num_threads(2) reduction(+ : count)
        {
#pragma omp parallel num_threads(3) reduction(+ : count)
            count++;
        }
    }
    printf("%d\n", count);
    return 0;
}
