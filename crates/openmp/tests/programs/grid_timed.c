/* Nanoseconds that a turn of a program takes, on the average over so many milliseconds: grid_timed PROGRAM MILLISECONDS.
   A run takes as long in the worst of conditions as in the best. */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Written, so that the work is not optimised away. */
static volatile double kept;

static double work(double x, int rounds)
{
    for (int i = 0; i < rounds; i++)
        x = x * 0.999999 + 1e-9;
    return x;
}

/* Regions in which nothing is done. */
static void regions(long turns)
{
    for (long turn = 0; turn < turns; turn++) {
#pragma omp parallel
        __asm__ volatile("");
    }
}

/* A barrier after a little work. */
static void barriers(long turns)
{
#pragma omp parallel
    {
        double x = omp_get_thread_num();
        for (long turn = 0; turn < turns; turn++) {
            x = work(x, 100);
#pragma omp barrier
        }
        if (x < 0)
            kept = x;
    }
}

enum { SIDE = 256 };

/* Heat on a plate: a region for each step. */
static void stencil(long turns)
{
    static double plate[2][SIDE][SIDE];
    plate[0][0][0] = plate[1][0][0] = 1;
    for (long turn = 0; turn < turns; turn++) {
        double(*now)[SIDE] = plate[turn % 2], (*next)[SIDE] = plate[(turn + 1) % 2];
#pragma omp parallel for
        for (int i = 1; i < SIDE - 1; i++)
            for (int j = 1; j < SIDE - 1; j++)
                next[i][j] = 0.25 * (now[i - 1][j] + now[i + 1][j] + now[i][j - 1] + now[i][j + 1]);
    }
    kept = plate[0][1][1];
}

enum { EDGE = 96, UNKNOWNS = EDGE * EDGE };

/* Conjugate gradients on a sparse matrix, that of a plate: a region with five barriers for each step. */
static void solver(long turns)
{
    static int begin[UNKNOWNS + 1], column[5 * UNKNOWNS];
    static double value[5 * UNKNOWNS], x[UNKNOWNS], r[UNKNOWNS], p[UNKNOWNS], q[UNKNOWNS];
    int entries = 0;
    for (int row = 0; row < UNKNOWNS; row++) {
        int i = row / EDGE, j = row % EDGE;
        const int to[5] = {i > 0 ? row - EDGE : -1, j > 0 ? row - 1 : -1, row, j < EDGE - 1 ? row + 1 : -1,
                           i < EDGE - 1 ? row + EDGE : -1};
        begin[row] = entries;
        for (int k = 0; k < 5; k++)
            if (to[k] >= 0) {
                column[entries] = to[k];
                value[entries++] = k == 2 ? 4.1 : -1;
            }
    }
    begin[UNKNOWNS] = entries;
    for (int row = 0; row < UNKNOWNS; row++)
        x[row] = 0, r[row] = p[row] = 1 + row % 7;
    double length = 0, across = 0, after = 0;
    for (int row = 0; row < UNKNOWNS; row++)
        length += r[row] * r[row];
    for (long turn = 0; turn < turns; turn++) {
        across = after = 0;
#pragma omp parallel
        {
#pragma omp for reduction(+ : across)
            for (int row = 0; row < UNKNOWNS; row++) {
                double sum = 0;
                for (int k = begin[row]; k < begin[row + 1]; k++)
                    sum += value[k] * p[column[k]];
                q[row] = sum;
                across += p[row] * sum;
            }
            double step = across > 0 ? length / across : 0;
#pragma omp for
            for (int row = 0; row < UNKNOWNS; row++)
                x[row] += step * p[row];
#pragma omp for reduction(+ : after)
            for (int row = 0; row < UNKNOWNS; row++) {
                r[row] -= step * q[row];
                after += r[row] * r[row];
            }
            double on = length > 0 ? after / length : 0;
#pragma omp for
            for (int row = 0; row < UNKNOWNS; row++)
                p[row] = r[row] + on * p[row];
        }
        length = after;
    }
    kept = x[UNKNOWNS / 2];
}

/* Large parts, shared out as they come. */
static void parts(long turns)
{
    double total = 0;
    for (long turn = 0; turn < turns; turn++) {
#pragma omp parallel for schedule(dynamic) reduction(+ : total)
        for (int i = 0; i < 64; i++)
            total += work(i, 5000);
    }
    kept = total;
}

static const struct {
    const char *name;
    void (*run)(long turns);
} programs[] = {{"regions", regions}, {"barriers", barriers}, {"stencil", stencil}, {"solver", solver}, {"parts", parts}};

int main(int count, char **words)
{
    double budget = count > 2 ? atof(words[2]) * 1e-3 : 0;
    for (unsigned i = 0; i < sizeof programs / sizeof *programs; i++) {
        if (count < 3 || strcmp(words[1], programs[i].name) != 0)
            continue;
        /* So many turns at once take a small part of the time. */
        double begun = omp_get_wtime(), block = 0;
        long turns = 1, done = 0;
        while (block < budget / 16) {
            double from = omp_get_wtime();
            programs[i].run(turns);
            block = omp_get_wtime() - from;
            turns = block < budget / 32 ? 2 * turns : turns;
            if (omp_get_wtime() - begun > budget / 2)
                break;
        }
        double from = omp_get_wtime(), now;
        do {
            programs[i].run(turns);
            done += turns;
            now = omp_get_wtime();
        } while (now - begun < budget);
        printf("%.1f\n", (now - from) / done * 1e9);
        return 0;
    }
    fprintf(stderr, "usage: grid_timed PROGRAM MILLISECONDS\n");
    return 2;
}
