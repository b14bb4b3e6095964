/* A barrier after a little work, beside the work alone and the barrier alone, and beside two plain flags that each thread
   raises for the other. All in turn, in blocks of less than a millisecond, so that a host that moves the CPUs about moves
   them alike. A line for each block: nanoseconds of a turn. */
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>

enum { TURNS = 300, BLOCKS = 400, ITERATIONS = 110 };
enum { WORK, BARRIER, BOTH, WORK_AND_FLAGS, KINDS };

static volatile double kept[2];
static double times[BLOCKS][KINDS];
static struct {
    _Alignas(128) atomic_int raised;
} flags[2];

__attribute__((noinline)) static double work(double x)
{
    for (int i = 0; i < ITERATIONS; i++)
        x = x * 0.999999 + 1e-9;
    return x;
}

static void meet(int rank, int turn)
{
    atomic_store_explicit(&flags[rank].raised, turn, memory_order_release);
    while (atomic_load_explicit(&flags[1 - rank].raised, memory_order_acquire) < turn)
        ;
}

int main(void)
{
#pragma omp parallel num_threads(2)
    {
        int rank = omp_get_thread_num(), met = 0;
        double x = rank;
        for (int block = 0; block < BLOCKS; block++)
            for (int kind = 0; kind < KINDS; kind++) {
#pragma omp barrier
                double begun = omp_get_wtime();
                for (int turn = 0; turn < TURNS; turn++) {
                    if (kind != BARRIER && (kind != WORK || rank == 0))
                        x = work(x);
                    if (kind == WORK_AND_FLAGS)
                        meet(rank, ++met);
                    if (kind == BARRIER || kind == BOTH) {
#pragma omp barrier
                    }
                }
                if (rank == 0)
                    times[block][kind] = (omp_get_wtime() - begun) * 1e9 / TURNS;
            }
        kept[rank] = x;
    }
    for (int block = 0; block < BLOCKS; block++)
        printf("%.1f %.1f %.1f %.1f\n", times[block][WORK], times[block][BARRIER], times[block][BOTH],
               times[block][WORK_AND_FLAGS]);
    return 0;
}
