/* Preloaded: a vfork of its own, by fork. */
#define _GNU_SOURCE
#include <unistd.h>

pid_t vfork(void) {
    write(2, "mine\n", 5);
    return fork();
}
