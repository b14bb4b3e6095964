/* Linked to the library, which does nothing in a program that runs with more rights than its user. */
#include "cases.h"

int main(void) {
    int lines = open("lines", O_CREAT | O_WRONLY | O_TRUNC, 0666);
    for (int i = 0; i < 1000; i++) {
        if (write(lines, "line\n", 5) != 5) abort();
    }
    SHOW(lseek(lines, 0, SEEK_CUR));
    SHOW(geteuid() == getuid());
    return 0;
}
