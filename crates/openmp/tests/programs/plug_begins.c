/* A library that opens regions while it is loaded, with more threads than its program has had. */
static int sum;

__attribute__((constructor)) static void begin(void)
{
#pragma omp parallel for num_threads(5) reduction(+ : sum)
    for (int i = 0; i < 100; i++)
        sum += i;
}

int plug(void)
{
    return sum;
}
