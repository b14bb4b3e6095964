/* What stdio does with files. Each case prints what it finds: the same whoever executes the calls. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHOW(call)                                                                  \
    do {                                                                            \
        errno = 0;                                                                  \
        long result = (long)(call);                                                 \
        printf("%s: %ld %s\n", #call, result, errno ? strerrorname_np(errno) : ""); \
    } while (0)

static FILE *opened(const char *path, const char *mode) {
    FILE *file = fopen(path, mode);
    if (!file) abort();
    return file;
}

/* A sum that tells where bytes differ, of all that is in a file. */
static void sum(const char *path) {
    FILE *file = opened(path, "r");
    unsigned long sum = 0, bytes = 0;
    for (int byte; (byte = getc(file)) != EOF; bytes++) sum = sum * 31 + byte;
    SHOW(fclose(file));
    printf("%s: %lu bytes, %lx\n", path, bytes, sum);
}

static void print(void) {
    FILE *buffered = opened("buffered", "w"), *lines = opened("lines", "w"), *single = opened("single", "w");
    setvbuf(lines, NULL, _IOLBF, 0);
    setvbuf(single, NULL, _IONBF, 0);
    for (int i = 0; i < 1000; i++) {
        fprintf(buffered, "line %d of several hundred thousand bytes in all, %s", i, "so that much is written, and more than stdio keeps in its buffer\n");
        fprintf(lines, "%d\n", i);
        fputs("text", single);
        fputc('\n', single);
        fwrite(&i, sizeof i, 1, single);
    }
    struct stat status;
    fflush(buffered);
    fstat(fileno(buffered), &status);
    printf("%ld %ld\n", (long)status.st_size, ftell(buffered));
    SHOW(fclose(buffered));
    SHOW(fclose(lines));
    SHOW(fclose(single));
    sum("buffered");
    sum("lines");
    sum("single");
}

static void update(void) {
    FILE *file = opened("both", "w+");
    char text[64];
    for (int i = 0; i < 1000; i++) {
        fprintf(file, "%08d\n", i);
        if (i % 3 == 0) {
            fseek(file, -9, SEEK_CUR);
            if (!fgets(text, sizeof text, file) || atoi(text) != i) printf("%d: %s", i, text);
            fseek(file, 0, SEEK_CUR);
        }
        if (i % 100 == 0) fflush(file);
        /* Behind stdio's back, where it does not look. */
        if (i % 250 == 0 && pwrite(fileno(file), "x", 1, 1) != 1) abort();
    }
    rewind(file);
    printf("%s", fgets(text, sizeof text, file));
    /* What was read ahead is given back by a seek. */
    fflush(file);
    SHOW(lseek(fileno(file), 0, SEEK_CUR));
    SHOW(fclose(file));
    file = opened("both", "a+");
    printf("%s", fgets(text, sizeof text, file));
    fseek(file, 0, SEEK_CUR);
    fputs("end\n", file);
    SHOW(ftell(file));
    SHOW(fclose(file));
    sum("both");
}

static void errors(void) {
    SHOW(fopen("missing/file", "r"));
    SHOW(fopen("missing", "r"));
    SHOW(fopen("missing", "x"));
    FILE *file = opened("file", "r");
    SHOW(fputs("text", file));
    SHOW(ferror(file) != 0);
    SHOW(fclose(file));
    file = opened("file", "w");
    close(fileno(file));
    SHOW(fputs("text", file));
    SHOW(fclose(file));
    FILE *full = opened("/dev/full", "w");
    SHOW(fputs("text", full));
    SHOW(fflush(full));
    SHOW(fclose(full));
    freopen("file", "w", stderr);
    errno = ENOENT;
    perror("perror says");
    fprintf(stderr, "unbuffered %d\n", 1);
    freopen("/dev/null", "w", stderr);
    sum("file");
}

static FILE *shared;

static void *prints(void *number) {
    for (int i = 0; i < 1000; i++) fprintf(shared, "%d %d\n", (int)(long)number, i);
    return NULL;
}

static void threads(void) {
    shared = opened("shared", "w");
    setvbuf(shared, NULL, _IOLBF, 0);
    pthread_t threads[4];
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, prints, (void *)i);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    SHOW(fclose(shared));
    shared = opened("shared", "r");
    int next[4] = {0}, number, line, lines = 0;
    for (; fscanf(shared, "%d %d", &number, &line) == 2; lines++) {
        if (next[number]++ != line) printf("line %d of %d is not where it was written\n", line, number);
    }
    printf("%d lines\n", lines);
    fclose(shared);
}

static void children(void) {
    FILE *file = opened("parent", "w");
    setvbuf(file, NULL, _IONBF, 0);
    char text[64];
    for (int i = 0; i < 20; i++) {
        for (int j = 0; j < 50; j++) fprintf(file, "%d\n", j);
        FILE *pipe = popen("wc -l <parent", "r");
        if (!pipe || !fgets(text, sizeof text, pipe)) abort();
        if (atoi(text) != i * 51 + 50) printf("%d: %s", i, text);
        SHOW(pclose(pipe));
        pid_t child = fork();
        if (child == 0) {
            fprintf(file, "child\n");
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    SHOW(fclose(file));
    sum("parent");
}

/* In a folder of little room: the C library is told of it by a later call on the stream, at the latest when it is closed. */
static void full(void) {
    FILE *file = opened("full", "w");
    setvbuf(file, NULL, _IONBF, 0);
    int failed = 0;
    for (int i = 0; i < 60000 && !failed; i++) failed = fprintf(file, "%d\n", i % 10) < 0;
    failed |= fclose(file) != 0;
    printf("%d %s\n", failed, strerrorname_np(errno));
    file = opened("full", "r");
    int in_order = 1, line;
    for (int i = 0; fscanf(file, "%d\n", &line) == 1; i++) in_order &= line == i % 10;
    printf("in order %d\n", in_order);
    fclose(file);
    unlink("full");
    file = opened("full", "w");
    char block[4096] = {0};
    failed = 0;
    for (int i = 0; i < 17 && !failed; i++) failed = fwrite(block, sizeof block, 1, file) != 1;
    failed |= fclose(file) != 0;
    printf("%d %s\n", failed, strerrorname_np(errno));
}

int main(int count, char **arguments) {
    const char *name = count > 1 ? arguments[1] : "";
    /* Threads begin at home. */
    FILE *file = opened("first", "w");
    setvbuf(file, NULL, _IONBF, 0);
    for (int i = 0; i < 200; i++) fputc('w', file);
    fclose(file);
    fclose(opened("file", "w"));
    if (!strcmp(name, "print")) print();
    if (!strcmp(name, "update")) update();
    if (!strcmp(name, "errors")) errors();
    if (!strcmp(name, "threads")) threads();
    if (!strcmp(name, "children")) children();
    if (!strcmp(name, "full")) full();
    if (!strcmp(name, "exit")) {
        /* Written when the program has ended, as far as it knows. */
        file = opened("last", "w");
        for (int i = 0; i < 1000; i++) fprintf(file, "%d\n", i);
    }
    return 0;
}
