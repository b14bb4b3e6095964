// A program that computes in a set that fills its caches, and looks at a file between sweeps: what the calls evict, the next
// sweep misses.
//
//   cc -O2 -o sweep sweep.c && ./sweep FILE [KIB [SWEEPS]]
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int main(int argc, char **argv) {
    size_t values = (argc > 2 ? atol(argv[2]) : 512) * 1024 / sizeof(double);
    long sweeps = argc > 3 ? atol(argv[3]) : 10000;
    double *set = calloc(values, sizeof *set), sum = 0;
    struct stat status;
    for (long sweep = 0; sweep < sweeps; sweep++) {
        for (size_t i = 0; i < values; i++)
            set[i] = set[i] * 0.5 + (double)sweep;
        if (argc < 2 || stat(argv[1], &status))
            return 2;
        sum += (double)status.st_size;
    }
    printf("%g %g\n", set[values / 2], sum);
    return 0;
}
