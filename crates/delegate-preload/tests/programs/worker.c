/* Writes, and in a worker of its own if asked to. Ends as it is asked to: by exit, with standard error closed before, or by
   _exit; or after it has put a file of data in the place of standard error. */
#include "cases.h"
#include <time.h>

static void work(int milliseconds) {
    struct timespec now;
    do {
        for (int i = 0; i < 200; i++) if (pwrite(file, "x", 1, 0) != 1) abort();
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    } while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < milliseconds);
}
static void closes_late(void) { fclose(stderr); }

int main(int count, char **arguments) {
    const char *way = arguments[1];
    file = open("file", O_CREAT | O_RDWR, 0600);
    if (strcmp(way, "worker") == 0) {
        if (fork() == 0) work(150), exit(0);
        wait(NULL);
        return 0;
    }
    if (strcmp(way, "close") == 0) atexit(closes_late);
    if (strcmp(way, "data") == 0) {
        close(2);
        if (open("data", O_CREAT | O_RDWR, 0600) != 2 || write(2, "data", 4) != 4) return 1;
    }
    work(0);
    if (strcmp(way, "_exit") == 0) _exit(0);
    return 0;
}
