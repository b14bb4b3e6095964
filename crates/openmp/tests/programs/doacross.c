/* Loops whose iterations wait for earlier ones, of one to seven levels, up and down, signed and unsigned, with every
   schedule: they have the results of loops that run in order. Waits have as many arguments as there are levels, some of
   which do not fit into registers. None counts in `unsigned`: if such a loop begins with 1, GCC 12 adds 2^32 - 1 where it
   should subtract 1 from the 64-bit number of the iteration that is waited for. */
#include <stdio.h>
#include <string.h>

enum { N = 40, M = 30 };
static int wrong;
static unsigned line[N + 1];
static unsigned grid[N + 1][M + 1], expected[N + 1][M + 1];
static unsigned cube[9][9][9], expected_cube[9][9][9];

static unsigned next(unsigned a, unsigned b, unsigned c)
{
    return a * 31 + b * 17 + c + 1;
}

#define LINE(SCHEDULE, TYPE) \
    do { \
        memset(line, 0, sizeof line); \
        _Pragma("omp parallel") \
        { \
            LOOP(SCHEDULE) \
            for (TYPE i = 1; i <= N; i++) { \
                _Pragma("omp ordered depend(sink : i - 1)") \
                line[i] = next(line[i - 1], 0, i); \
                _Pragma("omp ordered depend(source)") \
            } \
        } \
        check_line(); \
    } while (0)
#define LOOP(SCHEDULE) PRAGMA(omp for ordered(1) SCHEDULE)
#define PRAGMA(...) _Pragma(#__VA_ARGS__)

static void check_line(void)
{
    unsigned value = 0;
    for (unsigned i = 1; i <= N; i++) {
        value = next(value, 0, i);
        wrong += line[i] != value;
    }
}

static void begin_grid(void)
{
    for (int i = 0; i <= N; i++)
        for (int j = 0; j <= M; j++)
            grid[i][j] = expected[i][j] = i * j + 1;
}

static void check_grid(void)
{
    for (int i = 1; i <= N; i++)
        for (int j = 1; j <= M; j++)
            expected[i][j] = next(expected[i - 1][j], expected[i][j - 1], expected[i][j]);
    for (int i = 1; i <= N; i++)
        for (int j = 1; j <= M; j++)
            wrong += grid[i][j] != expected[i][j];
}

static void two_levels(void)
{
    begin_grid();
#pragma omp parallel for ordered(2) schedule(static, 1)
    for (int i = 1; i <= N; i++)
        for (int j = 1; j <= M; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
            grid[i][j] = next(grid[i - 1][j], grid[i][j - 1], grid[i][j]);
#pragma omp ordered depend(source)
        }
    check_grid();
    begin_grid();
#pragma omp parallel for ordered(2) schedule(dynamic)
    for (long i = N; i >= 1; i -= 1)
        for (long j = M; j >= 1; j -= 1) {
#pragma omp ordered depend(sink : i + 1, j) depend(sink : i, j + 1)
            grid[N + 1 - i][M + 1 - j] =
                next(grid[N - i][M + 1 - j], grid[N + 1 - i][M - j], grid[N + 1 - i][M + 1 - j]);
#pragma omp ordered depend(source)
        }
    check_grid();
    begin_grid();
#pragma omp parallel for ordered(2) schedule(guided, 2)
    for (unsigned long long i = 1; i <= N; i++)
        for (unsigned long long j = 1; j <= M; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
            grid[i][j] = next(grid[i - 1][j], grid[i][j - 1], grid[i][j]);
#pragma omp ordered depend(source)
        }
    check_grid();
}

static void three_levels(void)
{
    for (int i = 0; i < 9; i++)
        for (int j = 0; j < 9; j++)
            for (int k = 0; k < 9; k++)
                cube[i][j][k] = expected_cube[i][j][k] = i + 2 * j + 3 * k;
#pragma omp parallel for collapse(2) ordered(3) schedule(runtime)
    for (int i = 1; i < 9; i++)
        for (int j = 1; j < 9; j++)
            for (int k = 1; k < 9; k++) {
#pragma omp ordered depend(sink : i - 1, j, k) depend(sink : i, j - 1, k) depend(sink : i, j, k - 1)
                cube[i][j][k] = next(cube[i - 1][j][k], cube[i][j - 1][k], cube[i][j][k - 1]);
#pragma omp ordered depend(source)
            }
    for (int i = 1; i < 9; i++)
        for (int j = 1; j < 9; j++)
            for (int k = 1; k < 9; k++)
                expected_cube[i][j][k] =
                    next(expected_cube[i - 1][j][k], expected_cube[i][j - 1][k], expected_cube[i][j][k - 1]);
    wrong += memcmp(cube, expected_cube, sizeof cube) != 0;
}

static void beyond_longs(void)
{
    /* Their compilers do not know that a long would do. */
    volatile unsigned long long begin = 0xffffffffffffff00;
    unsigned long long first = begin;
#define FAR(SCHEDULE) \
    memset(line, 0, sizeof line); \
    PRAGMA(omp parallel for ordered(1) SCHEDULE) \
    for (unsigned long long i = first + 1; i <= first + N; i++) { \
        _Pragma("omp ordered depend(sink : i - 1)") \
        line[i - first] = next(line[i - first - 1], 0, i - first); \
        _Pragma("omp ordered depend(source)") \
    } \
    check_line()
    FAR(schedule(static));
    FAR(schedule(dynamic));
    FAR(schedule(guided));
    FAR(schedule(runtime));
}

static void seven_levels(void)
{
    unsigned value = 0, seen = 0;
#pragma omp parallel for ordered(7) schedule(static, 1)
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 2; b++)
            for (int c = 0; c < 2; c++)
                for (int d = 0; d < 2; d++)
                    for (int e = 0; e < 2; e++)
                        for (int f = 0; f < 2; f++)
                            for (int g = 0; g < 2; g++) {
#pragma omp ordered depend(sink : a - 1, b, c, d, e, f, g)
                                if (b && c && d && e && f && g) {
                                    value = value * 5 + a + 1;
                                    seen++;
                                }
#pragma omp ordered depend(source)
                            }
    wrong += value != 5 * (5 * 1 + 2) + 3 || seen != 3;
}

int main(void)
{
    LINE(schedule(static), int);
    LINE(schedule(static, 3), long);
    LINE(schedule(dynamic), int);
    LINE(schedule(dynamic, 2), unsigned long long);
    LINE(schedule(guided), int);
    LINE(schedule(runtime), unsigned long long);
    two_levels();
    three_levels();
    seven_levels();
    beyond_longs();
    /* Nothing is shared out of a loop without iterations. */
    int none = 0;
#pragma omp parallel for ordered(1) reduction(+ : none)
    for (int i = 0; i < none; i++) {
#pragma omp ordered depend(sink : i - 1)
        none++;
#pragma omp ordered depend(source)
    }
    wrong += none;
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
