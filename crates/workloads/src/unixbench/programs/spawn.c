/* Processes that end at once, one after another: spawn SECONDS. */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report.h"

int main(int argc, char **argv) {
    double seconds = argc > 1 ? atof(argv[1]) : 10.0, started = now_s();
    unsigned long count = 0;

    set_alarm(seconds);
    while (!time_is_up) {
        int status;
        pid_t child = fork();
        if (child == 0)
            exit(0);
        if (child < 0) {
            perror("fork");
            return 1;
        }
        while (wait(&status) < 0)
            if (errno != EINTR) {
                perror("wait");
                return 1;
            }
        if (status != 0)
            return 1;
        count += 1;
    }
    report((double)count, 1, "lps", now_s() - started);
    return 0;
}
