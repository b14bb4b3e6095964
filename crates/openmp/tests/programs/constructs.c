/* Sections, single, critical, atomic, ordered, barriers, and loops without a wait at the end. */
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

static int kept = 7;
#pragma omp threadprivate(kept)

struct wide {
    long a, b, c;
};

int main(void)
{
    int done[6] = {0}, singles = 0, named = 0, plain = 0, wrong = 0;
    long double large = 0;
#pragma omp parallel
    {
        for (int turn = 0; turn < 50; turn++) {
#pragma omp sections
            {
#pragma omp section
                done[0]++;
#pragma omp section
                done[1]++;
#pragma omp section
                done[2]++;
            }
#pragma omp sections nowait
            {
                done[3]++;
#pragma omp section
                done[4]++;
            }
#pragma omp barrier
#pragma omp single
            singles++;
#pragma omp single nowait
            {
#pragma omp atomic
                done[5]++;
            }
#pragma omp critical(name)
            named++;
#pragma omp critical
            plain++;
#pragma omp atomic
            large += 0.5L;
        }
    }
#pragma omp parallel sections
    {
#pragma omp section
        done[0] += 1000;
#pragma omp section
        done[1] += 1000;
    }
    int size = omp_get_max_threads();
    printf("sections: %d %d %d %d %d; singles %d %d\n", done[0], done[1], done[2], done[3], done[4], singles, done[5]);
    printf("critical: %d %d; atomic %Lg\n", named / size, plain / size, large / size);

#pragma omp parallel reduction(+ : wrong)
    {
        for (int turn = 0; turn < 100; turn++) {
            struct wide value = {0, 0, 0};
            int number;
#pragma omp single copyprivate(value, number)
            {
                value = (struct wide){turn, 2 * turn, 3 * turn};
                number = -turn;
            }
            wrong += value.a != turn || value.c != 3 * turn || number != -turn;
        }
    }
    printf("copied: %d wrong\n", wrong);

#define ORDERED(clause)                                                                                        \
    do {                                                                                                       \
        int next = 0, bad = 0;                                                                                 \
        _Pragma(clause) for (int i = 0; i < 200; i++)                                                          \
        {                                                                                                      \
            if (i % 10 != 3) {                                                                                 \
                _Pragma("omp ordered")                                                                         \
                {                                                                                              \
                    bad += i < next;                                                                           \
                    next = i;                                                                                  \
                }                                                                                              \
            }                                                                                                  \
        }                                                                                                      \
        printf("%s: %d out of order, last %d\n", clause, bad, next);                                           \
    } while (0)
    ORDERED("omp parallel for ordered schedule(static)");
    ORDERED("omp parallel for ordered schedule(static, 3)");
    ORDERED("omp parallel for ordered schedule(dynamic)");
    ORDERED("omp parallel for ordered schedule(dynamic, 7)");
    ORDERED("omp parallel for ordered schedule(guided)");
    ORDERED("omp parallel for ordered schedule(runtime)");

    /* One member is far ahead of the others. */
    long ahead = 0;
#pragma omp parallel reduction(+ : ahead)
    {
        if (omp_get_thread_num() == omp_get_num_threads() - 1)
            usleep(20000);
        for (int turn = 0; turn < 500; turn++) {
#pragma omp for schedule(dynamic) nowait
            for (int i = 0; i < 4; i++)
                ahead += i + turn;
#pragma omp single nowait
            ahead++;
        }
    }
    printf("ahead: %ld\n", ahead);

#pragma omp parallel copyin(kept)
    kept += omp_get_thread_num();
    int sum = 0;
#pragma omp parallel reduction(+ : sum)
    sum += kept - omp_get_thread_num();
    printf("threadprivate: %d each\n", sum / size);

    int cells[64] = {0}, bad = 0;
#pragma omp parallel reduction(+ : bad)
    {
        int me = omp_get_thread_num(), all = omp_get_num_threads();
        for (int turn = 1; turn < 2000; turn++) {
            cells[me] = turn;
#pragma omp barrier
            bad += cells[(me + 1) % all] != turn;
#pragma omp barrier
        }
    }
    printf("barriers: %d too early\n", bad);
    return 0;
}
