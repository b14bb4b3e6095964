/* Loops of every schedule, sign and direction: each iteration is executed once, by any member. */
#include <limits.h>
#include <omp.h>
#include <stdio.h>

#define CHECK(name, type, from, to, step, compare, clause)                                                     \
    do {                                                                                                       \
        unsigned long long sum = 0, count = 0, last = 0;                                                       \
        _Pragma("omp parallel reduction(+ : sum, count)")                                                      \
        {                                                                                                      \
            _Pragma(clause) for (type i = from; i compare to; i += step)                                       \
            {                                                                                                  \
                sum += (unsigned long long)i * 3 + 1;                                                          \
                count++;                                                                                       \
            }                                                                                                  \
        }                                                                                                      \
        printf("%s %s: %llu in %llu %llu\n", name, clause, sum, count, last);                                  \
    } while (0)

#define ALL(clause)                                                                                            \
    CHECK("up", int, 0, 1000, 1, <, clause);                                                                   \
    CHECK("by 7", int, -50, 1000, 7, <, clause);                                                               \
    CHECK("down", long, 500, -500, -3, >, clause);                                                             \
    CHECK("none", int, 5, 5, 1, <, clause);                                                                    \
    CHECK("unsigned", unsigned, 3000000000u, 3000001000u, 9, <, clause);                                       \
    CHECK("long", unsigned long long, ULLONG_MAX - 5000, ULLONG_MAX - 70, 11, <, clause);                       \
    CHECK("edge", long long, LLONG_MAX - 101000, LLONG_MAX - 100100, 13, <, clause);                                 \
    CHECK("low edge", long long, LLONG_MIN + 101000, LLONG_MIN + 100100, -13, >, clause)

int main(void)
{
    ALL("omp for schedule(static)");
    ALL("omp for schedule(static, 5)");
    ALL("omp for schedule(dynamic)");
    ALL("omp for schedule(dynamic, 17)");
    ALL("omp for schedule(dynamic, 5000)");
    ALL("omp for schedule(guided)");
    ALL("omp for schedule(guided, 10)");
    ALL("omp for schedule(auto)");
    ALL("omp for schedule(monotonic : dynamic, 3)");
    ALL("omp for schedule(nonmonotonic : dynamic, 3) nowait");
    omp_sched_t kinds[] = {omp_sched_static, omp_sched_dynamic, omp_sched_guided, omp_sched_auto};
    for (int kind = 0; kind < 4; kind++) {
        omp_set_schedule(kinds[kind], kind);
        omp_sched_t is;
        int chunk;
        omp_get_schedule(&is, &chunk);
        printf("schedule %d, %d\n", (int)is, kind == 3 ? 0 : chunk);
        ALL("omp for schedule(runtime)");
    }
    long last = -1, sum = 0;
#pragma omp parallel for lastprivate(last) reduction(+ : sum) collapse(2) schedule(dynamic, 3)
    for (int i = 0; i < 30; i++)
        for (int j = 0; j < 40; j++) {
            last = i * 100 + j;
            sum += last;
        }
    printf("collapsed: %ld, last %ld\n", sum, last);
    /* By a member's last chunk, compiled code decides whether it had the loop's last one. */
    int wrong = 0;
    for (int round = 0; round < 2000; round++) {
        int lasts[2] = {0, 0};
#pragma omp parallel for lastprivate(lasts) schedule(dynamic)
        for (int i = 0; i < 20 + round % 7; i++) {
            /* The member with the later half finishes first. */
            for (volatile int wait = 0; i < 10 && wait < 500; wait++)
                ;
            lasts[0] = lasts[1] = i;
        }
        wrong += lasts[0] != 19 + round % 7 || lasts[1] != lasts[0];
    }
    printf("wrong lasts: %d\n", wrong);
#pragma omp parallel for schedule(guided, 2) reduction(max : last)
    for (int i = 0; i < 5000; i++)
        last = i > last ? i : last;
    printf("greatest: %ld\n", last);
    return 0;
}
