/* The C interface, also compiled as C++. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "coho_delegate.h"

#define CHECK(condition)                                                                   \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                \
            exit(1);                                                                       \
        }                                                                                  \
    } while (0)

static long executor;

static intptr_t add(void *argument)
{
    executor = syscall(SYS_gettid);
    return ++*(long *)argument;
}

static intptr_t nap(void *argument)
{
    usleep(20000);
    return *(long *)argument;
}

static void refusals(coho_host *host)
{
    coho_host *none = NULL;
    coho_caller *caller = NULL;
    coho_host_options small = {1, 0};
    coho_request request = {SYS_getpid, {0}};
    uint64_t ticket;
    CHECK(coho_host_create(60000, NULL, &none) == COHO_DELEGATE_CPU && none == NULL);
    CHECK(coho_host_create(-2, NULL, &none) == COHO_DELEGATE_INVALID);
    CHECK(coho_host_create(-1, NULL, NULL) == COHO_DELEGATE_INVALID);
    CHECK(coho_host_create(-1, &small, &none) == COHO_DELEGATE_INVALID);
    CHECK(coho_caller_create(NULL, 0, 0, &caller) == COHO_DELEGATE_INVALID);
    CHECK(coho_caller_create(host, 0, 0, NULL) == COHO_DELEGATE_INVALID);
    CHECK(coho_caller_create(host, SIZE_MAX, 1, &caller) == COHO_DELEGATE_INVALID);
    CHECK(coho_caller_create(host, 16, SIZE_MAX / 2, &caller) == COHO_DELEGATE_INVALID);
    CHECK(coho_caller_create(host, 2, SIZE_MAX / 4, &caller) == COHO_DELEGATE_SYSTEM && caller == NULL);
    CHECK(coho_caller_call(NULL, &request) == -EINVAL);
    CHECK(coho_caller_post(NULL, &request, &ticket) == COHO_DELEGATE_INVALID);
    CHECK(coho_caller_post_function(NULL, add, NULL, &ticket) == COHO_DELEGATE_INVALID);
    CHECK(coho_caller_set_patience(NULL, 1) == COHO_DELEGATE_INVALID);
    CHECK(coho_caller_drain(NULL) == COHO_DELEGATE_INVALID);
    CHECK(coho_caller_wait(NULL, 0, NULL) == COHO_DELEGATE_INVALID);
    CHECK(coho_caller_slot(NULL, NULL) == NULL);
    CHECK(coho_caller_taken_back(NULL) == 0 && coho_host_served(NULL) == 0);
    coho_host_end(NULL), coho_host_destroy(NULL), coho_caller_destroy(NULL);
    for (int status = -1; status < 8; status++)
        CHECK(strlen(coho_delegate_status_text(status)) > 3);
}

int main(void)
{
    coho_host *host;
    coho_caller *caller;
    coho_host_options options = {sizeof options, 100000};
    coho_request ask = {SYS_getppid, {0}}, wrong = {SYS_close, {(size_t)-1}};
    uint64_t first, last;
    intptr_t answer = 0;
    long count = 0;
    CHECK(coho_host_create(-1, &options, &host) == COHO_DELEGATE_OK);
    refusals(host);
    CHECK(coho_caller_create(host, 4, 64, &caller) == COHO_DELEGATE_OK);
    CHECK(coho_caller_set_patience(caller, UINT64_MAX) == COHO_DELEGATE_OK);

    CHECK(coho_caller_call(caller, &ask) == getppid());
    errno = 0;
    CHECK(coho_caller_call(caller, &wrong) == -EBADF && errno == 0);
    CHECK(coho_caller_call(caller, NULL) == -EINVAL);
    CHECK(coho_host_served(host) == 2);

    CHECK(coho_caller_post_function(caller, NULL, &count, &first) == COHO_DELEGATE_INVALID);
    CHECK(coho_caller_post_function(caller, add, &count, &first) == COHO_DELEGATE_OK);
    CHECK(coho_caller_wait(caller, first + 1, &answer) == COHO_DELEGATE_INVALID);
    CHECK(coho_caller_wait(caller, first, &answer) == COHO_DELEGATE_OK && answer == 1);
    CHECK(executor != syscall(SYS_gettid));
    for (int i = 0; i < 4; i++)
        CHECK(coho_caller_post_function(caller, add, &count, &last) == COHO_DELEGATE_OK);
    CHECK(coho_caller_wait(caller, last, &answer) == COHO_DELEGATE_OK && answer == 5);
    CHECK(coho_caller_poll(caller, first, &answer) == COHO_DELEGATE_GONE);
    CHECK(coho_caller_post_function(caller, nap, &count, &last) == COHO_DELEGATE_OK);
    CHECK(coho_caller_poll(caller, last, &answer) == COHO_DELEGATE_PENDING);
    CHECK(coho_caller_drain(caller) == COHO_DELEGATE_OK);
    CHECK(coho_caller_poll(caller, last, &answer) == COHO_DELEGATE_OK && answer == 5);

    size_t bytes;
    int ends[2];
    CHECK(pipe(ends) == 0);
    char *slot = (char *)coho_caller_slot(caller, &bytes), seen[16] = "";
    CHECK(slot != NULL && bytes == 64);
    strcpy(slot, "through a slot");
    coho_request write_it = {SYS_write, {(size_t)ends[1], (size_t)slot, 15}};
    CHECK(coho_caller_post(caller, &write_it, &last) == COHO_DELEGATE_OK);
    CHECK(read(ends[0], seen, sizeof seen) == 15 && strcmp(seen, "through a slot") == 0);
    CHECK(coho_caller_wait(caller, last, &answer) == COHO_DELEGATE_OK && answer == 15);
    CHECK(coho_caller_taken_back(caller) == 0);

    coho_host_end(host);
    CHECK(coho_caller_post_function(caller, add, &count, &last) == COHO_DELEGATE_OK);
    CHECK(coho_caller_wait(caller, last, &answer) == COHO_DELEGATE_OK && answer == 6);
    CHECK(executor == syscall(SYS_gettid));
    coho_host_destroy(host);
    coho_caller_destroy(caller);
    puts("ok");
    return 0;
}
