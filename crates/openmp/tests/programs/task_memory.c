/* Memory does not grow with the tasks that have been: chains of tasks, each made by the one before, and tasks that name places
   of their own. Each task has data of 1 KiB. */
#include <omp.h>
#include <stdio.h>
#include <sys/resource.h>

#define MOST_MIB 24
#define PLACES 90000

struct data {
    char bytes[1024];
};

static const struct data data;
static int steps, places[PLACES];

/* Creates the next task; the kind says how long it then lasts. */
static void step(int left, int kind)
{
#pragma omp atomic
    steps++;
    if (left > 0) {
        struct data own = data;
#pragma omp task firstprivate(own, left, kind)
        step(left - 1 + own.bytes[left % 1024], kind);
        if (kind == 1)
            for (volatile int i = 0; i < 300; i++)
                ;
        if (kind == 2 && left % 2) {
#pragma omp taskwait
        }
    }
}

static void report(const char *name)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    long mib = usage.ru_maxrss / 1024;
    printf("%s: %d tasks", name, steps);
    if (mib > MOST_MIB)
        printf(", %ld MiB", mib);
    printf("\n");
    fflush(stdout);
    steps = 0;
}

int main(void)
{
    struct rlimit limit = {2000L << 20, 2000L << 20};
    setrlimit(RLIMIT_DATA, &limit);
    static const char *const names[] = {"chain", "handed on", "waited for"};
    for (int kind = 0; kind < 3; kind++) {
#pragma omp parallel
#pragma omp single
        step(40000, kind);
        report(names[kind]);
    }

#pragma omp parallel
#pragma omp single
    for (int i = 0; i < PLACES; i++) {
        struct data own = data;
#pragma omp task depend(out : places[i]) firstprivate(own, i)
        {
            places[i] = own.bytes[i % 1024];
#pragma omp atomic
            steps++;
        }
    }
    report("places");

#pragma omp parallel
#pragma omp single
    for (int i = 0; i < PLACES; i++) {
        struct data own = data;
#pragma omp task depend(in : places[0]) firstprivate(own, i)
        {
            #pragma omp atomic
            steps += 1 + own.bytes[i % 1024];
        }
    }
    report("readers");
    return 0;
}
