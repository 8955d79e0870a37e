// Package mpi passes messages between processes through the MPI library of the machine, Open MPI or MPICH. The
// library is loaded at run time, so one binary runs on machines with either and with
// none, and no header, compiler or cgo is needed to build.
//
//	if _, ok := mpi.Launched(); ok { // mpirun, srun, … started this process
//		w, err := mpi.Init(ctx, mpi.Options{})
//		…
//		defer w.Close(ctx)
//		c := w.Comm()
//		sent := c.Isend(buf, (w.Rank()+1)%w.Size(), tag)
//		…
//		_, err = sent.Wait(ctx)
//	}
//
// # The library
//
// Open finds it, Init starts it. The headers of the two families define other handles, constants and statuses: a handle of
// Open MPI is the address of an object such as ompi_mpi_comm_world, one of MPICH is an int. The package
// recognises them by the objects that the library exports. MPICH's ABI is also that of Intel MPI, MVAPICH and Cray MPICH.
// STARPUSH_MPI names another file, or none. A library only knows the ranks that a launcher of its own family
// started; otherwise each process would be alone, which Init reports as an error.
//
// Libraries of MPI and of networks install handlers for signals. The package gives them back to the Go
// runtime, which needs them for nil pointers, among others.
//
// # Threads
//
// One goroutine on an operating system thread of its own initialises and finalises MPI. Between, another one polls; other goroutines
// start operations themselves while that one does not call MPI, and otherwise leave them to it, so that the library
// serves one caller at a time. That needs MPI_THREAD_SERIALIZED; Init asks for MPI_THREAD_MULTIPLE, makes do with
// MPI_THREAD_FUNNELED, when the first goroutine polls, too, and starts all operations, and refuses MPI_THREAD_SINGLE.
//
// A goroutine that has nothing else to do may poll instead, with a [Poller], while the other one pauses: what a message makes possible is then done where
// the message is found, and no goroutine has to be woken for it. This needs MPI_THREAD_SERIALIZED, too.
//
// Neither implementation can wait without polling. The goroutine polls for Options.Spin after anything has
// happened, and then with pauses from 20 µs to 1 ms, or 10 ms if no operation is under way. Starting an operation
// ends a pause, a message from elsewhere does not: the first one after a while is noticed up to a millisecond late.
//
// Functions passed to OnDone, IsendFunc, IrecvFunc and Listen run in the goroutine that polls, one at a time. They may start operations, cancel receives, probe, and begin or
// stop to listen, with any level of threads. They must neither wait for an operation nor compute for long, because nothing else
// makes progress meanwhile: Wait, Mprobe and Close return an error there, and a function that has not returned
// after Options.Silence makes the world fail.
//
// # Memory
//
// Memory that is passed to an operation belongs to MPI until the operation has ended: a send only reads it, everything else
// writes it. Go memory, such as that of an accel.Heap, is pinned and kept alive until then, also when nothing else
// refers to it; memory from elsewhere, such as accel.Pinner returns, has to be kept by its owner. A context that ends
// a Wait does not end the operation, so the memory still belongs to MPI.
// When the world fails, memory of operations under way is never given back, since messages may still arrive.
//
// Messages may have any length. More than 2^31-1 bytes are one message all the same: with the functions of MPI 4 that count
// in 64 bits, or with a derived type of blocks of 1 GiB where the library is older.
//
// # Failure
//
// Functions of MPI return errors, as [Error], instead of ending the program. An error of one operation, such as a message that
// is longer than the memory for it, concerns that operation alone.
//
// When a rank dies, mpirun of both implementations kills the others, within seconds: Open MPI's with SIGTERM, and a message that
// names the rank; Hydra with SIGKILL, and a message that names a process if it was a signal. Where the launcher
// does not, ranks notice: each watches the processes of its neighbours in a ring on the same machine, and
// hears a beat from the rank before it at least every second. A rank whose process has ended, or that was silent for
// Options.Silence, fails the world with a [LostError]: all operations end with it, later ones are refused, and the program
// should print it and call [World.Abort], which ends all ranks with an exit code. If the library does not return from a call, as
// may happen when a rank is lost, operations do not end: [World.Failed] and Err report the failure all the same.
//
// Close is collective and waits for all ranks, which may still compute: they go on to hear each other meanwhile. It gives
// up when its context ends, or shortly after the world has failed.
package mpi
