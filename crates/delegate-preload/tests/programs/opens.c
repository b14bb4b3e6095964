/* The library opened by the program itself, used by name, and closed. */
#include "cases.h"
#include <dlfcn.h>

int main(int arguments_count, char **arguments) {
    void *library = arguments_count == 2 ? dlopen(arguments[1], RTLD_NOW) : NULL;
    if (library == NULL) return 2;
    ssize_t (*its_write)(int, const void *, size_t) = (ssize_t(*)(int, const void *, size_t))dlsym(library, "write");
    int lines = open("lines", O_CREAT | O_WRONLY, 0600);
    for (int i = 0; i < 1000; i++) {
        if (its_write(lines, "line\n", 5) != 5) abort();
    }
    dlclose(library);
    /* Hosts have time to do something, if they still can. */
    usleep(50000);
    puts("closed");
    return 0;
}
