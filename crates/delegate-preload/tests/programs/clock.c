/* Preloaded: time stands still. */
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    now->tv_sec = 1000000000, now->tv_nsec = 0;
    return 0;
}
