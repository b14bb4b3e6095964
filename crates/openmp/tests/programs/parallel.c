/* Regions: their sizes, clauses, levels, and one inside another. */
#include <omp.h>
#include <stdio.h>

static int nested(int outer, int inner)
{
    int count = 0;
#pragma omp parallel num_threads(outer)
    {
        int above = omp_get_thread_num();
#pragma omp parallel num_threads(inner) shared(count)
        {
#pragma omp atomic
            count += 1 + 100 * omp_get_level() + 1000 * (omp_get_ancestor_thread_num(1) == above)
                + 10000 * (omp_get_team_size(2) == omp_get_num_threads()) + 100000 * omp_get_active_level();
        }
    }
    return count;
}

int main(void)
{
    int seen[64] = {0}, total = 0, first = 1, lasting = 0;
    printf("outside: %d %d %d %d\n", omp_get_thread_num(), omp_get_num_threads(), omp_in_parallel(), omp_get_level());
    for (int size = 1; size <= 5; size++) {
#pragma omp parallel num_threads(size) reduction(+ : total) firstprivate(first)
        {
#pragma omp atomic
            seen[omp_get_thread_num()]++;
            total += omp_get_num_threads() * first;
            first = 100;
        }
    }
    printf("sizes: %d; members: %d %d %d %d %d %d\n", total, seen[0], seen[1], seen[2], seen[3], seen[4], seen[5]);
#pragma omp parallel if (total < 0)
    printf("if: %d of %d at level %d, active %d\n", omp_get_thread_num(), omp_get_num_threads(), omp_get_level(), omp_in_parallel());
    printf("nested, off: %d\n", nested(2, 3));
    omp_set_max_active_levels(2);
    printf("nested, on: %d %d %d\n", nested(2, 3), nested(1, 3), nested(3, 1));
    for (int turn = 0; turn < 300; turn++)
        lasting += nested(2, 1 + turn % 3);
    printf("nested, many: %d\n", lasting);
    omp_set_num_threads(3);
    total = 0;
#pragma omp parallel reduction(+ : total)
    {
        omp_set_num_threads(omp_get_thread_num() + 5);
        total += omp_get_max_threads();
    }
    printf("set: %d, then %d\n", total, omp_get_max_threads());
    /* To one thread and back, as linear-algebra libraries do. */
    total = 0;
    for (int turn = 0; turn < 3000; turn++) {
#pragma omp parallel num_threads(turn % 2 ? 1 : 4) reduction(+ : total)
        total += omp_get_thread_num() + 1;
    }
    printf("to and fro: %d\n", total);
    /* Larger than ever before, after regions within regions. */
    total = 0;
#pragma omp parallel num_threads(9) reduction(+ : total)
    total += omp_get_num_threads();
    printf("larger: %d; nested again: %d\n", total, nested(2, 3));
    return 0;
}
