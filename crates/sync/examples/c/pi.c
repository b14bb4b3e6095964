/* Pi by numeric integration on a team of threads.
 *
 *     cc -o pi pi.c $(pkg-config --cflags --libs coho-sync) && ./pi
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "coho_sync.h"

enum { STEPS = 1000000 };

struct sum {
    double partial[64][16]; /* a line or two for each member */
    double pi;
};

static void integrate(void *argument, const coho_member *member)
{
    struct sum *sum = argument;
    size_t rank = coho_member_rank(member), size = coho_member_size(member);
    double part = 0;
    for (size_t i = rank; i < STEPS; i += size) {
        double x = (i + 0.5) / STEPS;
        part += 4 / (1 + x * x);
    }
    sum->partial[rank][0] = part;
    coho_member_barrier(member);
    if (coho_member_single(member)) {
        double pi = 0;
        for (size_t other = 0; other < size; other++)
            pi += sum->partial[other][0];
        sum->pi = pi / STEPS;
    }
}

int main(void)
{
    static struct sum sum;
    coho_team *team;
    enum coho_sync_status status = coho_team_create(2, 0, COHO_SEQUENTIAL, COHO_AUTO, 0, &team);
    if (status == COHO_SYNC_OK)
        status = coho_team_run(team, integrate, &sum);
    if (status != COHO_SYNC_OK) {
        fprintf(stderr, "pi: %s\n", coho_sync_status_text(status));
        return EXIT_FAILURE;
    }
    printf("%.6f\n", sum.pi);
    coho_team_destroy(team);
    return fabs(sum.pi - 3.141593) < 1e-6 ? EXIT_SUCCESS : EXIT_FAILURE;
}
