/* Heat along a rod of 1000 points, 200 000 steps with a barrier each.
 *
 *     gcc -O2 -fopenmp heat.c -o heat
 *     coho run --openmp --try -- ./heat
 */
#include <stdio.h>

enum { POINTS = 1000, STEPS = 200000 };

static double rod[2][POINTS];

int main(void)
{
    rod[0][0] = rod[1][0] = 1;
#pragma omp parallel
    for (int step = 0; step < STEPS; step++) {
        const double *now = rod[step % 2];
        double *next = rod[(step + 1) % 2];
#pragma omp for
        for (int i = 1; i < POINTS - 1; i++)
            next[i] = now[i] + 0.25 * (now[i - 1] - 2 * now[i] + now[i + 1]);
    }
    printf("%.6f at a tenth of the rod\n", rod[STEPS % 2][POINTS / 10]);
    return 0;
}
