/* Cancelled regions, loops, sections and task groups; without OMP_CANCELLATION, nothing is cancelled. */
#include <omp.h>
#include <stdio.h>

static int wrong;
static void check(int right, const char *what)
{
    if (!right) {
        fprintf(stderr, "wrong: %s\n", what);
#pragma omp atomic
        wrong++;
    }
}

static int count(int *counter)
{
    int now;
#pragma omp atomic capture
    now = ++*counter;
    return now;
}

/* Members that wait at a barrier, which one never reaches, leave the region, and so does the one that only looks. */
static void regions(int cancels)
{
    int after = 0, looked = 0;
#pragma omp parallel num_threads(4)
    {
        if (omp_get_thread_num() == 1) {
#pragma omp cancel parallel
        }
        if (omp_get_thread_num() == 2 && cancels)
            for (;;) {
                count(&looked);
#pragma omp cancellation point parallel
            }
#pragma omp barrier
        count(&after);
    }
    check(after == (cancels ? 0 : 4) && (looked > 0) == cancels, "a cancelled region's barrier");
    int members = 0;
#pragma omp parallel num_threads(4)
    {
        count(&members);
#pragma omp barrier
        check(members == 4, "the next region's barrier");
    }
}

/* An inner region that is cancelled ends alone. */
static void nested(int cancels)
{
    int inner = 0, outer = 0;
#pragma omp parallel num_threads(2)
    {
#pragma omp parallel num_threads(2)
        {
#pragma omp cancel parallel if (omp_get_thread_num() == 0)
#pragma omp barrier
            count(&inner);
        }
#pragma omp barrier
        count(&outer);
    }
    check(inner == (cancels ? 0 : 4) && outer == 2, "an inner region");
}

static void loops(int cancels)
{
    static volatile int never[16];
    int with[3] = {0}, after = 0;
#pragma omp parallel num_threads(3)
    {
#pragma omp for schedule(dynamic, 1)
        for (int i = 0; i < 100000; i++) {
            count(&with[0]);
#pragma omp cancel for
        }
#pragma omp for schedule(static)
        for (int i = 0; i < 3000; i++) {
            count(&with[1]);
#pragma omp cancel for if (i == 1)
#pragma omp cancellation point for
        }
        /* Neither is this one cancelled, nor what comes after it. */
#pragma omp for schedule(guided)
        for (int i = 0; i < 3000; i++) {
            count(&with[2]);
#pragma omp cancel for if (never[i % 16])
#pragma omp cancellation point for
        }
        count(&after);
    }
    check(cancels ? with[0] <= 3 : with[0] == 100000, "a cancelled loop");
    check(cancels ? with[1] < 3000 : with[1] == 3000, "a cancelled static loop");
    check(with[2] == 3000 && after == 3, "the next loop");
}

static void parts(int cancels)
{
    int had = 0, after = 0;
#pragma omp parallel num_threads(2)
    {
#pragma omp sections
        {
#pragma omp section
            {
#pragma omp cancel sections
                count(&had);
            }
#pragma omp section
            {
#pragma omp cancel sections
                count(&had);
            }
        }
#pragma omp sections
        {
#pragma omp section
            {
#pragma omp cancellation point sections
                count(&after);
            }
#pragma omp section
            count(&after);
        }
    }
    check(had == (cancels ? 0 : 2) && after == 2, "sections");
}

static void groups(int cancels)
{
    int begun = 0, ended = 0, others = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
    {
#pragma omp task shared(others)
        count(&others);
#pragma omp taskgroup
        {
            for (int i = 0; i < 1000; i++) {
#pragma omp task shared(begun, ended) firstprivate(i)
                {
                    count(&begun);
#pragma omp cancel taskgroup if (i % 10 == 7)
#pragma omp cancellation point taskgroup
                    count(&ended);
                }
            }
        }
        check(cancels ? ended < begun && begun <= 1000 : ended == 1000, "a cancelled group");
#pragma omp taskgroup
        {
            for (int i = 0; i < 100; i++) {
#pragma omp task shared(others)
                {
#pragma omp cancellation point taskgroup
                    count(&others);
                }
            }
        }
#pragma omp task shared(others) depend(out : begun)
        count(&others);
#pragma omp task shared(others) depend(in : begun)
        count(&others);
    }
    check(others == 103, "tasks outside the group");
}

/* Tasks that have not begun are left out, with those that depend on them. */
static void tasks(int cancels)
{
    int begun = 0, waits = 0;
#pragma omp parallel num_threads(3)
    {
        if (omp_get_thread_num() == 0) {
            for (int i = 0; i < 500; i++) {
#pragma omp task shared(begun, waits) depend(inout : begun)
                count(&begun);
            }
#pragma omp taskwait
        }
#pragma omp cancel parallel
#pragma omp barrier
        count(&waits);
    }
    check(cancels ? begun <= 500 && waits == 0 : begun == 500 && waits == 3, "a cancelled region's tasks");
}

/* With libgomp, the tasks of a loop's reduction are cancelled with the group around the loop. */
static void reduced(int cancels)
{
#ifndef __clang__
    int sum = 0, begun = 0, late = 0;
#pragma omp parallel num_threads(3)
    {
#pragma omp taskgroup
        {
#pragma omp task
            {
#pragma omp cancel taskgroup
            }
#pragma omp taskwait
#pragma omp for reduction(task, + : sum)
            for (int i = 0; i < 60; i++) {
                sum++;
#pragma omp task in_reduction(+ : sum) shared(begun)
                {
                    sum += 0;
                    count(&begun);
                }
            }
        }
#pragma omp barrier
#pragma omp taskgroup
        {
            int has_some = 0;
#pragma omp for reduction(task, + : sum)
            for (int i = 0; i < 60; i++) {
                has_some = 1;
#pragma omp task in_reduction(+ : sum) shared(late)
                {
                    sum += 0;
#pragma omp cancel taskgroup
                    count(&late);
                }
            }
#pragma omp task firstprivate(has_some) shared(late)
            if (has_some)
                count(&late);
        }
    }
    check(sum == 60 && begun == (cancels ? 0 : 60), "a loop's tasks in a cancelled group");
    check(cancels ? late == 0 : late >= 60, "a group whose loop's task cancels it");
#endif
}

int main(void)
{
    int cancels = omp_get_cancellation();
    for (int round = 0; round < 20; round++) {
        regions(cancels);
        nested(cancels);
        loops(cancels);
        parts(cancels);
        groups(cancels);
        tasks(cancels);
        reduced(cancels);
    }
    printf("%d wrong\n", wrong);
    return 0;
}
