/* Scans: prefix sums, products and greatest values, each against a loop of one thread. Members keep their parts in memory that
   all have in common. */
#include <omp.h>
#include <stdio.h>
#include <string.h>

#define MOST 3000

struct wide {
    _Alignas(32) long parts[7];
};

static long values[MOST], sums[MOST], greatests[MOST];
static struct wide wides[MOST];
static int wrong;

static void add(struct wide *to, const struct wide *from)
{
    for (int i = 0; i < 7; i++)
        to->parts[i] += from->parts[i];
}

#pragma omp declare reduction(add : struct wide : add(&omp_out, &omp_in)) initializer(omp_priv = {{0}})

static struct wide wide(int at) { return (struct wide){.parts = {values[at], 1, values[at] % 7, 2, at, 3, -at}}; }

static void check(const char *name, int count, long total, int exclusive)
{
    long sum = 5;
    int bad = 0;
    for (int i = 0; i < count; i++) {
        if (exclusive)
            bad += sums[i] != sum;
        sum += values[i];
        if (!exclusive)
            bad += sums[i] != sum;
    }
    bad += total != sum;
    if (bad)
        printf("%s of %d: %d wrong\n", name, count, bad);
    wrong += bad;
    memset(sums, -1, sizeof sums);
}

/* Scans in a function of their own. */
static long total;

static void inclusive(int count)
{
#pragma omp for reduction(inscan, + : total)
    for (int i = 0; i < count; i++) {
        total += values[i];
#pragma omp scan inclusive(total)
        sums[i] = total;
    }
}

static void exclusive_nowait(int count)
{
#pragma omp for reduction(inscan, + : total) nowait
    for (int i = 0; i < count; i++) {
        sums[i] = total;
#pragma omp scan exclusive(total)
        total += values[i];
    }
}

static void with_lanes(int count)
{
#pragma omp for simd reduction(inscan, + : total)
    for (int i = 0; i < count; i++) {
        total += values[i];
#pragma omp scan inclusive(total)
        sums[i] = total;
    }
}

static void combined(int count)
{
    long sum = 5, greatest = -1;
#pragma omp parallel for reduction(inscan, + : sum) reduction(inscan, max : greatest)
    for (int i = 0; i < count; i++) {
        sum += values[i];
        greatest = values[i] > greatest ? values[i] : greatest;
#pragma omp scan inclusive(sum, greatest)
        sums[i] = sum;
        greatests[i] = greatest;
    }
    check("combined inclusive", count, sum, 0);
    long so_far = -1, bad = 0;
    for (int i = 0; i < count; i++) {
        so_far = values[i] > so_far ? values[i] : so_far;
        bad += greatests[i] != so_far;
    }
    wrong += bad + (greatest != so_far);
    sum = 5;
#pragma omp parallel for reduction(inscan, + : sum)
    for (int i = 0; i < count; i++) {
        sums[i] = sum;
#pragma omp scan exclusive(sum)
        sum += values[i];
    }
    check("combined exclusive", count, sum, 1);
    sum = 5;
#pragma omp parallel for simd reduction(inscan, + : sum)
    for (int i = 0; i < count; i++) {
        sums[i] = sum;
#pragma omp scan exclusive(sum)
        sum += values[i];
    }
    check("combined lanes", count, sum, 1);
}

static void own_type(int count)
{
    struct wide all = {.parts = {1, 2, 3, 4, 5, 6, 7}}, so_far = all, one;
    int bad = 0;
#pragma omp parallel for reduction(inscan, add : all) private(one)
    for (int i = 0; i < count; i++) {
        one = wide(i);
        add(&all, &one);
#pragma omp scan inclusive(all)
        wides[i] = all;
    }
    for (int i = 0; i < count; i++) {
        one = wide(i);
        add(&so_far, &one);
        bad += memcmp(&so_far.parts, &wides[i].parts, sizeof so_far.parts) != 0;
    }
    bad += memcmp(&so_far.parts, &all.parts, sizeof so_far.parts) != 0;
    if (bad)
        printf("own type of %d: %d wrong\n", count, bad);
    wrong += bad;
}

int main(void)
{
    static const int counts[] = {0, 1, 2, 5, 8, 64, 1001, MOST};
    for (int i = 0; i < MOST; i++)
        values[i] = i * 7919 % 1009;
    for (int round = 0; round < 40; round++)
        for (int at = 0; at < 8; at++) {
            int count = counts[at];
            combined(count);
            own_type(count);
            total = 5;
#pragma omp parallel
            inclusive(count);
            check("inclusive", count, total, 0);
            total = 5;
#pragma omp parallel
            exclusive_nowait(count);
            check("exclusive", count, total, 1);
            total = 5;
#pragma omp parallel
            with_lanes(count);
            check("lanes", count, total, 0);
            total = 5;
            inclusive(count);
            check("outside all regions", count, total, 0);
        }
    /* Teams within a team, each with sums of its own. */
    omp_set_max_active_levels(2);
    int bad = 0;
#pragma omp parallel num_threads(3) reduction(+ : bad)
    for (int round = 0; round < 50; round++) {
        long sum = omp_get_thread_num(), own[200], so_far = sum;
#pragma omp parallel for num_threads(2) reduction(inscan, + : sum)
        for (int i = 0; i < 200; i++) {
            sum += values[i];
#pragma omp scan inclusive(sum)
            own[i] = sum;
        }
        for (int i = 0; i < 200; i++)
            bad += own[i] != (so_far += values[i]);
    }
    /* One after the other in the same region, so that memory is reused while some members are still in the one
       before. */
    long first[64], second[64], a = 0, b = 0;
#pragma omp parallel shared(a, b)
    for (int round = 0; round < 300; round++) {
#pragma omp single
        a = b = round;
#pragma omp for reduction(inscan, + : a) nowait
        for (int i = 0; i < 64; i++) {
            a += values[i];
#pragma omp scan inclusive(a)
            first[i] = a;
        }
#pragma omp for reduction(inscan, + : b)
        for (int i = 0; i < 64; i++) {
            second[i] = b;
#pragma omp scan exclusive(b)
            b += values[i] * 2;
        }
#pragma omp single
        {
            long one = round, other = round;
            for (int i = 0; i < 64; i++) {
                wrong += second[i] != other;
                wrong += first[i] != (one += values[i]);
                other += values[i] * 2;
            }
            wrong += a != one || b != other;
        }
    }
    printf("%d wrong, %d within, %d threads\n", wrong, bad, omp_get_max_threads());
    return wrong + bad > 0;
}
