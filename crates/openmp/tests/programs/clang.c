/* What clang's code does in another way than gcc's, or gcc's cannot have: doacross loops, detached tasks, reductions in which
   tasks take part, teams, copies of variables without the loader's help. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static int wrong;
static void check(int right, const char *what)
{
    if (!right) {
        fprintf(stderr, "wrong: %s\n", what);
#pragma omp atomic
        wrong++;
    }
}

static int mine = 7;
#pragma omp threadprivate(mine)

static void copies(void)
{
    mine = 3;
#pragma omp parallel copyin(mine)
    {
        check(mine == 3, "copyin");
        mine += omp_get_thread_num();
    }
#pragma omp parallel
    check(mine == 3 + omp_get_thread_num(), "a copy stays its thread's");
    int from = 0;
#pragma omp parallel private(from)
    {
#pragma omp single copyprivate(from, mine)
        from = mine = 41;
        check(from == 41 && mine == 41, "copyprivate");
    }
}

static void doacross(void)
{
    enum { N = 60, M = 7 };
    static long cells[N + 1][M + 1];
    for (int i = 0; i <= N; i++)
        cells[i][0] = 1;
    for (int j = 0; j <= M; j++)
        cells[0][j] = 1;
#pragma omp parallel
    {
#pragma omp for ordered(2) schedule(dynamic)
        for (int i = 1; i <= N; i++)
            for (int j = 1; j <= M; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
                cells[i][j] = (cells[i - 1][j] + cells[i][j - 1]) % 1000003;
#pragma omp ordered depend(source)
            }
    }
    for (int i = 1; i <= N; i++)
        for (int j = 1; j <= M; j++)
            check(cells[i][j] == (cells[i - 1][j] + cells[i][j - 1]) % 1000003, "doacross");
}

static void detached(void)
{
    int before = 0, after = 0;
    omp_event_handle_t event, other;
#pragma omp parallel
#pragma omp single
    {
#pragma omp task detach(event) depend(out : before)
        before = 1;
#pragma omp task depend(in : before)
        after = before;
#pragma omp task
        omp_fulfill_event(event);
#pragma omp taskwait
        check(before == 1 && after == 1, "what depends on a detached task");
#pragma omp taskgroup
        {
#pragma omp task detach(other)
            before = 2;
            omp_fulfill_event(other);
        }
        check(before == 2, "a detached task of a group");
    }
}

static void reductions(void)
{
    long sum = 5, all = 1, product = 1;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup task_reduction(+ : sum)
        for (int i = 0; i < 100; i++) {
#pragma omp task in_reduction(+ : sum) firstprivate(i)
            {
                sum += i;
#pragma omp task in_reduction(+ : sum)
                sum += 1000;
            }
        }
#pragma omp taskloop reduction(* : product) grainsize(1)
        for (int i = 0; i < 10; i++)
            product *= 2;
    }
    check(sum == 5 + 4950 + 100000, "task_reduction");
    check(product == 1024, "taskloop reduction");
    int members = 0;
#pragma omp parallel reduction(task, + : all) reduction(+ : members)
    {
        members++;
#pragma omp task in_reduction(+ : all)
        all += 10;
    }
    check(all == 1 + 10 * members, "reduction of a region's tasks");
    long loops = 0;
#pragma omp parallel
#pragma omp for reduction(task, + : loops)
    for (int i = 0; i < 20; i++) {
#pragma omp task in_reduction(+ : loops)
        loops += i;
    }
    check(loops == 190, "reduction of a loop's tasks");
}

static void leagues(void)
{
    int teams = 0, threads = 0, seen = 0;
#pragma omp teams num_teams(3) thread_limit(2) reduction(+ : teams, threads, seen)
    {
        teams += omp_get_num_teams() == 3;
        seen += 1 << omp_get_team_num();
        check(omp_get_level() == 0, "teams are no regions");
        int here = 0;
#pragma omp parallel reduction(+ : here)
        here++;
        check(here <= 2, "thread_limit");
        threads += here;
    }
    check(teams == 3 && seen == 7 && threads >= 3, "teams");
    long sum = 0;
#pragma omp teams distribute parallel for reduction(+ : sum) num_teams(4)
    for (int i = 0; i < 1000; i++)
        sum += i;
    check(sum == 499500, "distribute");
}

static void schedules(void)
{
    int had[1000] = {0};
    long last = -1;
#pragma omp parallel for schedule(simd : static, 8) lastprivate(last)
    for (int i = 0; i < 1000; i++)
        had[i]++, last = i;
    check(last == 999, "simd");
#pragma omp parallel for schedule(nonmonotonic : dynamic, 3) lastprivate(last)
    for (long i = 999; i >= 0; i--)
        had[i]++, last = i;
    check(last == 0, "dynamic");
    long order = 0;
#pragma omp parallel for ordered schedule(dynamic, 4)
    for (int i = 0; i < 100; i++) {
        had[i]++;
#pragma omp ordered
        {
            check(order == i, "ordered");
            order++;
        }
    }
    for (int i = 0; i < 1000; i++)
        check(had[i] == (i < 100 ? 3 : 2), "each iteration once");
    int inner = 0;
#pragma omp parallel if (omp_get_max_threads() < 0)
    {
        check(omp_get_num_threads() == 1 && omp_get_level() == 1, "a region of one thread");
#pragma omp parallel num_threads(2) reduction(+ : inner)
        inner++;
    }
    check(inner == 2 || omp_get_thread_limit() < 2, "a region within one of one thread");
}

int main(void)
{
    for (int round = 0; round < 20; round++) {
        copies();
        doacross();
        detached();
        reductions();
        leagues();
        schedules();
    }
    printf("%d wrong\n", wrong);
    return 0;
}
