/* What constructs take, a line each: its name and nanoseconds. With a name, only that one, whole. Before and after, how far
   apart two threads are. */
#include "flags.h"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long sum;
/* Written, so that the work is not optimised away. */
static volatile double kept;
#pragma omp threadprivate(kept)

static double work(double x, int rounds)
{
    for (int i = 0; i < rounds; i++)
        x = x * 0.999999 + 1e-9;
    return x;
}

/* Times a number of turns of a construct that every member of a team goes through. */
#define MEMBERS(name, turns, body)                                                                             \
    do {                                                                                                       \
        double begun = 0, ended = 0;                                                                           \
        _Pragma("omp parallel") {                                                                              \
            for (int warm = 0; warm < 2; warm++) {                                                             \
                _Pragma("omp barrier") _Pragma("omp master") begun = omp_get_wtime();                          \
                for (int turn = 0; turn < turns; turn++) {                                                     \
                    body                                                                                       \
                }                                                                                              \
                _Pragma("omp barrier") _Pragma("omp master") ended = omp_get_wtime();                          \
            }                                                                                                  \
        }                                                                                                      \
        printf("%s %.1f\n", name, (ended - begun) / (turns) * 1e9);                                            \
    } while (0)

/* Times a number of turns of what the first thread does. */
#define REGIONS(name, turns, body)                                                                             \
    do {                                                                                                       \
        double begun = 0;                                                                                      \
        for (int warm = 0; warm < 2; warm++) {                                                                 \
            begun = omp_get_wtime();                                                                           \
            for (int turn = 0; turn < turns; turn++) {                                                         \
                body                                                                                           \
            }                                                                                                  \
        }                                                                                                      \
        printf("%s %.1f\n", name, (omp_get_wtime() - begun) / (turns) * 1e9);                                  \
    } while (0)

static void constructs(void)
{
    omp_lock_t lock;
    omp_init_lock(&lock);
    MEMBERS("barrier", 20000, _Pragma("omp barrier"));
    REGIONS("region", 20000, _Pragma("omp parallel") { __asm__ volatile(""); });
    REGIONS("reduction", 10000, long part = 0; _Pragma("omp parallel reduction(+ : part)") part++; sum += part;);
    MEMBERS("for static", 10000, _Pragma("omp for schedule(static)") for (int i = 0; i < 64; i++) __asm__ volatile(""););
    MEMBERS("for dynamic,1", 1000, _Pragma("omp for schedule(dynamic, 1)") for (int i = 0; i < 128; i++) __asm__ volatile(""););
    MEMBERS("for guided", 2000, _Pragma("omp for schedule(guided)") for (int i = 0; i < 128; i++) __asm__ volatile(""););
    MEMBERS("single", 5000, _Pragma("omp single") sum++;);
    MEMBERS("critical", 10000, _Pragma("omp critical") sum++;);
    MEMBERS("lock", 10000, omp_set_lock(&lock); sum++; omp_unset_lock(&lock););
    MEMBERS("sections", 2000, _Pragma("omp sections") {
        _Pragma("omp section") __asm__ volatile("");
        _Pragma("omp section") __asm__ volatile("");
    });
    MEMBERS("ordered", 200, _Pragma("omp for ordered schedule(static, 1)") for (int i = 0; i < 32; i++)
        _Pragma("omp ordered") sum++;);
    omp_destroy_lock(&lock);
}

/* As many barriers as in a run of a barrier-bound program, around little work. */
static void barriers(void)
{
#pragma omp parallel
    {
        double x = omp_get_thread_num();
        for (int turn = 0; turn < 88000; turn++) {
            x = work(x, 220 / omp_get_num_threads());
#pragma omp barrier
        }
        kept = x;
    }
}

/* Large parts, rarely joined. */
static void coarse(void)
{
    double total = 0;
    for (int turn = 0; turn < 50; turn++) {
#pragma omp parallel for reduction(+ : total)
        for (int i = 0; i < 64; i++)
            total += work(i, 20000);
    }
    sum += total > 0;
}

int main(int count, char **words)
{
    print_flags();
    if (count < 2) {
        constructs();
        print_flags();
        return 0;
    }
    double begun = omp_get_wtime();
    if (strcmp(words[1], "barriers") == 0)
        barriers();
    else
        coarse();
    printf("%s %.1f\n", words[1], (omp_get_wtime() - begun) * 1e9);
    print_flags();
    return 0;
}
