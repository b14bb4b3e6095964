/* Two seconds of calls or more, on one CPU. Prints how many threads there are at the end. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static time_t seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

int main(int count, char **arguments) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(atoi(arguments[1]), &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) abort();
    int file = open("file", O_CREAT | O_RDWR, 0600), threads = 0;
    struct stat status;
    time_t begun = seconds();
    for (int i = 0; i < 50000 || seconds() - begun < 3; i++) {
        if (pwrite(file, &i, sizeof i, i % 50000 * sizeof i) != sizeof i || fstat(file, &status) != 0) abort();
    }
    DIR *tasks = opendir("/proc/self/task");
    while (readdir(tasks)) threads++;
    printf("%ld %d\n", (long)status.st_size, threads - 2);
    return 0;
}
