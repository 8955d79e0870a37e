package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// Failures on several ranks. A value that was lost on one rank travels as the failure instead, in the place of its message, so that all tasks
// that depend on it are cancelled wherever they are. A rank that cannot go on at all says so to the others, which end, too.

// RemoteError is a failure on another rank.
type RemoteError struct {
	Rank   int
	Text   string
	Detail []byte // what Options.Describe returned there; nil: nothing

	number int // of the failure among those that the rank has sent, from 1; 0: none
}

func (e *RemoteError) Error() string { return fmt.Sprintf("on rank %d: %s", e.Rank, e.Text) }

const (
	maxText    = 16 << 10 // bytes of the text of a failure in a message
	maxDetail  = 48 << 10 // and of its details, which are left out if they are longer
	maxFailure = 12 + maxText + maxDetail
)

// sentFailures are the failures of tasks of this rank that others know by their numbers.
type sentFailures struct {
	sync.Mutex
	list []*engine.TaskError
	byID map[int64]int // the number of the last one with an ID
}

// number returns the number of a failure, 0 if it is not that of a task.
func (s *sentFailures) number(err error) int {
	var t *engine.TaskError
	var data *engine.FailedDataError
	switch {
	case errors.As(err, &data) && data.Task != nil:
		t = data.Task
	case !errors.As(err, &t):
		return 0
	}
	s.Lock()
	defer s.Unlock()
	if n := s.byID[t.ID]; n > 0 && errors.Is(s.list[n-1], t) {
		return n
	}
	s.list = append(s.list, t)
	if s.byID == nil {
		s.byID = map[int64]int{}
	}
	s.byID[t.ID] = len(s.list)
	return len(s.list)
}

// find returns the failure with a number, nil for none.
func (s *sentFailures) find(n int) *engine.TaskError {
	s.Lock()
	defer s.Unlock()
	if n < 1 || n > len(s.list) {
		return nil
	}
	return s.list[n-1]
}

// pack returns a failure as a message: that of another rank as it came.
func (j *Job) pack(err error) []byte {
	var e *RemoteError
	if errors.As(err, &e) {
		return e.pack()
	}
	return j.own(err).pack()
}

// own returns what other ranks get of a failure of this one.
func (j *Job) own(err error) *RemoteError {
	e := &RemoteError{Rank: j.rank, Text: err.Error(), number: j.failures.number(err)}
	if j.describe != nil {
		e.Detail = j.describe(err)
	}
	return e
}

func (e *RemoteError) pack() []byte {
	text, detail := e.Text[:min(len(e.Text), maxText)], e.Detail
	if len(detail) > maxDetail {
		detail = nil
	}
	var b []byte
	for _, n := range []int{e.Rank, e.number, len(text)} {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	return append(append(b, text...), detail...)
}

// unpack returns the failure in a message from a rank: a *RemoteError, or what has failed on this rank itself.
func (j *Job) unpack(b []byte, from int) error {
	if len(b) < 12 || int(binary.LittleEndian.Uint32(b[8:])) > len(b)-12 {
		return fmt.Errorf("cluster: rank %d sent %d bytes that are no failure; the ranks do not run the same program", from, len(b))
	}
	e := &RemoteError{Rank: int(binary.LittleEndian.Uint32(b)), number: int(binary.LittleEndian.Uint32(b[4:]))}
	if e.Rank == j.rank {
		if t := j.failures.find(e.number); t != nil {
			return t
		}
	}
	n := binary.LittleEndian.Uint32(b[8:])
	e.Text = string(b[12:][:n])
	if detail := b[12+n:]; len(detail) > 0 {
		e.Detail = detail
	}
	return e
}

// Err returns why the job can do nothing any more, nil if it can.
func (j *Job) Err() error {
	if l := j.lost.Load(); l != nil {
		return l.error
	}
	return nil
}

// Fail gives the job up because of err, on all ranks: its tasks are cancelled, nothing is waited for any more, and all methods but Close return
// an error, which is err here, if nothing else has failed before, and a *RemoteError of this rank on the others, whatever err wraps.
func (j *Job) Fail(err error) {
	if err == nil {
		err = errors.New("cluster: the program gave the job up")
	}
	e := j.own(err)
	_ = j.stop(err)
	j.farewell(e.pack())
}

// fail notes that this rank cannot go on, as it is no longer where the others are, and says so to them.
func (j *Job) fail(err error) error {
	err = j.stop(err)
	j.farewell(j.pack(err))
	return err
}

// refuse is fail for a task that this rank refuses: the others hear of it from Fail, with what the program has to say about it, or from Close.
func (j *Job) refuse(err error) error {
	if j.plans {
		return err
	}
	j.refused = err
	return j.stop(err)
}

// stop is fail for what all ranks have come to know.
func (j *Job) stop(err error) error {
	j.lost.CompareAndSwap(nil, &lostError{err})
	err = j.Err()
	j.cancel(err)
	j.job.Cancel(err)
	return err
}

// neighbours calls fn with the ranks that a failure passes to from this one: those beside it in a tree.
func (j *Job) neighbours(fn func(rank int)) {
	for _, r := range [...]int{(j.rank - 1) / 2, 2*j.rank + 1, 2*j.rank + 2} {
		if r < j.size && r != j.rank {
			fn(r)
		}
	}
}

// listen waits for what the neighbours send last, once each: a failure, or nothing; and for their arrival at the meeting.
func (j *Job) listen() {
	j.neighbours(func(from int) {
		there := make([]byte, len(arrival))
		j.comm.Recv(from, arrivalTag, there, func(n int, err error) {
			switch {
			case err != nil || n == 0:
			case from < j.rank:
				j.allArrived()
			default:
				j.arrived()
			}
		})
		b := make([]byte, maxFailure)
		j.comm.Recv(from, farewellTag, b, func(n int, err error) {
			switch {
			case j.closed.Load():
			case err != nil:
				_ = j.fail(err)
			case n > 0:
				_ = j.fail(j.unpack(b[:n], from))
			}
		})
	})
}

// farewell sends the last message to the neighbours, if it was not sent before.
func (j *Job) farewell(b []byte) {
	if j.parted.Swap(true) {
		return
	}
	j.neighbours(func(to int) { j.comm.Send(to, farewellTag, b, func(error) {}) })
}

// meeting is where the ranks of a program that has failed wait for each other: an arrival goes up the tree of neighbours once a rank and all below it are
// there, and comes back from rank 0. Each rank sends one message to each neighbour, an empty one when it ends without.
type meeting struct {
	mu struct {
		sync.Mutex
		here     int  // of this rank and those beside it below
		up, down bool // the messages were sent
	}
	all chan struct{} // closed once all ranks are there
}

var arrival = []byte{1}

// Meet waits until all ranks have called it, which returns nil, or until ctx or the job has ended. A program that has failed in the same way on all
// ranks calls it, once, before Fail, so that all have come as far, with the values that this needs, before the first one gives up.
func (j *Job) Meet(ctx context.Context) error {
	if err := j.Err(); err != nil || j.plans {
		return err
	}
	j.arrived()
	select {
	case <-j.meeting.all:
		return nil
	case <-j.ctx.Done():
		return context.Cause(j.ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// arrived notes that this rank is there, or all of a rank beside it and those below.
func (j *Job) arrived() {
	m := &j.meeting
	m.mu.Lock()
	m.mu.here++
	all := m.mu.here == 1+j.below()
	m.mu.Unlock()
	switch {
	case !all:
	case j.rank == 0:
		j.allArrived()
	default:
		j.sendArrival(true, arrival)
	}
}

// below returns how many ranks are beside this one below.
func (j *Job) below() (n int) {
	j.neighbours(func(r int) {
		if r > j.rank {
			n++
		}
	})
	return n
}

func (j *Job) allArrived() {
	close(j.meeting.all)
	j.sendArrival(false, arrival)
}

// sendArrival sends b to the rank above, or to those below, unless that was done.
func (j *Job) sendArrival(up bool, b []byte) {
	m := &j.meeting
	m.mu.Lock()
	done := &m.mu.down
	if up {
		done = &m.mu.up
	}
	sent := *done
	*done = true
	m.mu.Unlock()
	if sent {
		return
	}
	j.neighbours(func(to int) {
		if to < j.rank == up {
			j.comm.Send(to, arrivalTag, b, func(error) {})
		}
	})
}

// Lost returns the failure that left elements of h without a valid value, where this rank has that value, or nil if there is none. It does not
// wait. See engine.Job.Lost.
func (j *Job) Lost(h *datamgr.Handle) (lost *engine.TaskError, err error) {
	err = j.eachHere(h, func(part *datamgr.Handle) bool {
		lost = j.job.Lost(part)
		return lost == nil
	})
	return lost, err
}

// IsLost is Lost for a caller that does not report the failure: Failures still returns it.
func (j *Job) IsLost(h *datamgr.Handle) (lost bool, err error) {
	err = j.eachHere(h, func(part *datamgr.Handle) bool {
		k, _ := datamgr.Fault([]datamgr.Operand{{Handle: part, Mode: iface.R}})
		lost = k >= 0
		return !lost
	})
	return lost, err
}

// eachHere calls fn with the parts of h that this rank has, until it returns false.
func (j *Job) eachHere(h *datamgr.Handle, fn func(part *datamgr.Handle) bool) error {
	if h == nil || !h.Alive() || emptyPart(h) {
		return nil
	}
	if j.plans {
		fn(h)
		return nil
	}
	p, err := j.place(h)
	if err != nil {
		return err
	}
	var here []Box
	p.each(func(q *piece) {
		if q.has(j.rank) {
			inside, _ := q.box.cut(&p.box)
			here = append(here, inside)
		}
	})
	for _, box := range here {
		part, err := j.partFor(h, box)
		if err != nil {
			return err
		}
		if !fn(part) {
			return nil
		}
	}
	return nil
}
