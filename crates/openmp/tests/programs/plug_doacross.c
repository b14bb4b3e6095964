/* A library whose loop has dependences between its iterations, which is left to libgomp. */
int plug(void)
{
    int value = 0;
#pragma omp parallel for ordered(1) num_threads(3)
    for (int i = 0; i < 50; i++) {
#pragma omp ordered depend(sink : i - 1)
        value = (value * 3 + i) % 100003;
#pragma omp ordered depend(source)
    }
    return value;
}
