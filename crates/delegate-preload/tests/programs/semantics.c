/* Calls as programs make them, and what comes of them. Each case prints what it finds: the same whoever executes the calls. */
#include "cases.h"

static void errors(void) {
    char buffer[16];
    struct stat status;
    SHOW(stat("missing", &status));
    SHOW(stat("", &status));
    SHOW(stat((char *)8, &status));
    SHOW(stat(NULL, &status));
    SHOW(stat(".", (struct stat *)8));
    SHOW(fstat(file, (struct stat *)8));
    SHOW(fstat(-1, &status));
    SHOW(write(file, (void *)8, 5));
    SHOW(pwrite(file, (void *)8, 5, 0));
    SHOW(pread(file, (void *)8, 5, 0));
    SHOW(pread(file, buffer, sizeof buffer, -1));
    SHOW(pread(file, buffer, sizeof buffer, 195));
    SHOW(write(-1, buffer, 1));
    SHOW(write(4000, buffer, 1));
    SHOW(write(100000, buffer, 1));
    SHOW(close(4000));
    SHOW(open("missing/file", O_RDONLY));
    SHOW(open("file", O_CREAT | O_EXCL, 0600));
    SHOW(open("file", O_DIRECTORY));
    SHOW(open((char *)8, O_RDONLY));
    SHOW(rename("missing", "other"));
    SHOW(rename("file", (char *)8));
    SHOW(unlink("."));
    SHOW(unlink((char *)8));
    SHOW(rmdir("missing"));
    SHOW(mkdir("file", 0700));
    SHOW(access("missing", R_OK));
    SHOW(access("file", R_OK | W_OK));
    SHOW(ftruncate(file, -1));
    int reader = open("file", O_RDONLY);
    SHOW(write(reader, buffer, 1));
    SHOW(read(reader, buffer, 10));
    SHOW(fsync(reader));
    SHOW(close(reader));
    SHOW(close(reader));
    SHOW(read(reader, buffer, 1));
}

static void files(void) {
    umask(027);
    SHOW(mkdir("folder", 0777));
    int made = open("folder/new", O_CREAT | O_WRONLY, 0666);
    struct stat status;
    SHOW(fstat(made, &status));
    printf("%o\n", status.st_mode);
    SHOW(write(made, "four", 4));
    int copy = dup(made);
    SHOW(write(copy, "five!", 5));
    SHOW(lseek(made, 0, SEEK_CUR));
    SHOW(close(made));
    SHOW(write(made, "x", 1));
    SHOW(write(copy, "x", 1));
    SHOW(close(copy));
    SHOW(rename("folder/new", "folder/moved"));
    SHOW(stat("folder/moved", &status));
    printf("%ld\n", (long)status.st_size);
    SHOW(symlink("moved", "folder/link"));
    SHOW(lstat("folder/link", &status));
    printf("%d\n", S_ISLNK(status.st_mode));
    SHOW(unlink("folder/link"));
    SHOW(unlink("folder/moved"));
    SHOW(rmdir("folder"));
    SHOW(chdir("/"));
    SHOW(access("tmp", F_OK));
}

static volatile sig_atomic_t handled, notes;
static void note(int signal) {
    handled = signal;
    notes++;
}

static void signals(void) {
    struct sigaction action = {.sa_handler = note};
    sigaction(SIGXFSZ, &action, NULL);
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    struct rlimit limit = {300, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    char bytes[200];
    memset(bytes, 'b', sizeof bytes);
    SHOW(pwrite(file, bytes, 200, 200));
    printf("signal %d\n", handled);
    SHOW(pwrite(file, bytes, 200, 300));
    printf("signal %d\n", handled == SIGXFSZ);
    handled = 0;
    SHOW(ftruncate(file, 1000));
    printf("signal %d\n", handled == SIGXFSZ);
    for (int i = 0; i < 30; i++) {
        if (pwrite(file, bytes, 1, 300 + i) != -1 || errno != EFBIG) abort();
    }
    printf("signals %d\n", notes);
    int ends[2];
    if (pipe(ends) != 0) abort();
    close(ends[0]);
    SHOW(write(ends[1], "x", 1));
    printf("signal %d\n", handled == SIGPIPE);
    close(ends[1]);
    if (pipe(ends) != 0) abort();
    struct itimerval soon = {.it_value = {0, 20000}};
    setitimer(ITIMER_REAL, &soon, NULL);
    SHOW(read(ends[0], bytes, 1));
    printf("signal %d\n", handled == SIGALRM);
    if (mkfifo("fifo", 0600) != 0) abort();
    setitimer(ITIMER_REAL, &soon, NULL);
    SHOW(open("fifo", O_RDONLY));
}

/* A descriptor that was a file becomes a pipe, by every way there is. */
static void numbers(void) {
    struct sigaction action = {.sa_handler = note};
    sigaction(SIGALRM, &action, NULL);
    for (int way = 0; way < 5; way++) {
        int ends[2], number = open("file", O_RDWR);
        char byte = 'n';
        for (int i = 0; i < 3; i++) {
            if (pwrite(number, &byte, 1, 0) != 1) abort();
        }
        if (pipe(ends) != 0) abort();
        switch (way) {
        case 0: dup2(ends[0], number); break;
        case 1: dup3(ends[0], number, O_CLOEXEC); break;
        case 2: close(number); if (fcntl(ends[0], F_DUPFD, number) != number) abort(); break;
        case 3: fclose(fdopen(number, "r")); if (dup2(ends[0], number) != number) abort(); break;
        case 4: syscall(SYS_close, number); if (fcntl(ends[0], F_DUPFD, number) != number) abort(); break;
        }
        struct itimerval soon = {.it_value = {0, 20000}};
        setitimer(ITIMER_REAL, &soon, NULL);
        SHOW(read(number, &byte, 1));
        close(number);
        close(ends[0]);
        close(ends[1]);
    }
}

static volatile long in_handler;
static void writes(int signal) {
    (void)signal;
    int before = errno;
    if (pwrite(file, "h", 1, 0) == 1) in_handler++;
    errno = before;
}

static void handlers(void) {
    struct sigaction action = {.sa_handler = writes};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 200}, {0, 200}};
    setitimer(ITIMER_REAL, &often, NULL);
    long wrong = 0;
    char bytes[4096];
    memset(bytes, 'x', sizeof bytes);
    for (int i = 0; i < 30000 || in_handler < 20; i++) wrong += pwrite(file, bytes, 1 + i % 4096, 1) != 1 + i % 4096;
    struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
    printf("wrong %ld, handled %d\n", wrong, in_handler > 0);
}

static void *append(void *name) {
    char line[32];
    int length = snprintf(line, sizeof line, "%s\n", (char *)name), shared = open("lines", O_CREAT | O_WRONLY | O_APPEND, 0600);
    for (int i = 0; i < 3000; i++) {
        if (write(shared, line, length) != length) abort();
    }
    close(shared);
    return NULL;
}

static void threads(void) {
    pthread_t all[4];
    char *names[4] = {"first", "second one", "the third of them", "4"};
    for (int i = 0; i < 4; i++) pthread_create(&all[i], NULL, append, names[i]);
    for (int i = 0; i < 4; i++) pthread_join(all[i], NULL);
    FILE *lines = fopen("lines", "r");
    char line[64];
    int counts[4] = {0}, wrong = 0;
    while (fgets(line, sizeof line, lines)) {
        int found = 0;
        line[strcspn(line, "\n")] = 0;
        for (int i = 0; i < 4; i++) {
            if (strcmp(line, names[i]) == 0) counts[i]++, found = 1;
        }
        wrong += !found;
    }
    printf("%d %d %d %d, wrong %d\n", counts[0], counts[1], counts[2], counts[3], wrong);
}

static void children(void) {
    struct stat status;
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 300; i++) {
            if (stat(".", &status) != 0 || pwrite(file, "c", 1, i) != 1) _exit(1);
        }
        _exit(7);
    }
    int how;
    waitpid(child, &how, 0);
    printf("fork %d\n", WEXITSTATUS(how));
    child = vfork();
    if (child == 0) {
        close(file);
        execl("/bin/sh", "sh", "-c", "exit 9", (char *)NULL);
        _exit(1);
    }
    waitpid(child, &how, 0);
    printf("vfork %d\n", WEXITSTATUS(how));
    SHOW(pwrite(file, "still", 5, 0));
    SHOW(pread(file, (char[8]){0}, 5, 0));
}

static void rights(void) {
    struct stat status;
    SHOW(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    SHOW(stat(".", &status));
    SHOW(pwrite(file, "r", 1, 0));
    if (geteuid() == 0) {
        SHOW(mkdir("private", 0700));
        SHOW(seteuid(65534));
        errno = 0;
        int denied = stat("private/x", &status);
        fprintf(stdout, "as another: %d %s\n", denied, strerrorname_np(errno));
    }
}

static void *cancelled(void *unused) {
    (void)unused;
    struct stat status;
    for (;;) {
        if (pwrite(file, "c", 1, 0) != 1 || stat(".", &status) != 0) abort();
    }
}

static void cancellation(void) {
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        void *result;
        pthread_create(&thread, NULL, cancelled, NULL);
        usleep(2000);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        if (result != PTHREAD_CANCELED) printf("not cancelled\n");
    }
    SHOW(pwrite(file, "c", 1, 0));
}

static void own(void) {
    char link[64] = {0};
    struct stat status;
    prctl(PR_SET_NAME, "the caller");
    int name = open("/proc/thread-self/comm", O_RDONLY);
    if (read(name, link, sizeof link) < 0) abort();
    printf("%s", link);
    SHOW(stat("/proc/thread-self/task", &status));
    SHOW(stat("/dev/null", &status));
    int null = open("/dev/null", O_WRONLY);
    SHOW(write(null, link, 5));
}

/* Each line is looked at in another way as soon as it is written. */
static void later(void) {
    int lines = open("lines", O_CREAT | O_RDWR | O_APPEND, 0600), other = open("lines", O_RDONLY), copy = dup(lines);
    struct stat status;
    char line[64], seen[64];
    long wrong = 0, size = 0;
    for (int i = 0; i < 4000; i++) {
        int length = sprintf(line, "line %d\n", i);
        if (write(i % 3 ? lines : copy, line, length) != length) abort();
        size += length;
        memset(line, 'x', sizeof line);
        switch (i % 40) {
        case 0: wrong += fstat(other, &status) != 0 || status.st_size != size; break;
        case 5: wrong += stat("lines", &status) != 0 || status.st_size != size; break;
        case 10: wrong += lseek(other, 0, SEEK_END) != size; break;
        case 15: wrong += pread(other, seen, sizeof seen, size - length) != length; break;
        case 20: {
            char *map = mmap(NULL, size, PROT_READ, MAP_SHARED, other, 0);
            wrong += map[size - 1] != '\n';
            munmap(map, size);
            break;
        }
        case 25: {
            pid_t child = fork();
            if (child == 0) _exit(fstat(other, &status) != 0 || status.st_size != size);
            int how;
            waitpid(child, &how, 0);
            wrong += how != 0;
            break;
        }
        case 30: {
            FILE *all = fopen("lines", "r");
            fseek(all, 0, SEEK_END);
            wrong += ftell(all) != size;
            fclose(all);
            break;
        }
        case 35: wrong += i % 400 == 35 && system("test $(tail -n 1 lines | wc -c) -gt 6") != 0; break;
        }
    }
    printf("wrong %ld\n", wrong);
    FILE *mixed = fopen("mixed", "w");
    setvbuf(mixed, NULL, _IOLBF, 0);
    for (int i = 0; i < 2000; i++) {
        if (i % 2) fprintf(mixed, "%d %.1f\n", i, i / 2.0);
        else if (write(fileno(mixed), line, sprintf(line, "%d\n", i)) < 0) abort();
    }
    fclose(mixed);
    mixed = fopen("mixed", "r");
    for (int i = 0; i < 2000; i++) wrong += fgets(line, sizeof line, mixed) == NULL || atoi(line) != i;
    printf("wrong %ld\n", wrong);
}

/* Writes until the file system is full. */
static void full(void) {
    if (ftruncate(file, 0) != 0) abort();
    int lines = open("/proc/self/cwd/lines", O_CREAT | O_RDWR, 0600), error = 0, unreported = 0;
    char block[512], seen[512];
    for (int i = 0; i < 1000 && !error; i++) {
        memset(block, i % 251, sizeof block);
        if (write(lines, block, sizeof block) < 0) error = errno;
    }
    long ordered = lseek(lines, 0, SEEK_SET) == 0;
    for (int i = 0; read(lines, seen, sizeof seen) == (long)sizeof seen; i++) ordered &= seen[7] == (char)(i % 251);
    printf("%s\nerror %s\n", ordered ? "written in order" : "disorder", strerrorname_np(error));
    if (close(lines) != 0) unreported = errno;
    printf("unreported %d\n", unreported);
}

/* An error of a write to a full file system comes once, by whichever descriptor of the same open file. */
static void doubles(void) {
    int filler = open("/proc/self/cwd/filler", O_CREAT | O_RDWR, 0600);
    char block[512] = {0}, page[4096] = {0};
    for (long at = 0; pwrite(filler, page, sizeof page, at) > 0; at += sizeof page) {}
    int lines = open("/proc/self/cwd/more", O_CREAT | O_RDWR, 0600);
    struct iovec parts = {block, sizeof block};
    for (int way = 0; way < 8; way++) {
        int other = 900 + way;
        switch (way % 4) {
        case 0: other = dup(lines); break;
        case 1: other = dup2(lines, other); break;
        case 2: other = dup3(lines, other, O_CLOEXEC); break;
        case 3: other = fcntl(lines, F_DUPFD_CLOEXEC, other); break;
        }
        int writer = way < 4 ? lines : other, asker = way < 4 ? other : lines;
        int told = write(writer, block, sizeof block) < 0;
        switch (way % 4) {
        case 0: told += fsync(asker) < 0; break;
        case 1: told += read(asker, block, 1) < 0; break;
        case 2: told += writev(asker, &parts, 1) < 0; break;
        case 3: told += way < 4 ? close(asker) < 0 : fsync(asker) < 0; break;
        }
        /* writev fails as well where the write has been told of. */
        printf("told %d, then %d %d\n", told > 0, fsync(writer), fsync(lines));
        close(other);
    }
    SHOW(close(lines));
}

static void count(void) {
    int lines = open("lines", O_CREAT | O_WRONLY, 0600);
    char line[32];
    for (int i = 0;; i++) {
        int length = sprintf(line, "%d\n", i);
        if (write(lines, line, length) != length) abort();
    }
}

int main(int arguments_count, char **arguments) {
    static const struct test cases[] = {
        {"errors", errors}, {"files", files}, {"signals", signals}, {"numbers", numbers}, {"handlers", handlers},
        {"threads", threads}, {"children", children}, {"rights", rights}, {"cancellation", cancellation}, {"own", own},
        {"later", later}, {"full", full}, {"doubles", doubles}, {"count", count},
    };
    return choose(cases, sizeof cases / sizeof *cases, arguments_count, arguments);
}
