/* Pi by numeric integration on a team of threads.
 *
 *     cc -o pi pi.c $(pkg-config --cflags --libs coho-sync) && ./pi
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "coho_sync.h"

enum { STEPS = 1000000 };

static double area(void *argument, size_t begin, size_t end)
{
    double sum = 0, width = *(double *)argument;
    for (size_t i = begin; i < end; i++) {
        double x = (i + 0.5) * width;
        sum += 4 / (1 + x * x) * width;
    }
    return sum;
}

/* The same in a region of its own, as part of a longer one would. */
static void integrate(void *argument, const coho_member *member)
{
    double width = 1.0 / STEPS, part, pi;
    size_t rank = coho_member_rank(member), size = coho_member_size(member);
    part = area(&width, STEPS / size * rank, rank + 1 == size ? STEPS : STEPS / size * (rank + 1));
    coho_member_reduce(member, COHO_SUM, part, &pi);
    if (coho_member_single(member))
        *(double *)argument = pi;
}

int main(void)
{
    double width = 1.0 / STEPS, pi = 0, again = 0;
    coho_team *team;
    enum coho_sync_status status = coho_team_create(2, 0, COHO_SEQUENTIAL, COHO_AUTO, 0, NULL, &team);
    if (status == COHO_SYNC_OK)
        status = coho_team_parallel_reduce(team, 0, STEPS, COHO_STATIC, 0, COHO_SUM, area, &width, &pi);
    if (status == COHO_SYNC_OK)
        status = coho_team_run(team, integrate, &again);
    if (status != COHO_SYNC_OK) {
        fprintf(stderr, "pi: %s\n", coho_sync_status_text(status));
        return EXIT_FAILURE;
    }
    printf("%.6f %.6f\n", pi, again);
    coho_team_destroy(team);
    return fabs(pi - 3.141593) < 1e-6 && fabs(again - pi) < 1e-9 ? EXIT_SUCCESS : EXIT_FAILURE;
}
