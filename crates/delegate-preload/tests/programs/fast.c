// Threads that append numbered lines to one file as quickly as they can: fast LINES THREADS.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int file;
static long lines;

static void *append(void *argument) {
    enum { WIDTH = 32 };
    char *text = malloc(lines * WIDTH);
    for (long i = 0; i < lines; i++)
        snprintf(text + i * WIDTH, WIDTH, "%d %ld\n", (int)(long)argument, i);
    for (long i = 0; i < lines; i++) {
        long length = strlen(text + i * WIDTH);
        if (write(file, text + i * WIDTH, length) != length)
            exit(1);
    }
    free(text);
    return NULL;
}

int main(int arguments, char **argument) {
    lines = atol(argument[1]);
    long threads = atol(argument[2]);
    pthread_t others[16];
    file = open("lines", O_CREAT | O_WRONLY | O_APPEND, 0600);
    for (long i = 1; i < threads; i++)
        pthread_create(&others[i], NULL, append, (void *)i);
    append((void *)0);
    for (long i = 1; i < threads; i++)
        pthread_join(others[i], NULL);
    return close(file);
}
