/* Dhrystone 2, first part: the measured loop and procedures 1 to 5. dhrystone SECONDS */
#include <string.h>

#include "dhrystone.h"
#include "report.h"

struct record *record_global, *next_record_global;
int int_global;
int bool_global;
char char_1_global, char_2_global;
row array_1_global;
square array_2_global;

static void proc_1(register struct record *given);
static void proc_2(int *given);
static void proc_3(struct record **given);
static void proc_4(void);
static void proc_5(void);

int main(int argc, char **argv) {
    int one = 0, two = 0, three = 0;
    char index;
    enum identity identity = IDENT_1;
    text string_1, string_2;
    double seconds = argc > 1 ? atof(argv[1]) : 10.0, started, took;
    register unsigned long run;

    next_record_global = malloc(sizeof *next_record_global);
    record_global = malloc(sizeof *record_global);
    if (next_record_global == NULL || record_global == NULL)
        return 1;
    record_global->next = next_record_global;
    record_global->kind = IDENT_1;
    record_global->variant.first.component = IDENT_3;
    record_global->variant.first.number = 40;
    strcpy(record_global->variant.first.string, "DHRYSTONE PROGRAM, SOME STRING");
    strcpy(string_1, "DHRYSTONE PROGRAM, 1'ST STRING");
    array_2_global[8][7] = 10;

    started = now_s();
    set_alarm(seconds);
    for (run = 1; !time_is_up; ++run) {
        proc_5();
        proc_4();
        one = 2;
        two = 3;
        strcpy(string_2, "DHRYSTONE PROGRAM, 2'ND STRING");
        identity = IDENT_2;
        bool_global = !func_2(string_1, string_2);
        while (one < two) {
            three = 5 * one - two;
            proc_7(one, two, &three);
            one += 1;
        }
        proc_8(array_1_global, array_2_global, one, three);
        proc_1(record_global);
        for (index = 'A'; index <= char_2_global; ++index) {
            if (identity == func_1(index, 'C')) {
                proc_6(IDENT_1, &identity);
                strcpy(string_2, "DHRYSTONE PROGRAM, 3'RD STRING");
                two = (int)run;
                int_global = (int)run;
            }
        }
        two = two * one;
        one = two / three;
        two = 7 * (two - three) - one;
        proc_2(&one);
    }
    took = now_s() - started;

    /* The values that every implementation must compute. */
    if (int_global != 5 || bool_global != 1 || char_1_global != 'A' || char_2_global != 'B' ||
        array_1_global[8] != 7 || array_2_global[8][7] != (int)(run - 1) + 10 || one != 5 || two != 13 || three != 7 || identity != IDENT_2 ||
        record_global->variant.first.number != 17 || next_record_global->variant.first.number != 18) {
        fputs("Dhrystone came to wrong values\n", stderr);
        return 1;
    }
    report((double)(run - 1), 1, "lps", took);
    return 0;
}

static void proc_1(register struct record *given) {
    register struct record *next = given->next;

    *given->next = *record_global;
    given->variant.first.number = 5;
    next->variant.first.number = given->variant.first.number;
    next->next = given->next;
    proc_3(&next->next);
    if (next->kind == IDENT_1) {
        next->variant.first.number = 6;
        proc_6(given->variant.first.component, &next->variant.first.component);
        next->next = record_global->next;
        proc_7(next->variant.first.number, 10, &next->variant.first.number);
    } else {
        *given = *given->next;
    }
}

static void proc_2(int *given) {
    int number = *given + 10;
    enum identity identity = IDENT_2;

    do {
        if (char_1_global == 'A') {
            number -= 1;
            *given = number - int_global;
            identity = IDENT_1;
        }
    } while (identity != IDENT_1);
}

static void proc_3(struct record **given) {
    if (record_global != NULL)
        *given = record_global->next;
    proc_7(10, int_global, &record_global->variant.first.number);
}

static void proc_4(void) {
    int is_a = char_1_global == 'A';

    bool_global = is_a | bool_global;
    char_2_global = 'B';
}

static void proc_5(void) {
    char_1_global = 'A';
    bool_global = 0;
}
