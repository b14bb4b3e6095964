/* Preloaded: counts writes, and leaves their number in a file when the program ends. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static int count;

ssize_t write(int descriptor, const void *buffer, size_t bytes) {
    static ssize_t (*next)(int, const void *, size_t);
    if (!next) next = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    if (descriptor > 2) count++;
    return next(descriptor, buffer, bytes);
}

__attribute__((destructor)) static void end(void) {
    char text[20];
    int length = snprintf(text, sizeof text, "%d", count);
    int file = syscall(SYS_openat, AT_FDCWD, "count", O_CREAT | O_WRONLY, 0600);
    syscall(SYS_write, file, text, length);
}
