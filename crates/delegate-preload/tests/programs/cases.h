/* What the programs share: an open file, enough calls before a case for the library to take part, and the choice of a case. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHOW(call)                                                                       \
    do {                                                                                 \
        errno = 0;                                                                       \
        long result = (long)(call);                                                      \
        printf("%s: %ld %s\n", #call, result, errno ? strerrorname_np(errno) : "");      \
    } while (0)

struct test {
    const char *name;
    void (*run)(void);
};

static int file; /* An open one, of this folder. */

static void warm_up(void) {
    char byte = 'w';
    struct stat status;
    int other = open("warm", O_CREAT | O_WRONLY, 0600);
    for (int i = 0; i < 200; i++) {
        if (pwrite(file, &byte, 1, i) != 1 || write(other, &byte, 1) != 1 || stat(".", &status) != 0) abort();
    }
    close(other);
    unlink("warm");
}

/* Runs the case that the command line names. */
static int choose(const struct test *cases, size_t count, int arguments_count, char **arguments) {
    if (arguments_count != 2) return 2;
    file = open("file", O_CREAT | O_RDWR | O_TRUNC, 0600);
    warm_up();
    for (size_t i = 0; i < count; i++) {
        if (strcmp(cases[i].name, arguments[1]) == 0) {
            cases[i].run();
            return 0;
        }
    }
    return 2;
}
