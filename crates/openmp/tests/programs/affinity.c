/* Where threads run, as programs ask for it, in C and by what Fortran calls; a word on the command line is a format. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int32_t omp_capture_affinity_(char *, const char *, size_t, size_t);
void omp_display_affinity_(const char *, size_t);

static void ask(const char *format)
{
    char text[300];
    memset(text, '#', sizeof text);
    size_t length = omp_capture_affinity(text, sizeof text, format);
    printf("%s: %zu, %s\n", format, length, text);
}

static void ask_by_fortran(const char *format, size_t given, size_t room)
{
    char text[41];
    memset(text, '#', sizeof text);
    text[40] = 0;
    int length = omp_capture_affinity_(text, format, room, given);
    printf("%s, %zu of it: %d, %s\n", format, given, length, text);
}

/* Each thread's texts, in the threads' order. */
static void ask_within(int threads, const char *format)
{
    char texts[8][100];
#pragma omp parallel num_threads(threads)
    omp_capture_affinity(texts[omp_get_thread_num()], 100, format);
    for (int i = 0; i < threads; i++)
        printf("%s\n", texts[i]);
}

int main(int arguments, char **words)
{
    setvbuf(stdout, 0, _IONBF, 0);
    if (arguments > 1) {
        ask(words[1]);
        return 0;
    }
    const char *most = "%t of %T, level %L, %n of %N in %a: {%A} on %H";
    ask(most);
    ask("%{team_num} %{num_teams} %{nesting_level} %{thread_num} %{num_threads} %{ancestor_tnum} %{thread_affinity} %{host}");
    ask("%5n|%.5n|%0.5n|%5a|%.5a|%0.5a|%1a|%.1a|%12{thread_num}|");
    ask("%10A|%.10A|%0.10A|%1A|%0.1A|%.1A|%20H|%.20H|%0.20H|%%|%%n|");
    char process[30], text[300];
    snprintf(process, sizeof process, "%d", (int)getpid());
    omp_capture_affinity(text, sizeof text, "%P");
    printf("process %d\n", strcmp(process, text));
    for (size_t room = 0; room < 8; room++) {
        memset(text, '#', sizeof text);
        size_t length = omp_capture_affinity(text, room, "%n-2345");
        printf("%zu in %zu: %.9s\n", length, room, text);
    }
    printf("%zu in none\n", omp_capture_affinity(0, 0, "%n-2345"));
    printf("%zu, %s\n", omp_get_affinity_format(text, sizeof text), text);
    omp_display_affinity("shown %n");
    omp_set_affinity_format("set: %L %n %N {%A}");
    ask("");
    omp_display_affinity(0);
    ask_by_fortran("%n-%N tail  ", 12, 20);
    ask_by_fortran("%n-%N tail  ", 5, 20);
    ask_by_fortran("", 0, 40);
    omp_display_affinity_("%n-%N tail", 5);
    omp_display_affinity_("", 0);
    ask_within(2, most);
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
#pragma omp master
    ask_within(2, "%L: %n of %N in %{ancestor_tnum}");
    return 0;
}
