/* count: a library between a program and MPI that counts the messages between ranks.
 *
 * Programs that are linked with MPI get it by LD_PRELOAD, starpush by STARPUSH_MPI, as it looks MPI's functions up
 * in the file that this names. Each rank prints a line of JSON when it leaves MPI. Messages of collective operations
 * are not counted. headers are the messages in which StarPU-MPI announces others: 32 bytes, with the tag 42. */
#include <mpi.h>
#include <stdio.h>

static long messages, bytes, headers;

static void count(int n, MPI_Datatype type, int tag) {
	int size = 0;
	PMPI_Type_size(type, &size);
	long b = (long)n * size;
	__atomic_fetch_add(&messages, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&bytes, b, __ATOMIC_RELAXED);
	if (tag == 42 && b == 32) __atomic_fetch_add(&headers, 1, __ATOMIC_RELAXED);
}

int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c) { count(n, t, tag); return PMPI_Send(b, n, t, to, tag, c); }
int MPI_Isend(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r) { count(n, t, tag); return PMPI_Isend(b, n, t, to, tag, c, r); }
int MPI_Issend(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r) { count(n, t, tag); return PMPI_Issend(b, n, t, to, tag, c, r); }

int MPI_Finalize(void) {
	int rank = 0;
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	printf("{\"rank\":%d,\"counted\":%ld,\"counted_bytes\":%ld,\"headers\":%ld}\n", rank, messages, bytes, headers);
	fflush(stdout);
	return PMPI_Finalize();
}
