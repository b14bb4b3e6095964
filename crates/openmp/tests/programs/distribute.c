/* Loops of which each team of a league has a part, begun as flang and newer compilers begin them. */
#include <omp.h>
#include <stdio.h>
#include <string.h>

#define KINDS(F) F(4, int, int) F(4u, unsigned, int) F(8, long, long) F(8u, unsigned long, long)
#define DECLARE(kind, value, distance) \
    void __kmpc_dist_for_static_init_##kind(void *, int, int, int *, value *, value *, value *, distance *, distance, distance); \
    void __kmpc_dist_dispatch_init_##kind(void *, int, int, int *, value, value, distance, distance); \
    void __kmpc_team_static_init_##kind(void *, int, int *, value *, value *, distance *, distance, distance); \
    int __kmpc_dispatch_next_##kind(void *, int, int *, value *, value *, distance *);
KINDS(DECLARE)
void __kmpc_for_static_fini(void *, int);
int __kmpc_global_thread_num(void *);

enum { MOST = 200, STATIC = 34, CHUNKED = 33, DYNAMIC = 35, GUIDED = 36 };

static int had[MOST], lasts, wrong;

/* Each iteration once, and the last one's thread knows it. */
static void check(const char *what, int count, int leagues_lasts)
{
    for (int i = 0; i < MOST; i++)
        if (had[i] != (i < count)) {
            fprintf(stderr, "%s: iteration %d of %d %d times\n", what, i, count, had[i]);
            wrong++;
        }
    if (lasts != leagues_lasts) {
        fprintf(stderr, "%s: %d have the last of %d\n", what, lasts, count);
        wrong++;
    }
    memset(had, 0, sizeof had);
    lasts = 0;
}

#define HAVE(i) __atomic_fetch_add(&had[step > 0 ? ((i) - from) / step : (from - (i)) / -step], 1, __ATOMIC_RELAXED)
#define DEFINE(kind, value, distance) \
    static void try_##kind(value from, value to, distance step, int teams) \
    { \
        const int count = step > 0 ? from > to ? 0 : (to - from) / step + 1 : (from - to) / -step + 1; \
        const int schedules[] = {STATIC, CHUNKED, DYNAMIC, GUIDED}; \
        for (int at = 0; at < 4; at++) { \
            _Pragma("omp teams num_teams(teams)") \
            _Pragma("omp parallel num_threads(2)") \
            { \
                int me = __kmpc_global_thread_num(0), last = 0, is_last = 0; \
                value lower = from, upper = to, teams_upper; \
                distance stride = step; \
                if (schedules[at] == STATIC || schedules[at] == CHUNKED) { \
                    __kmpc_dist_for_static_init_##kind(0, me, schedules[at], &last, &lower, &upper, &teams_upper, &stride, step, 3); \
                    for (; step > 0 ? lower <= teams_upper : lower >= teams_upper; lower += stride, upper += stride) { \
                        for (value i = lower; step > 0 ? i <= upper && i <= teams_upper : i >= upper && i >= teams_upper; i += step) \
                            HAVE(i); \
                        /* LLVM's runtime does not say how far it is to the next chunk if no team has two iterations. */ \
                        if (schedules[at] == STATIC || count <= teams) \
                            break; \
                    } \
                    __kmpc_for_static_fini(0, me); \
                    __atomic_fetch_add(&lasts, last != 0, __ATOMIC_RELAXED); \
                } else { \
                    __kmpc_dist_dispatch_init_##kind(0, me, schedules[at], &last, lower, upper, step, 3); \
                    while (__kmpc_dispatch_next_##kind(0, me, &is_last, &lower, &upper, &stride)) { \
                        for (value i = lower; step > 0 ? i <= upper : i >= upper; i += step) \
                            HAVE(i); \
                        __atomic_fetch_add(&lasts, last && is_last, __ATOMIC_RELAXED); \
                    } \
                } \
            } \
            check("distribute parallel for of " #kind, count, 1); \
        } \
        _Pragma("omp teams num_teams(teams)") \
        { \
            int me = __kmpc_global_thread_num(0), last = 0; \
            value lower = from, upper = to; \
            distance stride; \
            __kmpc_team_static_init_##kind(0, me, &last, &lower, &upper, &stride, step, 3); \
            for (int i = 0; step > 0 ? lower <= to : lower >= to; lower += stride, upper += stride, i++) \
                for (value i = lower; step > 0 ? i <= upper && i <= to : i >= upper && i >= to; i += step) \
                    HAVE(i); \
            __atomic_fetch_add(&lasts, last != 0, __ATOMIC_RELAXED); \
        } \
        check("distribute of " #kind, count, 1); \
    }
KINDS(DEFINE)

#define TRY(kind, value, distance) \
    for (int teams = 1; teams < 6; teams += 2) { \
        try_##kind(7, 105, 1, teams); \
        try_##kind(7, 106, 5, teams); \
        try_##kind(1000, 408, -4, teams); \
        try_##kind(50, 52, 1, teams); \
        try_##kind(50, 50, 1, teams); \
    }

int main(void)
{
    KINDS(TRY)
    printf("%d wrong\n", wrong);
    return 0;
}
