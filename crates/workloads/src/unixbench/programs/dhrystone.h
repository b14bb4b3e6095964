/* Dhrystone 2 (R. Weicker, CACM 27(10), 1984; version 2: SIGPLAN Notices 23(8), 1988): types and names shared by its two
   parts, which the definition requires to be compiled separately so that no compiler optimises across them. */
#ifndef DHRYSTONE_H
#define DHRYSTONE_H

enum identity { IDENT_1, IDENT_2, IDENT_3, IDENT_4, IDENT_5 };

#define STRING_SIZE 31
#define ARRAY_SIZE 50

typedef char text[STRING_SIZE];
typedef int row[ARRAY_SIZE];
typedef int square[ARRAY_SIZE][ARRAY_SIZE];

struct record {
    struct record *next;
    enum identity kind;
    union {
        struct {
            enum identity component;
            int number;
            char string[STRING_SIZE];
        } first;
        struct {
            enum identity component;
            char string[STRING_SIZE];
        } second;
        struct {
            char one, two;
        } third;
    } variant;
};

extern int int_global;
extern char char_1_global;

void proc_6(enum identity given, enum identity *result);
void proc_7(int one, int two, int *result);
void proc_8(row array_1, square array_2, int one, int two);
enum identity func_1(char one, char two);
int func_2(text one, text two);
int func_3(enum identity given);

#endif
