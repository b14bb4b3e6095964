/* A sum on a team of two threads.
 *
 *     cc -o sync sync.c $(pkg-config --cflags --libs coho-sync) && ./sync
 */
#include <stdio.h>

#include "coho_sync.h"

static double squares(void *argument, size_t begin, size_t end)
{
    double sum = 0;
    (void)argument;
    for (size_t i = begin; i < end; i++)
        sum += i * i;
    return sum;
}

int main(void)
{
    double sum;
    coho_team *team;
    if (coho_team_create(2, 0, COHO_SEQUENTIAL, COHO_AUTO, 0, NULL, &team) != COHO_SYNC_OK)
        return 1;
    coho_team_parallel_reduce(team, 0, 100, COHO_STATIC, 0, COHO_SUM, squares, NULL, &sum);
    printf("%.0f\n", sum);
    coho_team_destroy(team);
    return 0;
}
