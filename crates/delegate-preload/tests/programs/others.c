/* Looks at a file that only a library which maps paths can find, and writes a log. Prints what failed. */
#include "cases.h"

int main(void) {
    struct stat status;
    int bad_stat = 0, bad_open = 0, bad_write = 0;
    int log = open("log", O_CREAT | O_WRONLY | O_TRUNC, 0600);
    for (int i = 0; i < 500; i++) {
        bad_stat += stat("/virtual/mapped", &status) != 0;
        int number = open("/virtual/mapped", O_RDONLY);
        bad_open += number < 0;
        if (number >= 0) close(number);
        bad_write += write(log, "line\n", 5) != 5;
    }
    close(log);
    printf("stat %d, open %d, write %d\n", bad_stat, bad_open, bad_write);
    return 0;
}
