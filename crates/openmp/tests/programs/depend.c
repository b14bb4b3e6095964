/* Tasks in the order of the places that they name, on which each sum depends. */
#include <omp.h>
#include <stdio.h>
#include <string.h>

#define N 24

static unsigned grid[N + 1][N + 1];

static unsigned chain(int length)
{
    unsigned value = 1;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < length; i++) {
#pragma omp task depend(inout : value) firstprivate(i) shared(value)
        value = value * 31 + (unsigned)i;
    }
    return value;
}

static unsigned wavefront(void)
{
    memset(grid, 0, sizeof grid);
    grid[0][0] = 1;
#pragma omp parallel
#pragma omp single
    for (int i = 1; i <= N; i++)
        for (int j = 1; j <= N; j++) {
#pragma omp task depend(in : grid[i - 1][j], grid[i][j - 1]) depend(out : grid[i][j]) firstprivate(i, j)
            grid[i][j] = grid[i - 1][j] * 3 + grid[i][j - 1] * 5 + (unsigned)(i * j) + 1;
        }
    return grid[N][N];
}

/* A writer, many readers, and a writer that must see that all have read. */
static unsigned readers(void)
{
    unsigned source = 0, seen[40] = {0}, sum = 0;
#pragma omp parallel
#pragma omp single
    for (unsigned round = 1; round <= 20; round++) {
#pragma omp task depend(out : source) shared(source) firstprivate(round)
        source = source * 7 + round;
        for (int i = 0; i < 40; i++) {
#pragma omp task depend(in : source) depend(out : seen[i]) shared(source, seen) firstprivate(i)
            seen[i] = seen[i] * 3 + source;
        }
    }
    for (int i = 0; i < 40; i++)
        sum = sum * 17 + seen[i];
    return sum + source;
}

/* Tasks that are executed at once wait for those before them, and those after wait for them. */
static unsigned undeferred(void)
{
    unsigned a = 1, b = 2;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 30; i++) {
#pragma omp task depend(inout : a) shared(a)
        a = a * 5 + 1;
#pragma omp task depend(in : a) depend(inout : b) if (i % 3) shared(a, b)
        b = b * 7 + a;
#pragma omp task depend(inout : a, b) final(i % 5 == 0) shared(a, b)
        {
#pragma omp task depend(inout : a) shared(a)
            a += 3;
#pragma omp taskwait
            b += a;
        }
    }
    return a ^ b;
}

static unsigned waits(void)
{
    unsigned x = 0, y = 0, at = 0;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 50; i++) {
#pragma omp task depend(out : x) shared(x)
        x++;
#pragma omp task depend(out : y) shared(y)
        y += 2;
#pragma omp taskwait depend(in : x)
        at = at * 3 + x;
    }
    return at + y;
}

static unsigned objects(void)
{
    unsigned x = 1, total = 0;
    omp_depend_t writes, reads;
#pragma omp depobj(writes) depend(inout : x)
#pragma omp depobj(reads) depend(in : x)
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 30; i++) {
#pragma omp task depend(depobj : writes) shared(x)
        x = x * 3 + 1;
#pragma omp task depend(depobj : reads) depend(mutexinoutset : total) shared(x, total)
        total += x;
    }
#pragma omp depobj(writes) destroy
#pragma omp depobj(reads) destroy
    return total;
}

/* Each task's children have an order of their own. */
static unsigned nested(void)
{
    unsigned values[10];
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 10; i++) {
#pragma omp task shared(values) firstprivate(i)
        {
            unsigned value = (unsigned)i;
            for (int j = 0; j < 20; j++) {
#pragma omp task depend(inout : value) shared(value) firstprivate(j)
                value = value * 13 + (unsigned)j;
            }
#pragma omp taskwait
            values[i] = value;
        }
    }
    unsigned sum = 0;
    for (int i = 0; i < 10; i++)
        sum = sum * 3 + values[i];
    return sum;
}

int main(void)
{
    for (int round = 0; round < 5; round++)
        printf("%u %u %u %u %u %u %u %u\n", chain(10), chain(3000), wavefront(), readers(), undeferred(), waits(), objects(),
            nested());
    return 0;
}
