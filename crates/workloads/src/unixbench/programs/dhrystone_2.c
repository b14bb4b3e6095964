/* Dhrystone 2, second part: procedures 6 to 8 and the functions. */
#include <string.h>

#include "dhrystone.h"

void proc_6(enum identity given, enum identity *result) {
    *result = given;
    if (!func_3(given))
        *result = IDENT_4;
    switch (given) {
    case IDENT_1:
        *result = IDENT_1;
        break;
    case IDENT_2:
        *result = int_global > 100 ? IDENT_1 : IDENT_4;
        break;
    case IDENT_3:
        *result = IDENT_2;
        break;
    case IDENT_4:
        break;
    case IDENT_5:
        *result = IDENT_3;
        break;
    }
}

void proc_7(int one, int two, int *result) {
    int sum = one + 2;

    *result = two + sum;
}

void proc_8(row array_1, square array_2, int one, int two) {
    register int index, place = one + 5;

    array_1[place] = two;
    array_1[place + 1] = array_1[place];
    array_1[place + 30] = place;
    for (index = place; index <= place + 1; ++index)
        array_2[place][index] = place;
    array_2[place][place - 1] += 1;
    array_2[place + 20][place] = array_1[place];
    int_global = 5;
}

enum identity func_1(char one, char two) {
    char first = one, second = first;

    if (second != two)
        return IDENT_1;
    char_1_global = first;
    return IDENT_2;
}

int func_2(text one, text two) {
    register int place = 2;
    char letter = 'A';

    while (place <= 2) {
        if (func_1(one[place], two[place + 1]) == IDENT_1) {
            letter = 'A';
            place += 1;
        }
    }
    if (letter >= 'W' && letter < 'Z')
        place = 7;
    if (letter == 'R')
        return 1;
    if (strcmp(one, two) > 0) {
        place += 7;
        int_global = place;
        return 1;
    }
    return 0;
}

int func_3(enum identity given) {
    enum identity identity = given;

    return identity == IDENT_3;
}
