/* Memory that members share in a construct is freed when that is over. */
#include <malloc.h>
#include <omp.h>
#include <stdio.h>

struct large {
    long parts[500];
};

static void add(struct large *to, const struct large *from)
{
    for (int i = 0; i < 500; i++)
        to->parts[i] += from->parts[i];
}

#pragma omp declare reduction(add : struct large : add(&omp_out, &omp_in)) initializer(omp_priv = {{0}})

static struct large all, one;
static long last, seen[64];

static void constructs(int which)
{
#pragma omp for reduction(inscan, add : all) nowait
    for (int i = 0; i < 64; i++) {
        add(&all, &one);
#pragma omp scan inclusive(all)
        seen[i] = all.parts[which % 500];
    }
#pragma omp for lastprivate(conditional : last) schedule(dynamic, 4)
    for (int i = 0; i < 64; i++)
        if (i % 7 == which % 7)
            last = i;
#pragma omp sections lastprivate(conditional : last)
    {
        if (which < 0)
            last = 1;
#pragma omp section
        last = which;
    }
}

int main(void)
{
    long wrong = 0;
    size_t before = 0;
    for (int i = 0; i < 500; i++)
        one.parts[i] = i;
    for (int round = 0; round < 1200; round++) {
        if (round == 200)
            before = mallinfo2().uordblks;
        all = (struct large){{0}};
#pragma omp parallel
        constructs(round);
        for (int i = 0; i < 64; i++)
            wrong += seen[i] != (i + 1) * (round % 500);
        wrong += last != round;
    }
    long more = (long)mallinfo2().uordblks - (long)before;
    printf("%ld wrong, %s\n", wrong, more < 100000 ? "freed" : "kept");
    return wrong > 0;
}
