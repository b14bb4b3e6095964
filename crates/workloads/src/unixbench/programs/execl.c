/* A program that executes itself again until its time is up: execl SECONDS. It passes on its count and its end as
   arguments. */
#include <unistd.h>

#include "report.h"

/* As in UnixBench, so that the program is no smaller than one that does real work. */
char padding[8 * 1024];

int main(int argc, char **argv) {
    double seconds = argc > 1 ? atof(argv[1]) : 10.0, now = now_s();
    unsigned long count = argc > 3 ? strtoul(argv[2], NULL, 10) : 0;
    double started = argc > 3 ? atof(argv[3]) : now;
    char next[24], start[40];

    padding[count % sizeof padding] = 1;
    if (now - started >= seconds) {
        report((double)count, 1, "lps", now - started);
        return 0;
    }
    snprintf(next, sizeof next, "%lu", count + 1);
    snprintf(start, sizeof start, "%.6f", started);
    execl(argv[0], argv[0], argv[1], next, start, (char *)NULL);
    perror(argv[0]);
    return 1;
}
