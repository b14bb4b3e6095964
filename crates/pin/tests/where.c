/* Prints where its threads may run: the CPU if there is only one, else how many. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONG = 64, MOST = 8 };

static void *where(void *text) {
    cpu_set_t set;
    int cpu;
    sched_getaffinity(0, sizeof set, &set);
    for (cpu = 0; !CPU_ISSET(cpu, &set); cpu++) {
    }
    if (CPU_COUNT(&set) > 1)
        snprintf(text, LONG, "%d CPUs", CPU_COUNT(&set));
    else
        snprintf(text, LONG, "%d", cpu);
    return NULL;
}

/* Creates threads one after the other, and prints where each one was. */
static void make(int n, const pthread_attr_t *attributes, int first_too) {
    char first[LONG], texts[MOST][LONG];
    int i;
    for (i = 0; i < n; i++) {
        pthread_t id;
        if (pthread_create(&id, attributes, where, texts[i]) != 0)
            exit(1);
        pthread_join(id, NULL);
    }
    where(first);
    if (first_too)
        printf("first: %s\n", first);
    for (i = 0; i < n; i++)
        printf("thread %d: %s\n", i + 1, texts[i]);
}

/* What a program or a forked child does that a pinned thread has started. */
static int begin(const char *how) {
    char text[LONG];
    where(text);
    printf("%s: %s\n", how, text);
    make(1, NULL, 1);
    fflush(stdout);
    return 0;
}

static void *nothing(void *argument) {
    return argument;
}

static void become_pinned(void) {
    pthread_t id;
    if (pthread_create(&id, NULL, nothing, NULL) != 0)
        exit(1);
    pthread_join(id, NULL);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "threads";
    if (strcmp(what, "fork") == 0) {
        become_pinned();
        if (fork() == 0)
            _exit(begin(what));
        wait(NULL);
    } else if (strcmp(what, "exec") == 0) {
        become_pinned();
        execl(argv[0], argv[0], "begin", (char *)NULL);
        return 1;
    } else if (strcmp(what, "vfork") == 0) {
        become_pinned();
        if (vfork() == 0) {
            execl(argv[0], argv[0], "begin", what, (char *)NULL);
            _exit(1);
        }
        wait(NULL);
    } else if (strcmp(what, "spawn") == 0) {
        char *arguments[] = {argv[0], "begin", argv[1], NULL};
        pid_t child;
        become_pinned();
        if (posix_spawn(&child, argv[0], NULL, NULL, arguments, environ) != 0)
            return 1;
        wait(NULL);
    } else if (strcmp(what, "begin") == 0) {
        return begin(argc > 2 ? argv[2] : "exec");
    } else if (strcmp(what, "own") == 0 && argc > 2) {
        pthread_attr_t attributes;
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(atoi(argv[2]), &set);
        pthread_attr_init(&attributes);
        pthread_attr_setaffinity_np(&attributes, sizeof set, &set);
        make(1, &attributes, 0);
    } else {
        make(3, NULL, 1);
    }
    return 0;
}
