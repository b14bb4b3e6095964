/* Conditional `lastprivate`: what the last iteration leaves that has set the variable, of loops of every schedule and of sections.
   Where the construct stands in a function of its own, the members find out which it was in memory that all have in common. */
#include <limits.h>
#include <omp.h>
#include <stdio.h>

static long last, rare, marks[4000];
static int wrong, sets[4000];

#define LOOP(name, type, clauses, inner)                                                                       \
    static void name(type count)                                                                               \
    {                                                                                                          \
        _Pragma(clauses) for (type i = 0; i < count; i++)                                                      \
        {                                                                                                      \
            if (sets[i] & 1)                                                                                   \
                last = i * 3;                                                                                  \
            if (sets[i] & 2)                                                                                   \
                rare = i + 7;                                                                                  \
            inner                                                                                              \
        }                                                                                                      \
    }
#define TURN _Pragma("omp ordered") marks[i] = i > 0 ? marks[i - 1] + 1 : 1;

LOOP(plain, int, "omp for lastprivate(conditional : last, rare)", )
LOOP(in_shares, int, "omp for lastprivate(conditional : last, rare) schedule(static)", )
LOOP(in_threes, long, "omp for lastprivate(conditional : last, rare) schedule(static, 3)", )
LOOP(dynamic, int, "omp for lastprivate(conditional : last, rare) schedule(dynamic)", )
LOOP(dynamic_any, long, "omp for lastprivate(conditional : last, rare) schedule(nonmonotonic : dynamic, 3)", )
LOOP(guided, int, "omp for lastprivate(conditional : last, rare) schedule(guided)", )
LOOP(automatic, int, "omp for lastprivate(conditional : last, rare) schedule(auto)", )
LOOP(runtime, int, "omp for lastprivate(conditional : last, rare) schedule(runtime)", )
LOOP(runtime_any, int, "omp for lastprivate(conditional : last, rare) schedule(nonmonotonic : runtime)", )
LOOP(ull_in_shares, unsigned long long, "omp for lastprivate(conditional : last, rare) schedule(static)", )
LOOP(ull_dynamic, unsigned long long, "omp for lastprivate(conditional : last, rare) schedule(dynamic, 2)", )
LOOP(ull_guided, unsigned long long, "omp for lastprivate(conditional : last, rare) schedule(guided, 2)", )
LOOP(ull_runtime, unsigned long long, "omp for lastprivate(conditional : last, rare) schedule(runtime)", )
LOOP(turns, int, "omp for lastprivate(conditional : last, rare) ordered", TURN)
LOOP(turns_dynamic, int, "omp for lastprivate(conditional : last, rare) schedule(dynamic, 3) ordered", TURN)
LOOP(turns_runtime, int, "omp for lastprivate(conditional : last, rare) schedule(runtime) ordered", TURN)
LOOP(turns_ull, unsigned long long, "omp for lastprivate(conditional : last, rare) schedule(guided) ordered", TURN)

/* Constructs without a wait have a variable each. */
#define AHEAD(at, clauses)                                                                                     \
    static long own_##at;                                                                                      \
    static void ahead_##at(int count)                                                                          \
    {                                                                                                          \
        _Pragma(clauses) for (int i = 0; i < count; i++)                                                       \
        {                                                                                                      \
            if (sets[i] & 1)                                                                                   \
                own_##at = i + at;                                                                             \
        }                                                                                                      \
    }
AHEAD(0, "omp for lastprivate(conditional : own_0) schedule(dynamic, 2) nowait")
AHEAD(1, "omp for lastprivate(conditional : own_1) schedule(static) nowait")
AHEAD(2, "omp for lastprivate(conditional : own_2) schedule(guided) nowait")
AHEAD(3, "omp for lastprivate(conditional : own_3) schedule(runtime) nowait")
AHEAD(4, "omp for lastprivate(conditional : own_4) schedule(static, 2) nowait")
AHEAD(5, "omp for lastprivate(conditional : own_5) schedule(dynamic) nowait")

static void ahead(int count)
{
    ahead_0(count);
    ahead_1(count);
    ahead_2(count);
    ahead_3(count);
    ahead_4(count);
    ahead_5(count);
}

/* Near the limits of the type. (Where a loop goes down, GCC takes iterations for later ones that are earlier.) */
static void edge(int count)
{
#pragma omp for lastprivate(conditional : last) schedule(dynamic, 4)
    for (unsigned long long i = ULLONG_MAX - 5ull * count - 50; i < ULLONG_MAX - 50; i += 5)
        if (sets[(i + 5ull * count + 50 - ULLONG_MAX) / 5] & 1)
            last = (long)(i % 100003);
#pragma omp for lastprivate(conditional : rare) schedule(guided)
    for (long i = -3; i < count - 3; i += 2)
        if (sets[i + 3] & 2)
            rare = i;
}

static void sections(int which)
{
#pragma omp sections lastprivate(conditional : last, rare)
    {
        if (which & 1)
            last = 1;
#pragma omp section
        if (which & 2)
            last = rare = 2;
#pragma omp section
        {
            if (which & 4)
                last = 3;
            if (which & 8)
                rare = 3;
        }
#pragma omp section
        if (which & 16)
            last = 4;
    }
}

static void combined(int count)
{
#pragma omp parallel for lastprivate(conditional : last) schedule(dynamic, 3)
    for (int i = 0; i < count; i++)
        if (sets[i] & 1)
            last = i * 5;
#pragma omp parallel for lastprivate(conditional : rare) schedule(static)
    for (int i = 0; i < count; i++)
        if (sets[i] & 2)
            rare = i * 9;
}

static void combined_sections(int which)
{
#pragma omp parallel sections lastprivate(conditional : last)
    {
        if (which & 1)
            last = 10;
#pragma omp section
        if (which & 2)
            last = 20;
#pragma omp section
        if (which & 4)
            last = 30;
    }
}

static void report(const char *name, int round)
{
    if (round < 3)
        printf("%s: %ld %ld\n", name, last, rare);
    /* Each round's results must equal those of the first of its kind. */
    static struct {
        const char *name;
        long last, rare;
    } seen[256];
    int at = round % 4 * 64;
    while (seen[at].name && seen[at].name != name)
        at++;
    if (!seen[at].name) {
        seen[at].name = name;
        seen[at].last = last;
        seen[at].rare = rare;
    }
    wrong += seen[at].last != last || seen[at].rare != rare;
    last = rare = -1;
}

#define RUN(name)                                                                                              \
    do {                                                                                                       \
        _Pragma("omp parallel") name(count);                                                                   \
        report(#name, round);                                                                                  \
    } while (0)

int main(void)
{
    static const int counts[] = {3999, 500, 7, 0};
    last = rare = -1;
    for (int round = 0; round < 100; round++) {
        int count = counts[round % 4];
        for (int i = 0; i < 4000; i++)
            sets[i] = (i % 3 == 1 && i < 3900) | (i % 401 == 5) << 1;
        omp_set_schedule(round % 4 + 1, round % 4);
        RUN(plain);
        RUN(in_shares);
        RUN(in_threes);
        RUN(dynamic);
        RUN(dynamic_any);
        RUN(guided);
        RUN(automatic);
        RUN(runtime);
        RUN(runtime_any);
        RUN(ull_in_shares);
        RUN(ull_dynamic);
        RUN(ull_guided);
        RUN(ull_runtime);
        RUN(turns);
        RUN(turns_dynamic);
        RUN(turns_runtime);
        RUN(turns_ull);
        for (int i = 0; i < count; i++)
            wrong += marks[i] != i + 1;
        RUN(edge);
        combined(count);
        report("combined", round);
        /* Outside all regions. */
        in_shares(count);
        ull_dynamic(count);
        turns_dynamic(count);
        report("outside", round);
        /* Members reach later ones while others are in the first. */
        own_0 = own_1 = own_2 = own_3 = own_4 = own_5 = -1;
#pragma omp parallel
        ahead(count);
        last = own_0 + own_1 + own_2;
        rare = own_3 + own_4 + own_5;
        report("ahead", round);
    }
    for (int round = 0; round < 400; round++) {
        int which = round % 32;
#pragma omp parallel
        sections(which);
        int right = which & 16 ? 4 : which & 4 ? 3 : which & 2 ? 2 : which & 1 ? 1 : -1;
        wrong += last != right || rare != (which & 8 ? 3 : which & 2 ? 2 : -1);
        last = rare = -1;
        combined_sections(which);
        wrong += last != (which & 4 ? 30 : which & 2 ? 20 : which & 1 ? 10 : -1);
        last = -1;
        sections(which);
        wrong += last != right;
        last = rare = -1;
    }
    /* Teams within teams, each with its own last. */
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(3) reduction(+ : wrong)
    for (int round = 0; round < 50; round++) {
        long own = -1;
        int rank = omp_get_thread_num();
#pragma omp parallel for num_threads(1 + (round + rank) % 3) lastprivate(conditional : own) schedule(dynamic)
        for (int i = 0; i < 100; i++)
            if (i % 7 == rank)
                own = i;
        wrong += own != 98 + rank - (rank > 1 ? 7 : 0);
    }
#pragma omp parallel num_threads(2)
    {
        /* The teams take turns, for the variables are the same: what they have in common is not. */
        for (int turn = 0; turn < 2; turn++) {
            if (turn == omp_get_thread_num()) {
#pragma omp parallel num_threads(3)
                {
                    dynamic(500);
                    in_threes(500);
                    sections(1 + 8);
                }
            }
#pragma omp barrier
        }
    }
    report("within", 0);
    printf("%d wrong\n", wrong);
    return wrong > 0;
}
