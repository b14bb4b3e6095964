/* calls [N]: asks for the size of a file many times; with N, as N processes in turn. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **arguments) {
    int processes = count > 1 ? atoi(arguments[1]) : 0, status;
    struct stat file;
    for (int i = 0; i < processes; i++) {
        if (fork() == 0) {
            execl("/bin/calls", "calls", (char *)NULL);
            _exit(127);
        }
        if (wait(&status) < 0 || status != 0) return 1;
    }
    for (int i = 0; processes == 0 && i < 2000; i++)
        if (stat("/init", &file) != 0) return 1;
    return 0;
}
