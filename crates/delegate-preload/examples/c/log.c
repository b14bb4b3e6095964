// A program that logs: 2 us of work, then a record, and so on, into a file of 1 MiB that it writes over from the beginning when
// it is full.
//
//   cc -O2 -pthread -o log log.c && ./log FILE [BYTES [RECORDS [THREADS]]]
//
// Each of several threads has a file of its own, FILE.1 and so on, and its share of the records. With -c before the file it prints what a record costs it, in ns: work alone and work with records take turns in blocks, and
// the median of the differences counts. So a shared machine disturbs both alike.
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 100, LARGEST = 65536, FULL = 1 << 20, MOST = 64 };

static _Thread_local volatile uint64_t sink;

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

struct log {
    char path[4096];
    long bytes, written, steps, blocks;
    int file, compares, failed;
    double *costs;
};

static char record[LARGEST];

static int write_record(struct log *log) {
    if (log->written + log->bytes > FULL) {
        log->written = 0;
        if (lseek(log->file, 0, SEEK_SET) != 0)
            return -1;
    }
    log->written += log->bytes;
    return write(log->file, record, log->bytes) == log->bytes ? 0 : -1;
}

static void *write_records(void *argument) {
    struct log *log = argument;
    for (long block = 0; block < log->blocks; block++) {
        double taken[2] = {0, 0};
        for (int turn = 0; turn <= log->compares; turn++) {
            int writes = !log->compares || (turn + block) % 2;
            double begun = now_ns();
            for (int i = 0; i < BLOCK; i++) {
                work(log->steps);
                log->failed |= writes && write_record(log) != 0;
            }
            taken[writes] = now_ns() - begun;
        }
        log->costs[block] = (taken[1] - taken[0]) / BLOCK;
    }
    log->failed |= close(log->file) != 0;
    return NULL;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    int compares = argc > 1 && !strcmp(argv[1], "-c");
    argv += compares, argc -= compares;
    long bytes = argc > 2 ? atol(argv[2]) : 1, records = argc > 3 ? atol(argv[3]) : 100000;
    int threads = argc > 4 ? atoi(argv[4]) : 1, failed = 0;
    if (argc < 2 || bytes < 1 || bytes > LARGEST || records < BLOCK * threads || threads < 1 || threads > MOST) {
        fprintf(stderr, "usage: log [-c] FILE [BYTES, at most %d [RECORDS, at least %d a thread [THREADS]]]\n", LARGEST,
                BLOCK);
        return 2;
    }
    memset(record, '.', sizeof record);
    record[bytes - 1] = '\n';
    static struct log logs[MOST];
    pthread_t numbers[MOST];
    long steps = calibrated(), blocks = records / BLOCK / threads;
    for (int i = 0; i < threads; i++) {
        struct log *log = &logs[i];
        *log = (struct log){.bytes = bytes, .steps = steps, .blocks = blocks, .compares = compares};
        snprintf(log->path, sizeof log->path, threads > 1 ? "%s.%d" : "%s", argv[1], i + 1);
        log->costs = malloc(blocks * sizeof *log->costs);
        log->file = open(log->path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
        if (log->file < 0)
            return 1;
    }
    for (int i = 1; i < threads; i++)
        failed |= pthread_create(&numbers[i], NULL, write_records, &logs[i]) != 0;
    write_records(&logs[0]);
    for (int i = 0; i < threads; i++) {
        failed |= i > 0 && pthread_join(numbers[i], NULL) != 0;
        failed |= logs[i].failed;
    }
    qsort(logs[0].costs, blocks, sizeof *logs[0].costs, by_size);
    if (compares)
        printf("%.1f ns a record\n", logs[0].costs[blocks / 2]);
    return failed;
}
