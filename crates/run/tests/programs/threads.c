/* What a tracer could disturb. Prints the CPUs of each thread, and of a child, or does what its argument names. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void print_cpus(const char *who) {
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    printf("%s", who);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set)) printf(" %d", cpu);
    printf("\n");
    fflush(stdout);
}

static void *print_own(void *unused) {
    print_cpus("thread");
    return unused;
}

static void *spin(void *unused) {
    for (volatile long i = 0;; i++);
    return unused;
}

static void *nothing(void *unused) { return unused; }

static volatile sig_atomic_t handled;
static void handle(int signal) { handled += signal == SIGUSR1; }

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    pthread_t thread;
    if (!strcmp(what, "churn")) {
        for (int i = 0; i < 500; i++) {
            if (pthread_create(&thread, NULL, nothing, NULL)) return 1;
            pthread_join(thread, NULL);
        }
        return 0;
    }
    if (!strcmp(what, "signals")) {
        signal(SIGUSR1, handle);
        for (int i = 0; i < 100; i++) raise(SIGUSR1);
        return handled == 100 ? 0 : 1;
    }
    if (!strcmp(what, "stops")) {
        pid_t parent = getpid();
        if (fork() == 0) {
            /* Once the parent is stopped, as its state says. */
            char path[64], state = 0;
            snprintf(path, sizeof path, "/proc/%d/stat", parent);
            while (state != 'T' && state != 't') {
                FILE *file = fopen(path, "r");
                if (!file || fscanf(file, "%*d (%*[^)]) %c", &state) != 1) _exit(1);
                fclose(file);
            }
            kill(parent, SIGCONT);
            _exit(0);
        }
        raise(SIGSTOP);
        int status;
        wait(&status);
        return status;
    }
    if (!strcmp(what, "dies")) abort();
    if (!strcmp(what, "spins")) {
        for (int i = 0; i < 3; i++)
            if (pthread_create(&thread, NULL, spin, NULL)) return 1;
        printf("ready\n");
        fflush(stdout);
        spin(NULL);
    }
    for (int i = 0; i < 3; i++) {
        if (pthread_create(&thread, NULL, print_own, NULL)) return 1;
        pthread_join(thread, NULL);
    }
    print_cpus("first");
    if (fork() == 0) {
        print_cpus("child");
        _exit(0);
    }
    wait(NULL);
    if (!strcmp(what, "executes")) {
        execl("/proc/self/exe", argv[0], "again", (char *)NULL);
        return 1;
    }
    return 7;
}
