package cluster

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
)

// Decisions of all ranks together: they all call the same functions of this file in the same order.

// DivergedError says that the ranks did not submit the same tasks.
type DivergedError struct {
	Rank        int   // one that differs from rank 0
	Tasks, Want int64 // that it has submitted, and that rank 0 has
}

func (e *DivergedError) Error() string {
	return fmt.Sprintf("cluster: rank %d submitted other tasks than rank 0 (%d, and %d on rank 0); every rank must submit the same: decide nothing by what ranks do not share, such as the time, the rank, or the files of one machine", e.Rank, e.Tasks, e.Want)
}

// Share gives all ranks the bytes that one of them passes, and returns them. The bytes of the others are ignored.
func (j *Job) Share(ctx context.Context, rank int, mine []byte) ([]byte, error) {
	if err := j.Err(); err != nil {
		return nil, err
	}
	if j.plans {
		return mine, nil
	}
	if rank != j.Rank() {
		got, err := j.hear(ctx, rank)
		if err != nil {
			return nil, j.fail(err)
		}
		return got, nil
	}
	for r := range j.Size() {
		if r != rank {
			if err := j.say(ctx, r, mine); err != nil {
				return nil, j.fail(err)
			}
		}
	}
	return mine, nil
}

// Gather gives all ranks the bytes that each passes, in the order of the ranks. Once all are here it compares what they have
// submitted: the error is a *DivergedError if that is not the same.
func (j *Job) Gather(ctx context.Context, mine []byte) ([][]byte, error) {
	if err := j.Err(); err != nil {
		return nil, err
	}
	if j.plans {
		return [][]byte{mine}, nil
	}
	packed, err := j.collect(ctx, mine)
	if err == nil {
		packed, err = j.Share(ctx, 0, packed)
	}
	if err != nil {
		return nil, err
	}
	return j.unpackAll(packed)
}

// collect is the first half of Gather: rank 0 gets what unpackAll takes, and the others nothing.
func (j *Job) collect(ctx context.Context, mine []byte) (packed []byte, err error) {
	head := binary.LittleEndian.AppendUint64(nil, uint64(j.sequence))
	head = binary.LittleEndian.AppendUint64(head, uint64(j.tasks))
	if j.Rank() != 0 {
		if err := j.say(ctx, 0, slices.Concat(head, mine)); err != nil {
			return nil, j.fail(err)
		}
	}
	if j.Rank() == 0 {
		var diverged *DivergedError
		var list []byte
		add := func(b []byte) {
			list = binary.LittleEndian.AppendUint64(list, uint64(len(b)))
			list = append(list, b...)
		}
		add(mine)
		for r := 1; r < j.Size(); r++ {
			b, err := j.hear(ctx, r)
			if err != nil {
				return nil, j.fail(err)
			}
			if diverged == nil && !slices.Equal(b[:16], head) {
				diverged = &DivergedError{r, int64(binary.LittleEndian.Uint64(b[8:])), j.tasks}
			}
			add(b[16:])
		}
		for _, n := range []int64{0, 0, 0} {
			packed = binary.LittleEndian.AppendUint64(packed, uint64(n))
		}
		if diverged != nil {
			binary.LittleEndian.PutUint64(packed, uint64(diverged.Rank))
			binary.LittleEndian.PutUint64(packed[8:], uint64(diverged.Tasks))
			binary.LittleEndian.PutUint64(packed[16:], uint64(diverged.Want))
		}
		packed = append(packed, list...)
	}
	return packed, nil
}

// unpackAll returns what each rank has passed to Gather, or stops the job if the ranks did not submit the same.
func (j *Job) unpackAll(packed []byte) ([][]byte, error) {
	word := func() uint64 {
		v := binary.LittleEndian.Uint64(packed)
		packed = packed[8:]
		return v
	}
	if d := (DivergedError{int(word()), int64(word()), int64(word())}); d.Rank != 0 {
		return nil, j.stop(&d)
	}
	all := make([][]byte, j.Size())
	for r := range all {
		n := word()
		all[r], packed = packed[:n:n], packed[n:]
	}
	return all, nil
}

// Agree gives all ranks an error if one of them passes one: its own error on a rank that has one, and elsewhere a *RemoteError of the first
// such rank. The tasks of a rank that passes an error are cancelled, so that others do not wait for them.
func (j *Job) Agree(ctx context.Context, mine error) error {
	if j.plans {
		return mine
	}
	var packed []byte
	if mine != nil {
		j.job.Cancel(mine)
		packed = j.pack(mine)
	}
	all, err := j.Gather(ctx, packed)
	switch {
	case mine != nil:
		return mine
	case err != nil:
		return err
	}
	for r, packed := range all {
		if len(packed) > 0 {
			return j.unpack(packed, r)
		}
	}
	return nil
}

// say sends bytes to a rank: their number, and then the bytes.
func (j *Job) say(ctx context.Context, to int, b []byte) error {
	n := binary.LittleEndian.AppendUint64(nil, uint64(len(b)))
	if err := j.exchange(ctx, func(done func(error)) { j.comm.Send(to, agreementTag, n, done) }); err != nil || len(b) == 0 {
		return err
	}
	return j.exchange(ctx, func(done func(error)) { j.comm.Send(to, agreementTag, b, done) })
}

// hear receives what a rank says.
func (j *Job) hear(ctx context.Context, from int) ([]byte, error) {
	receive := func(b []byte) error {
		return j.exchange(ctx, func(done func(error)) {
			j.comm.Recv(from, agreementTag, b, func(n int, err error) {
				if err == nil && n != len(b) {
					err = fmt.Errorf("cluster: rank %d said something else than was expected; the ranks do not run the same program", from)
				}
				done(err)
			})
		})
	}
	n := make([]byte, 8)
	if err := receive(n); err != nil {
		return nil, err
	}
	b := make([]byte, binary.LittleEndian.Uint64(n))
	if len(b) == 0 {
		return b, nil
	}
	return b, receive(b)
}

// exchange starts a message and waits for its end.
func (j *Job) exchange(ctx context.Context, start func(done func(error))) error {
	done := make(chan error, 1)
	start(func(err error) { done <- err })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-j.ctx.Done():
		if err := j.Err(); err != nil {
			return err
		}
		return context.Cause(j.ctx)
	}
}
