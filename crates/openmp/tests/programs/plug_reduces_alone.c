/* A library that reduces with tasks outside all regions. */
static int value;

int plug(void)
{
    value = 0;
#pragma omp for reduction(task, + : value) schedule(dynamic)
    for (int i = 0; i < 50; i++)
        value += i;
#pragma omp sections reduction(task, + : value)
    {
        value += 3;
#pragma omp section
        value += 4;
    }
    return value;
}
