/* Reductions of task groups, task loops, regions, loops and sections, in which tasks take part, and teams. */
#include <omp.h>
#include <stdio.h>

enum { ROUNDS = 30 };

static int wrong;
static void check(int right, const char *what)
{
    if (!right) {
        fprintf(stderr, "wrong: %s\n", what);
#pragma omp atomic
        wrong++;
    }
}

struct pair {
    long sum, most;
};
#pragma omp declare reduction(both : struct pair : omp_out.sum += omp_in.sum, \
        omp_out.most = omp_out.most > omp_in.most ? omp_out.most : omp_in.most) initializer(omp_priv = { 0, -1 })

static void add(long *sum, int depth)
{
    long *own = sum;
#pragma omp task in_reduction(+ : own[0])
    {
        own[0]++;
        if (depth > 0)
            add(own, depth - 1);
    }
#pragma omp taskwait
}

static void groups(void)
{
    long sum = 5, product = 1, list[4] = { 0 };
    struct pair both = { 0, -1 };
#pragma omp taskgroup task_reduction(+ : sum, list) task_reduction(* : product) task_reduction(both : both)
    {
        for (long i = 0; i < 40; i++) {
#pragma omp task in_reduction(+ : sum, list) in_reduction(both : both) firstprivate(i)
            {
                sum += i;
                list[i % 4]++;
                both.sum += i;
                both.most = both.most > i ? both.most : i;
#pragma omp task in_reduction(+ : sum)
                sum += 1000;
#pragma omp taskgroup task_reduction(* : product)
                {
#pragma omp task in_reduction(+ : sum)
                    sum += 10000;
                }
            }
#pragma omp task in_reduction(* : product) if (i < 3)
            product *= i < 3 ? 2 : 1;
        }
    }
    check(sum == 5 + 780 + 40 * 11000 && product == 8, "sums of a group");
    check(list[0] == 10 && list[3] == 10 && both.sum == 780 && both.most == 39, "an array and a structure");
    long deep = 0;
    long *cell = &deep;
#pragma omp taskgroup task_reduction(+ : cell[0])
    add(cell, 9);
    check(deep == 10, "tasks within tasks");
}

static void loops(int none)
{
    long product = 1, sum = 0, nothing = 3;
#pragma omp taskloop reduction(* : product) grainsize(1)
    for (int i = 0; i < 10; i++)
        product *= 2;
#pragma omp taskloop reduction(+ : nothing)
    for (int i = 0; i < none; i++)
        nothing++;
#pragma omp taskgroup task_reduction(+ : sum)
    {
#pragma omp taskloop in_reduction(+ : sum) nogroup
        for (int i = 0; i < 100; i++)
            sum += i;
    }
    check(product == 1024 && nothing == 3 && sum == 4950, "task loops");
}

static void regions(void)
{
    long all = 1;
    int members = 0;
#pragma omp parallel reduction(task, + : all) reduction(+ : members)
    {
        members++;
#pragma omp task in_reduction(+ : all)
        all += 10;
    }
    check(all == 1 + 10 * members, "a region's tasks");
}

static void workshares(void)
{
    long loop = 2, first = 0, list[3] = { 0 }, sections = 1;
    struct pair both = { 0, -1 };
#pragma omp parallel
    {
#pragma omp for reduction(task, + : loop, list) reduction(task, both : both) schedule(dynamic)
        for (long i = 0; i < 50; i++) {
#pragma omp task in_reduction(+ : loop, list) in_reduction(both : both) firstprivate(i)
            {
                loop += i;
                list[i % 3] += 1;
                both.sum += i;
                both.most = both.most > i ? both.most : i;
            }
            loop += 1000;
        }
#pragma omp for reduction(task, + : first) schedule(static)
        for (int i = 0; i < 50; i++)
#pragma omp task in_reduction(+ : first)
            first += 1;
#pragma omp sections reduction(task, + : sections)
        {
#pragma omp section
#pragma omp task in_reduction(+ : sections)
            sections += 10;
#pragma omp section
            sections += 100;
        }
    }
    check(loop == 2 + 1225 + 50000 && first == 50 && sections == 111, "tasks of loops and sections");
    check(list[0] == 17 && list[2] == 16 && both.sum == 1225 && both.most == 49, "the same of others");
}

static void leagues(void)
{
    int teams = 0, seen = 0, most = 0;
#pragma omp teams num_teams(3) thread_limit(2) reduction(+ : teams, seen) reduction(max : most)
    {
        teams += omp_get_num_teams() == 3;
        seen += 1 << omp_get_team_num();
        int here = 0;
#pragma omp parallel num_threads(4) reduction(+ : here)
        here++;
        most = here;
    }
    check(teams == 3 && seen == 7 && most <= 2, "teams");
    long sum = 0;
#pragma omp teams distribute parallel for reduction(+ : sum)
    for (int i = 0; i < 1000; i++)
        sum += i;
    check(sum == 499500, "distribute");
}

int main(int count, char **words)
{
    (void)words;
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel
#pragma omp single
        {
            groups();
            loops(count - 1);
        }
        groups();
        loops(count - 1);
        regions();
        workshares();
        leagues();
    }
    printf("%d wrong\n", wrong);
    return 0;
}
