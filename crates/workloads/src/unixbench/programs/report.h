/* What every program reports on standard error when its time is up: a count, the seconds of the unit that it is per,
   and the seconds that it took. */
#ifndef REPORT_H
#define REPORT_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

static volatile sig_atomic_t time_is_up;

static inline void end_of_time(int signal) {
    (void)signal;
    time_is_up = 1;
}

static inline double now_s(void) {
    struct timeval now;
    gettimeofday(&now, NULL);
    return (double)now.tv_sec + (double)now.tv_usec * 1e-6;
}

/* Sets time_is_up after this many seconds, and interrupts a call that is waiting then. */
static inline void set_alarm(double seconds) {
    struct sigaction action = {.sa_handler = end_of_time};
    struct itimerval timer = {{0, 0}, {(time_t)seconds, (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6)}};
    if (timer.it_value.tv_sec == 0 && timer.it_value.tv_usec == 0)
        timer.it_value.tv_usec = 1;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

static inline void report(double count, int timebase_s, const char *unit, double seconds) {
    fprintf(stderr, "COUNT|%.3f|%d|%s\nTIME|%.6f\n", count, timebase_s, unit, seconds);
}

#endif
