package cluster

import (
	"context"

	"github.com/starpush/starpush/accel/mpi"
)

// OverMPI returns the end of this rank on a communicator of MPI, which nothing else uses. The caller closes the world.
func OverMPI(c *mpi.Comm) Comm { return &overMPI{c, c.World(), c.World().NewPoller()} }

type overMPI struct {
	comm   *mpi.Comm
	world  *mpi.World
	poller *mpi.Poller
}

func (o *overMPI) Poll(worked bool) bool {
	if worked {
		o.poller.Begin()
	}
	return o.poller.Poll()
}

// Dup implements Duplicator.
func (o *overMPI) Dup(ctx context.Context) (Comm, error) {
	c, err := o.comm.Dup(ctx)
	if err != nil {
		return nil, err
	}
	return OverMPI(c), nil
}

func (o *overMPI) Rank() int { return o.world.Rank() }
func (o *overMPI) Size() int { return o.world.Size() }

func (o *overMPI) Send(to, tag int, data []byte, done func(error)) {
	o.comm.IsendFunc(data, to, tag, done)
}

func (o *overMPI) Ssend(to, tag int, data []byte, done func(error)) {
	o.comm.IssendFunc(data, to, tag, done)
}

func (o *overMPI) Recv(from, tag int, into []byte, done func(int, error)) {
	o.comm.IrecvFunc(into, from, tag, done)
}
