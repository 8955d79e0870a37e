/* pingpong: messages between two ranks of MPI without a runtime.
 *
 * usage: mpirun -n 2 pingpong BYTES
 * Rank 0 prints a line of JSON: us_per_task is half of a round trip, and extra the bytes of a message. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void hop(char *buf, int bytes, int rank, long k) {
	if (k % 2 == rank) MPI_Send(buf, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
	else MPI_Recv(buf, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
	int level, rank, size, bytes = argc > 1 ? atoi(argv[1]) : 8;
	if (MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level)) return 1;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (size != 2 || bytes < 1) {
		fprintf(stderr, "pingpong: %d ranks, %d bytes; start 2, with 1 byte or more\n", size, bytes);
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	long hops = bytes < 16384 ? 40000 : 4000;
	char *buf = malloc(bytes);
	memset(buf, 1, bytes);
	for (long k = 0; k < hops / 10 * 2; k++) hop(buf, bytes, rank, k);
	MPI_Barrier(MPI_COMM_WORLD);
	double t = MPI_Wtime();
	for (long k = 0; k < hops; k++) hop(buf, bytes, rank, k);
	t = MPI_Wtime() - t;
	if (rank == 0) printf("{\"runtime\":\"mpi\",\"workload\":\"pingpong\",\"workers\":1,\"tasks\":%ld,\"seconds\":%.9f,\"us_per_task\":%.6f,\"extra\":%d}\n", hops, t, t / hops * 1e6, bytes);
	free(buf);
	MPI_Finalize();
	return 0;
}
