/*
 * An OpenMP runtime's barrier and parallel region beside coho's own, on the same threads where that is possible.
 * Compiled by the compiler whose runtime is to be measured, and loaded into the process that measures.
 */
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdint.h>

typedef uint64_t (*clock_reading)(void);
typedef void (*barrier_wait)(void *barrier, int rank);
typedef void (*serial_part)(uint64_t turns, uint64_t region);

/* Puts the runtime's thread of each rank on its CPU: 0, or the number of threads that could not be pinned. */
int coho_openmp_pin(int threads, const int *cpus)
{
    int failed = 0;
    /* A runtime that starts here counts the CPUs that its first thread may use. */
    cpu_set_t all;
    CPU_ZERO(&all);
    for (int rank = 0; rank < threads; rank++)
        CPU_SET(cpus[rank], &all);
    sched_setaffinity(0, sizeof all, &all);
#pragma omp parallel num_threads(threads) reduction(+ : failed)
    {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(cpus[omp_get_thread_num()], &set);
        failed += sched_setaffinity(0, sizeof set, &set) != 0 || omp_get_num_threads() != threads;
    }
    return failed;
}

/*
 * Bursts of barriers, theirs and ours in turn, by the same threads, so many of each. The clock's readings that each
 * burst took on thread 0 go to `theirs` and `ours`, `bursts` of each.
 */
void coho_openmp_barriers(int threads, long bursts, long their_repeats, long our_repeats, clock_reading now,
                          barrier_wait wait, void *barrier, uint64_t *theirs, uint64_t *ours)
{
#pragma omp parallel num_threads(threads)
    {
        int rank = omp_get_thread_num();
        for (long burst = 0; burst < bursts; burst++) {
#pragma omp barrier
            uint64_t start = now();
            for (long i = 0; i < their_repeats; i++) {
#pragma omp barrier
            }
            uint64_t end = now();
            if (rank == 0)
                theirs[burst] = end - start;
            wait(barrier, rank);
            start = now();
            for (long i = 0; i < our_repeats; i++)
                wait(barrier, rank);
            end = now();
            if (rank == 0)
                ours[burst] = end - start;
        }
    }
}

/*
 * One burst of `repeats` empty parallel regions, each behind a serial part, after a few that wake the threads: the clock's
 * readings it took.
 */
uint64_t coho_openmp_regions(int threads, long repeats, clock_reading now, serial_part serial, uint64_t turns)
{
    for (int i = 0; i < 20; i++) {
#pragma omp parallel num_threads(threads)
        __asm__ volatile("");
    }
    uint64_t start = now();
    for (long i = 0; i < repeats; i++) {
        serial(turns, i);
#pragma omp parallel num_threads(threads)
        __asm__ volatile("");
    }
    return now() - start;
}

/* Ends the runtime's threads, which may spin on otherwise; they are started anew when they are needed. */
void coho_openmp_end(void)
{
    omp_pause_resource_all(omp_pause_hard);
}
