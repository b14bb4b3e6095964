/* Plain functions over MPI: its types and constants differ between libraries, so each machine compiles this with its own. */
#include <mpi.h>
#include <string.h>

/* Requests that may be under way at once; the caller knows the number. */
#define SLOTS 64
static MPI_Request requests[SLOTS];

/* From here on errors are returned; 0 is success, as everywhere below. */
int coho_mpi_start(int *rank, int *ranks)
{
    int provided, error = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
    if (error != MPI_SUCCESS)
        return error;
    if (provided < MPI_THREAD_SERIALIZED)
        return -1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int slot = 0; slot < SLOTS; slot++)
        requests[slot] = MPI_REQUEST_NULL;
    error = MPI_Comm_rank(MPI_COMM_WORLD, rank);
    return error != MPI_SUCCESS ? error : MPI_Comm_size(MPI_COMM_WORLD, ranks);
}

/* The library's name and version, cut to `room` bytes including the final 0. */
void coho_mpi_version(char *text, int room)
{
    char whole[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;
    MPI_Get_library_version(whole, &length);
    strncpy(text, whole, room - 1);
    text[room - 1] = 0;
}

int coho_mpi_barrier(void)
{
    return MPI_Barrier(MPI_COMM_WORLD);
}

int coho_mpi_send(const void *data, int bytes, int to, int tag)
{
    return MPI_Send(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD);
}

int coho_mpi_recv(void *data, int bytes, int from, int tag)
{
    return MPI_Recv(data, bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int coho_mpi_isend(const void *data, int bytes, int to, int tag, int slot)
{
    return MPI_Isend(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &requests[slot]);
}

int coho_mpi_irecv(void *data, int bytes, int from, int tag, int slot)
{
    return MPI_Irecv(data, bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, &requests[slot]);
}

/* Waits for all requests under way. */
int coho_mpi_wait(void)
{
    return MPI_Waitall(SLOTS, requests, MPI_STATUSES_IGNORE);
}

/* Lets the library send and fetch what waits. */
int coho_mpi_progress(void)
{
    int found;
    return MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
}

int coho_mpi_end(void)
{
    return MPI_Finalize();
}
