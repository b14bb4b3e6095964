/* How far apart two threads are: nanoseconds that it takes both to raise a flag of their own and see the other's. Tells in
   which of its places a host runs two CPUs, whatever runtime the program has. */
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>

enum { FLAG_TURNS = 4000 };

static void print_flags(void)
{
    static struct {
        _Alignas(128) atomic_int raised;
    } flags[2];
    double took = 0;
    if (omp_get_max_threads() < 2)
        return;
#pragma omp parallel num_threads(2)
    {
        int rank = omp_get_thread_num();
        int before = atomic_load(&flags[rank].raised);
        double begun = 0;
        for (int turn = 1; turn <= 2 * FLAG_TURNS && omp_get_num_threads() == 2; turn++) {
            if (turn == FLAG_TURNS)
                begun = omp_get_wtime();
            atomic_store_explicit(&flags[rank].raised, before + turn, memory_order_release);
            while (atomic_load_explicit(&flags[1 - rank].raised, memory_order_acquire) < before + turn)
                ;
        }
        if (rank == 0)
            took = omp_get_wtime() - begun;
    }
    printf("flags %.1f\n", took / FLAG_TURNS * 1e9);
}
