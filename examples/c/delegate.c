/* Lines of a log that another thread writes.
 *
 *     cc -o delegate delegate.c $(pkg-config --cflags --libs coho-delegate) && ./delegate
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "coho_delegate.h"

int main(void)
{
    coho_host *host;
    coho_caller *caller;
    size_t bytes;
    int log = open("lines.log", O_CREAT | O_WRONLY | O_TRUNC, 0600);
    if (log < 0 || coho_host_create(-1, NULL, &host) != COHO_DELEGATE_OK ||
        coho_caller_create(host, 16, 64, &caller) != COHO_DELEGATE_OK)
        return 1;
    for (int i = 0; i < 100; i++) {
        char *line = coho_caller_slot(caller, &bytes);
        int length = snprintf(line, bytes, "line %d\n", i);
        coho_request request = {SYS_write, {(size_t)log, (size_t)line, (size_t)length}};
        coho_caller_post(caller, &request, NULL);
    }
    coho_caller_destroy(caller);
    coho_host_destroy(host);
    FILE *lines = fopen("lines.log", "r");
    int count = 0, byte;
    while (lines != NULL && (byte = fgetc(lines)) != EOF)
        count += byte == '\n';
    printf("%d lines\n", count);
    return 0;
}
