// A program that logs: 2 us of work, then a record, and so on, into a file of 1 MiB that it writes over from the beginning when
// it is full.
//
//   cc -O2 -o log log.c && ./log FILE [BYTES [RECORDS]]
//
// With -c before the file it prints what a record costs it, in ns: work alone and work with records take turns in blocks, and
// the median of the differences counts. So a shared machine disturbs both alike.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 100, LARGEST = 65536, FULL = 1 << 20 };

static volatile uint64_t sink;

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * time.tv_sec + time.tv_nsec;
}

static void work(long steps) {
    uint64_t x = 1;
    for (long i = 0; i < steps; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    sink = x;
}

// Steps of 2 us: by the least of several tries, as a try may be interrupted.
static long calibrated(void) {
    const long steps = 100000;
    double least = 1e18;
    for (int i = 0; i < 30; i++) {
        double begun = now_ns();
        work(steps);
        double taken = now_ns() - begun;
        least = taken < least ? taken : least;
    }
    return (long)(2000.0 * steps / least) + 1;
}

static int write_record(int file, const char *record, long bytes) {
    static long written;
    if (written + bytes > FULL) {
        written = 0;
        if (lseek(file, 0, SEEK_SET) != 0)
            return -1;
    }
    written += bytes;
    return write(file, record, bytes) == bytes ? 0 : -1;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    int compares = argc > 1 && !strcmp(argv[1], "-c");
    argv += compares, argc -= compares;
    long bytes = argc > 2 ? atol(argv[2]) : 1, records = argc > 3 ? atol(argv[3]) : 100000;
    int file = argc > 1 ? open(argv[1], O_CREAT | O_TRUNC | O_WRONLY, 0600) : -1;
    if (file < 0 || bytes < 1 || bytes > LARGEST || records < BLOCK) {
        fprintf(stderr, "usage: log [-c] FILE [BYTES, at most %d [RECORDS, at least %d]]\n", LARGEST, BLOCK);
        return 2;
    }
    static char record[LARGEST];
    memset(record, '.', sizeof record);
    record[bytes - 1] = '\n';
    long steps = calibrated(), blocks = records / BLOCK;
    double *costs = malloc(blocks * sizeof *costs);
    for (long block = 0; block < blocks; block++) {
        double taken[2] = {0, 0};
        for (int turn = 0; turn <= compares; turn++) {
            int writes = !compares || (turn + block) % 2;
            double begun = now_ns();
            for (int i = 0; i < BLOCK; i++) {
                work(steps);
                if (writes && write_record(file, record, bytes) != 0)
                    return 1;
            }
            taken[writes] = now_ns() - begun;
        }
        costs[block] = (taken[1] - taken[0]) / BLOCK;
    }
    qsort(costs, blocks, sizeof *costs, by_size);
    if (compares)
        printf("%.1f ns a record\n", costs[blocks / 2]);
    return close(file) != 0;
}
