package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
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

// tree returns the neighbours of a rank in a binomial tree of all ranks from root on: the parent, -1 for the root, and the children, those with the most ranks
// below them first.
func tree(rank, root, size int) (parent int, children []int) {
	at := func(k int) int { return (root + k) % size }
	k := (rank - root + size) % size
	step := 1
	for ; step <= k; step *= 2 {
		parent = at(k - step)
	}
	if k == 0 {
		parent = -1
	}
	for ; k+step < size; step *= 2 {
		children = append(children, at(k+step))
	}
	return parent, children
}

// Share gives all ranks the bytes that one of them passes, along a tree, and returns them. The bytes of the others are ignored.
func (j *Job) Share(ctx context.Context, rank int, mine []byte) ([]byte, error) {
	if err := j.Err(); err != nil {
		return nil, err
	}
	if j.plans {
		return mine, nil
	}
	parent, children := tree(j.rank, rank, j.size)
	if parent >= 0 {
		got, err := j.hear(ctx, parent)
		if err != nil {
			return nil, j.fail(err)
		}
		mine = got
	}
	for _, r := range children {
		if err := j.say(ctx, r, mine); err != nil {
			return nil, j.fail(err)
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

// passed is what a rank passes to Gather.
type passed struct {
	rank            int
	sequence, tasks uint64 // that it has submitted
	data            []byte
}

// collect is the first half of Gather, along a tree: rank 0 gets what unpackAll takes, and the others nothing.
func (j *Job) collect(ctx context.Context, mine []byte) (packed []byte, err error) {
	parent, children := tree(j.rank, 0, j.size)
	all := appendPassed(nil, passed{j.rank, uint64(j.sequence), uint64(j.tasks), mine})
	for _, r := range children {
		below, err := j.hear(ctx, r)
		if err != nil {
			return nil, j.fail(err)
		}
		all = append(all, below...)
	}
	if parent >= 0 {
		if err := j.say(ctx, parent, all); err != nil {
			return nil, j.fail(err)
		}
		return nil, nil
	}
	ranks := make([]passed, j.size)
	for len(all) > 0 {
		p, rest, ok := cutPassed(all)
		if !ok || p.rank >= j.size {
			return nil, j.fail(errOtherProgram)
		}
		ranks[p.rank], all = p, rest
	}
	var d DivergedError
	for r := j.size - 1; r > 0; r-- {
		if p := ranks[r]; p.sequence != ranks[0].sequence || p.tasks != ranks[0].tasks {
			d = DivergedError{r, int64(p.tasks), j.tasks}
		}
	}
	for _, n := range []int64{int64(d.Rank), d.Tasks, d.Want} {
		packed = binary.LittleEndian.AppendUint64(packed, uint64(n))
	}
	for _, p := range ranks {
		packed = binary.LittleEndian.AppendUint64(packed, uint64(len(p.data)))
		packed = append(packed, p.data...)
	}
	return packed, nil
}

func appendPassed(b []byte, p passed) []byte {
	for _, n := range []uint64{uint64(p.rank), p.sequence, p.tasks, uint64(len(p.data))} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return append(b, p.data...)
}

// cutPassed returns what the first rank in b has passed, and what is behind it; false if that is not what b has.
func cutPassed(b []byte) (p passed, rest []byte, ok bool) {
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	if len(b) < 32 || word(0) > math.MaxInt32 || word(3) > uint64(len(b)-32) {
		return passed{}, nil, false
	}
	end := 32 + word(3)
	return passed{int(word(0)), word(1), word(2), b[32:end:end]}, b[end:], true
}

// errOtherProgram is for bytes that are not what the same program would send.
var errOtherProgram = errors.New("cluster: a rank said something else than was expected; the ranks do not run the same program")

// unpackAll returns what each rank has passed to Gather, or stops the job if the ranks did not submit the same.
func (j *Job) unpackAll(packed []byte) ([][]byte, error) {
	word := func() uint64 {
		if len(packed) < 8 {
			packed = nil
			return math.MaxUint64
		}
		v := binary.LittleEndian.Uint64(packed)
		packed = packed[8:]
		return v
	}
	if d := (DivergedError{int(word()), int64(word()), int64(word())}); d.Rank > 0 {
		return nil, j.stop(&d)
	}
	all := make([][]byte, j.Size())
	for r := range all {
		n := word()
		if n > uint64(len(packed)) {
			return nil, j.fail(errOtherProgram)
		}
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
	j.watch.says(to)
	n := binary.LittleEndian.AppendUint64(nil, uint64(len(b)))
	if err := j.exchange(ctx, func(done func(error)) { j.comm.Send(to, agreementTag, n, done) }); err != nil || len(b) == 0 {
		return err
	}
	return j.exchange(ctx, func(done func(error)) { j.comm.Send(to, agreementTag, b, done) })
}

// hear receives what a rank says.
func (j *Job) hear(ctx context.Context, from int) ([]byte, error) {
	receive := func(b []byte) error {
		ctx, end := j.waits(ctx)
		defer end()
		return j.exchange(ctx, func(done func(error)) {
			j.comm.Recv(from, agreementTag, b, func(n int, err error) {
				if err == nil && n != len(b) {
					err = fmt.Errorf("cluster: rank %d said something else than was expected; the ranks do not run the same program", from)
				}
				done(err)
			})
		})
	}
	j.watch.hears(from)
	defer j.watch.hasHeard(from)
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
