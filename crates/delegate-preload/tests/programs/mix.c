/* Calls in an order that a number chooses, by threads with files of their own and one that they share; what is in the files at
 * the end depends on the number alone. Each thread knows what it should find, and says where it does not. */
#include "cases.h"

enum { THREADS = 2, STEPS = 250, LONGEST = 6000, MOST = 1 << 18 };

static int shared;

struct writer {
    pthread_t thread;
    unsigned long seed;
    int number;
    char *contents; /* What the file should hold. */
    long bytes, at;
};

static unsigned random_below(struct writer *writer, unsigned limit) {
    writer->seed = writer->seed * 6364136223846793005ul + 1442695040888963407ul;
    return (unsigned)(writer->seed >> 33) % limit;
}

static void must(int holds, struct writer *writer, const char *what) {
    if (holds) return;
    printf("writer %d: %s\n", writer->number, what);
    fflush(stdout);
    abort();
}

static void *work(void *argument) {
    struct writer *writer = argument;
    char name[32], other[32], buffer[LONGEST], line[64];
    struct stat status;
    sprintf(name, "file-%d", writer->number);
    sprintf(other, "moved-%d", writer->number);
    int number = open(name, O_CREAT | O_RDWR, 0600), copy = dup(number);
    for (int step = 0; step < STEPS; step++) {
        unsigned what = random_below(writer, 32), length = random_below(writer, what % 2 ? 64 : LONGEST);
        int by = what % 3 ? number : copy;
        if (what < 16) {
            if (writer->at + length > MOST) length = 0;
            for (unsigned i = 0; i < length; i++) buffer[i] = random_below(writer, 256);
            must(write(by, buffer, length) == (long)length, writer, "write");
            memcpy(writer->contents + writer->at, buffer, length);
            writer->at += length;
        } else if (what < 20) {
            long at = random_below(writer, MOST - LONGEST);
            memset(buffer, 'p', length);
            must(pwrite(by, buffer, length, at) == (long)length, writer, "pwrite");
            memcpy(writer->contents + at, buffer, length);
            if (length && at + length > writer->bytes) writer->bytes = at + length;
        } else if (what < 22) {
            writer->at = random_below(writer, writer->bytes + 1);
            must(lseek(by, writer->at, SEEK_SET) == writer->at, writer, "lseek");
        } else if (what < 24) {
            long expected = writer->bytes - writer->at < (long)length ? writer->bytes - writer->at : (long)length;
            must(read(by, buffer, length) == expected, writer, "read");
            must(memcmp(buffer, writer->contents + writer->at, expected) == 0, writer, "contents");
            writer->at += expected;
        } else if (what < 25) {
            writer->bytes = random_below(writer, writer->bytes + 1);
            memset(writer->contents + writer->bytes, 0, MOST - writer->bytes);
            must(ftruncate(by, writer->bytes) == 0, writer, "ftruncate");
            if (writer->at > writer->bytes) writer->at = lseek(by, writer->bytes, SEEK_SET);
        } else if (what < 26) {
            must(rename(name, other) == 0 && rename(other, name) == 0, writer, "rename");
        } else if (what < 27) {
            close(copy);
            copy = number;
            number = open(name, O_RDWR);
            must(lseek(number, writer->at, SEEK_SET) == writer->at, writer, "open");
            dup2(number, copy);
        } else if (what < 28) {
            must(fsync(by) == 0, writer, "fsync");
        } else if (what < 29) {
            struct timespec little = {0, random_below(writer, 300000)};
            nanosleep(&little, NULL);
        } else {
            must(write(shared, line, sprintf(line, "%d %d\n", writer->number, step)) > 0, writer, "append");
        }
        if (writer->at > writer->bytes) writer->bytes = writer->at;
        if (what % 8 == 7) {
            must((what % 16 == 7 ? stat(name, &status) : fstat(by, &status)) == 0, writer, "stat");
            must(status.st_size == writer->bytes, writer, "size");
        }
    }
    return NULL;
}

int main(int arguments_count, char **arguments) {
    struct writer writers[THREADS];
    if (arguments_count != 2) return 2;
    file = open("file", O_CREAT | O_RDWR, 0600);
    shared = open("shared", O_CREAT | O_WRONLY | O_APPEND, 0600);
    for (int i = 0; i < THREADS; i++) {
        writers[i] = (struct writer){.seed = strtoul(arguments[1], NULL, 10) * THREADS + i, .number = i};
        writers[i].contents = calloc(1, MOST);
        pthread_create(&writers[i].thread, NULL, work, &writers[i]);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(writers[i].thread, NULL);
    return 0;
}
