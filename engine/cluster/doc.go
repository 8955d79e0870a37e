// Package cluster holds what the engine needs to run one program on several processes, its ranks: how they send
// messages (Comm), and which of them has which data (Data, Place).
//
// Every rank runs the whole program and submits the same tasks in the same order, so all know, without a
// message, which rank runs a task and which has the values that it reads. A rank runs the tasks that are its own, sends
// what others need, and receives what it needs itself. StarPU-MPI and PaRSEC's dynamic interface work
// like this (Agullo et al., Achieving high performance on supercomputers with a sequential task-based programming model,
// IEEE TPDS 2017).
//
// A task runs on the rank that owns most of what it writes (Runs), unless Task.On names another. Programs give data to ranks by DataSpec.Owner,
// and the parts of views by ViewOptions.Grid; the ranks deal all other data themselves (Owner).
//
// Data may be of any kind: values of Go types travel as their Pack gives them, and data with a capacity as far as it is in use, behind its sizes. A task waits for
// tasks of other ranks by Task.AfterTickets. Uses without order, and data that has none, are for one rank.
//
// The messages are the fewest that owners and order allow: a value goes to a rank at most once before it is
// written again, and only in those elements that the rank lacks. Job.Report counts them, and a job of NewPlan predicts them.
package cluster

import "context"

// Comm carries messages between ranks. Messages from one rank to another with the same tag arrive in the
// order in which they were sent, and a receive that was started first gets the first. Its methods are safe for concurrent use,
// and do not wait. Memory that is passed belongs to the Comm until done is called. done may be called from the
// method itself or from another goroutine. It must not wait for messages.
type Comm interface {
	// Rank is the number of this process, from 0.
	Rank() int
	// Size is how many processes there are.
	Size() int
	// Send sends data to another rank. Tags are 0 to MaxTag.
	Send(to, tag int, data []byte, done func(error))
	// Ssend is Send that calls done only once the receive for the message has been started.
	Ssend(to, tag int, data []byte, done func(error))
	// Recv receives a message, which may be shorter than into, and passes its length to done. A message
	// that is longer is an error.
	Recv(from, tag int, into []byte, done func(n int, err error))
}

// Poller is a Comm that idle workers of the runtime poll, in place of a goroutine that they would have to wake.
type Poller interface {
	Comm
	// Poll looks for messages that have arrived or gone, and calls done for them. worked is true if the goroutine has run a task since the last call. Poll returns
	// false if it is not worth to call it again soon. One goroutine at a time calls it.
	Poll(worked bool) bool
}

// Duplicator is a Comm that makes others between the same ranks, whose messages are apart from its own.
type Duplicator interface {
	Comm
	// Dup returns a new Comm. All ranks call it, in the same order if they do so several times. With MPI there cannot be many, some thousands in all,
	// as they are not given back before the end.
	Dup(ctx context.Context) (Comm, error)
}

// MaxTag is the largest tag of a message.
const MaxTag = 1<<20 - 1
