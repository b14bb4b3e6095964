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

/* Whether a message of this tag waits to be received. */
int coho_mpi_waits(int from, int tag, int *found)
{
    return MPI_Iprobe(from, tag, MPI_COMM_WORLD, found, MPI_STATUS_IGNORE);
}

/* A barrier that the caller enters, and then looks now and again whether all have. */
static MPI_Request meeting = MPI_REQUEST_NULL;

int coho_mpi_enter(void)
{
    return MPI_Ibarrier(MPI_COMM_WORLD, &meeting);
}

int coho_mpi_have_entered(int *all)
{
    return MPI_Test(&meeting, all, MPI_STATUS_IGNORE);
}

/* Lets the library send and fetch what waits. */
int coho_mpi_progress(void)
{
    int found;
    return MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
}

int coho_mpi_exchange(int to, int from)
{
    return MPI_Sendrecv(NULL, 0, MPI_BYTE, to, 2, NULL, 0, MPI_BYTE, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int coho_mpi_bcast(void *data, int bytes)
{
    return MPI_Bcast(data, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
}

/* Each rank's bytes, to all. */
int coho_mpi_gather(const void *own, void *all, int bytes)
{
    return MPI_Allgather(own, bytes, MPI_BYTE, all, bytes, MPI_BYTE, MPI_COMM_WORLD);
}

/* The ranks with which this one can share memory, and the first of them by its rank of all. */
static MPI_Comm node = MPI_COMM_NULL;
static MPI_Win window = MPI_WIN_NULL;

int coho_mpi_node(int *rank, int *ranks, int *leader)
{
    int error = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    if (error != MPI_SUCCESS)
        return error;
    MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN);
    if ((error = MPI_Comm_rank(node, rank)) != MPI_SUCCESS || (error = MPI_Comm_size(node, ranks)) != MPI_SUCCESS ||
        (error = MPI_Comm_rank(MPI_COMM_WORLD, leader)) != MPI_SUCCESS)
        return error;
    return MPI_Bcast(leader, 1, MPI_INT, 0, node);
}

/* Memory of zeros that the node's ranks share. MPI aligns it for its own types only, so a page more is asked for. */
int coho_mpi_share(long bytes, void **start)
{
    const long page = 4096;
    MPI_Aint size;
    int rank, unit;
    char *base;
    int error = MPI_Comm_rank(node, &rank);
    if (error != MPI_SUCCESS)
        return error;
    error = MPI_Win_allocate_shared(rank ? 0 : bytes + page, 1, MPI_INFO_NULL, node, &base, &window);
    if (error != MPI_SUCCESS || (error = MPI_Win_shared_query(window, 0, &size, &unit, &base)) != MPI_SUCCESS)
        return error;
    /* The whole is mapped by pages, so the offset is the same for all. */
    *start = base + (page - (unsigned long)base % page) % page;
    if (!rank)
        memset(*start, 0, bytes);
    return MPI_Barrier(node);
}

void coho_mpi_abort(int status)
{
    MPI_Abort(MPI_COMM_WORLD, status);
}

int coho_mpi_end(void)
{
    int error = MPI_SUCCESS;
    if (window != MPI_WIN_NULL)
        error = MPI_Win_free(&window);
    if (node != MPI_COMM_NULL && error == MPI_SUCCESS)
        error = MPI_Comm_free(&node);
    return error != MPI_SUCCESS ? error : MPI_Finalize();
}
