/* A library with code for a device, which is left to libgomp. */
int plug(void)
{
    int value = 0, members = 0;
#pragma omp parallel num_threads(3) reduction(+ : members)
    members++;
#pragma omp target map(tofrom : value)
    for (int i = 0; i < 50; i++)
        value = (value * 3 + i) % 100003;
    return value + members;
}
