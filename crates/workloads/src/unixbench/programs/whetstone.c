/* The Whetstone benchmark in double precision (H. Curnow & B. Wichmann, Computer Journal 19(1), 1976), in the eight timed
   sections of its common C form: whetstone SECONDS. Reports millions of Whetstone instructions per second. */
#include <math.h>

#include "report.h"

#define INNER 100L       /* a Whetstone unit is this many times the loops' weights */
#define FIRST_TIMES 10L  /* section 1 is short, so it runs more often and its time is divided */
#define CALIBRATION_S 0.5
#define TIMES_A_STEP 5

static double checksum;

static void section_2(double e[4], double t, double t2) {
    long j;

    for (j = 0; j < 6; j++) {
        e[0] = (e[0] + e[1] + e[2] - e[3]) * t;
        e[1] = (e[0] + e[1] - e[2] + e[3]) * t;
        e[2] = (e[0] - e[1] + e[2] + e[3]) * t;
        e[3] = (-e[0] + e[1] + e[2] + e[3]) / t2;
    }
}

static void section_7(double e[4], long j, long k, long l) {
    e[j] = e[k];
    e[k] = e[l];
    e[l] = e[j];
}

static void section_6(double *x, double *y, double *z, double t, double t1, double t2) {
    *x = *y;
    *y = *z;
    *x = t * (*x + *y);
    *y = t1 * (*x + *y);
    *z = (*x + *y) / t2;
}

/* Adds up each section's result and prints the sum at the end, so that every section must be computed. */
static double end_of_section(double result, double started) {
    checksum += result;
    return now_s() - started;
}

static double whetstones(long extra) {
    const long n1 = 12 * INNER, n2 = 14 * INNER, n3 = 345 * INNER, n4 = 210 * INNER, n5 = 32 * INNER, n6 = 899 * INNER,
               n7 = 616 * INNER, n8 = 93 * INNER;
    const double t0 = 0.49999975, t1 = 0.50000025, t2 = 2.0;
    double t = t0, e[4], x, y, z, seconds = 0.0, started;
    long i, ix, j, k, l;

    /* 1: array elements */
    e[0] = 1.0;
    e[1] = e[2] = e[3] = -1.0;
    started = now_s();
    for (ix = 0; ix < extra; ix++) {
        for (i = 0; i < n1 * FIRST_TIMES; i++) {
            e[0] = (e[0] + e[1] + e[2] - e[3]) * t;
            e[1] = (e[0] + e[1] - e[2] + e[3]) * t;
            e[2] = (e[0] - e[1] + e[2] + e[3]) * t;
            e[3] = (-e[0] + e[1] + e[2] + e[3]) * t;
        }
        t = 1.0 - t;
    }
    t = t0;
    seconds += end_of_section(e[3], started) / (double)FIRST_TIMES;

    /* 2: array as parameter */
    started = now_s();
    for (ix = 0; ix < extra; ix++) {
        for (i = 0; i < n2; i++)
            section_2(e, t, t2);
        t = 1.0 - t;
    }
    t = t0;
    seconds += end_of_section(e[3], started);

    /* 3: conditional jumps */
    j = 1;
    started = now_s();
    for (ix = 0; ix < extra; ix++) {
        for (i = 0; i < n3; i++) {
            j = j == 1 ? 2 : 3;
            j = j > 2 ? 0 : 1;
            j = j < 1 ? 1 : 0;
        }
    }
    seconds += end_of_section((double)j, started);

    /* 4: integer arithmetic */
    j = 1;
    k = 2;
    l = 3;
    started = now_s();
    for (ix = 0; ix < extra; ix++) {
        for (i = 0; i < n4; i++) {
            j = j * (k - j) * (l - k);
            k = l * k - (l - j) * k;
            l = (l - k) * (k + j);
            e[l - 2] = (double)(j + k + l);
            e[k - 2] = (double)(j * k * l);
        }
    }
    seconds += end_of_section(e[0] + e[1], started);
    if (e[0] + e[1] != 12.0) {
        fputs("Whetstone's integers came to wrong values\n", stderr);
        exit(1);
    }

    /* 5: trigonometric functions */
    x = y = 0.5;
    started = now_s();
    for (ix = 0; ix < extra; ix++) {
        for (i = 1; i < n5; i++) {
            x = t * atan(t2 * sin(x) * cos(x) / (cos(x + y) + cos(x - y) - 1.0));
            y = t * atan(t2 * sin(y) * cos(y) / (cos(x + y) + cos(x - y) - 1.0));
        }
        t = 1.0 - t;
    }
    t = t0;
    seconds += end_of_section(y, started);

    /* 6: procedure calls */
    x = y = z = 1.0;
    started = now_s();
    for (ix = 0; ix < extra; ix++)
        for (i = 0; i < n6; i++)
            section_6(&x, &y, &z, t, t1, t2);
    seconds += end_of_section(z, started);

    /* 7: array references */
    j = 0;
    k = 1;
    l = 2;
    e[0] = 1.0;
    e[1] = 2.0;
    e[2] = 3.0;
    started = now_s();
    for (ix = 0; ix < extra; ix++)
        for (i = 0; i < n7; i++)
            section_7(e, j, k, l);
    seconds += end_of_section(e[2], started);

    /* 8: standard functions */
    x = 0.75;
    started = now_s();
    for (ix = 0; ix < extra; ix++)
        for (i = 0; i < n8; i++)
            x = sqrt(exp(log(x) / t1));
    seconds += end_of_section(x, started);
    return seconds;
}

int main(int argc, char **argv) {
    double wanted = argc > 1 ? atof(argv[1]) : 10.0, calibration = CALIBRATION_S, took;
    long extra = 1;

    if (wanted < 2.0 * calibration)
        calibration = wanted / 2.0;
    for (took = whetstones(extra); took < calibration; took = whetstones(extra))
        extra *= TIMES_A_STEP;
    extra = (long)(wanted * (double)extra / took);
    if (extra < 1)
        extra = 1;
    took = whetstones(extra);
    if (checksum != checksum)
        return 1;
    report((double)extra * (double)INNER / (10.0 * took), 0, "MWIPS", took);
    return 0;
}
