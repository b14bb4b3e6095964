/* A library that uses what is taken over. */
int plug(void)
{
    int sum = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : sum)
    for (int i = 0; i < 100; i++)
        sum += i;
    return sum;
}
