package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// Job is a job of a program that runs on several ranks. Every rank has one, and all call the same methods in the same
// order with the same arguments, as the one program that they run does; each has a Runtime of its own, whose machine may be another one.
// The data is registered with the Runtime of each rank: data that has a value from the start has it on all of them.
//
// One goroutine at a time calls the methods. Kernels run on one rank each, and must not submit tasks.
type Job struct {
	rt         *engine.Runtime
	job        *engine.Job
	comm       Comm
	rank, size int
	plans      bool // see NewPlan

	ctx    context.Context
	cancel context.CancelCauseFunc

	data     map[*datamgr.Handle]*distributed // by the handle of the whole
	unread   map[*datamgr.Handle]*unread      // data with elements that this rank has not read from their file, by the handle of the whole
	sources  []*unread                        // that may be open
	known    int                              // data that was ever used: the number of the next
	table    placeTable
	sequence sequence
	tasks    int64 // of all ranks
	figures  figures
	sentTo   []int // messages to each rank so far
	gotFrom  []int // and from each

	// Memory of a submission, kept for the next.
	places  []*Place    // of the operands, nil for those that are not on any rank
	name    codeletName // of the last task
	weights []int       // bytes by rank, zero between submissions
	moves   []Move
	deps    []engine.Dependency // of a task with AfterTickets
	ssend   bool                // Task.Ssend

	describe  func(error) []byte
	failures  sentFailures
	meeting   meeting
	transfers sync.WaitGroup
	underway  underway
	// releasesFast means that to release an access neither copies between memories nor runs tasks.
	releasesFast bool
	stopEnding   func() bool // see endTransfers
	stopPolling  func()      // see Poller
	watch        watch
	lost         atomic.Pointer[lostError]
	refused      error       // what refused a task
	parted       atomic.Bool // the last message to the neighbours was sent
	closed       atomic.Bool
}

// lostError is why a job can do nothing any more.
type lostError struct{ error }

// distributed is data, and its handles that were used.
type distributed struct {
	number int
	data   *Data
	places map[*datamgr.Handle]*Place
	owners map[*datamgr.Handle]int // of the parts of views that were looked at
	boxes  map[Box]*datamgr.Handle // views of pieces that are sent
	sizes  *Place                  // of the content, nil for data without a capacity
	grows  bool                    // the sizes may not be those of the registration
	enough int                     // the number of places with which forget looks for dead ones

	dropped map[int]*engine.Site // where a value was invalidated, by the number of the write that did it
}

// noteDropped notes where a write was made that left no value.
func (d *distributed) noteDropped(write int, at *engine.Site) {
	if d.dropped == nil {
		d.dropped = map[int]*engine.Site{}
	}
	if len(d.dropped) > 2*len(d.data.pieces)+16 {
		maps.DeleteFunc(d.dropped, func(w int, _ *engine.Site) bool {
			return !slices.ContainsFunc(d.data.pieces, func(q *piece) bool { return q.value == w })
		})
	}
	d.dropped[write] = at
}

// uninitialised returns the error for p, which operand i reads and which has elements without a value.
func (j *Job) uninitialised(i int, p *Place) *engine.UninitError {
	e := &engine.UninitError{Operand: i, Handle: p.Handle}
	p.each(func(q *piece) {
		switch {
		case len(q.holders) > 0:
			e.Partial = true
		case q.value > 0:
			e.Why, e.At = engine.Invalidated, j.data[p.Handle.Root()].dropped[q.value]
		}
	})
	return e
}

// Options of a job.
type Options struct {
	engine.JobOptions
	// Describe returns what other ranks get of a failure besides its text, in RemoteError.Detail; nil: nothing. It is called from
	// any goroutine, and must not call methods of the job.
	Describe func(err error) []byte
}

// NewJob returns a job on a runtime of this rank. The caller closes it before the runtime. A Comm on which a job has failed is used up, as messages of
// that job may be left in it; use Duplicator.Dup, before, for another.
func NewJob(ctx context.Context, rt *engine.Runtime, comm Comm, o Options) *Job {
	return newJob(ctx, rt, comm, o, false)
}

func newJob(ctx context.Context, rt *engine.Runtime, comm Comm, o Options, plans bool) *Job {
	ctx, cancel := context.WithCancelCause(ctx)
	size := comm.Size()
	j := &Job{rt: rt, job: rt.NewJob(ctx, o.JobOptions), comm: comm, rank: comm.Rank(), size: size, ctx: ctx, cancel: cancel,
		data: map[*datamgr.Handle]*distributed{}, unread: map[*datamgr.Handle]*unread{}, sequence: newSequence,
		sentTo: make([]int, size), gotFrom: make([]int, size), weights: make([]int, size), describe: o.Describe, plans: plans}
	j.figures.init(size)
	j.meeting.all = make(chan struct{})
	j.releasesFast = len(rt.Nodes()) == 1 && !rt.Sequential()
	j.stopEnding = context.AfterFunc(ctx, j.endTransfers)
	j.stopPolling = func() {}
	if p, ok := comm.(Poller); ok && !plans {
		j.stopPolling = rt.PollWhileIdle(p.Poll)
	}
	j.listen()
	j.newWatch(o.DetectStuck)
	return j
}

// Rank returns the number of this process.
func (j *Job) Rank() int { return j.rank }

// Size returns how many processes there are.
func (j *Job) Size() int { return j.size }

// Local returns the job of the engine that has the tasks of this rank. Tasks submitted to it are those of
// this rank alone, and must not use data of other tasks.
func (j *Job) Local() *engine.Job { return j.job }

// Task is a task that every rank submits, and one runs.
type Task struct {
	engine.TaskSpec
	// On is 1 + the rank that runs the task; 0: the one that owns most of what it writes, then most of what it
	// contributes to or reads, and otherwise rank 0.
	On int
	// AfterTickets lists tasks of this job that the task waits for, whichever ranks run them. When one of them failed or was cancelled, this one
	// is cancelled. TaskSpec.After can have gates only.
	AfterTickets []*Ticket
	// Ssend has the values that the task needs sent synchronously, as StarPU's STARPU_SSEND: a send ends, and its data may be written on the rank that sends
	// it, only once the receive has been started. MPI then keeps no copy of small values on a rank that is behind, but the sender waits for that rank.
	Ssend bool
}

// RankError says that a rank does not exist.
type RankError struct{ Rank, Size int }

func (e *RankError) Error() string {
	return fmt.Sprintf("cluster: there is no rank %d; there are 0 to %d", e.Rank, e.Size-1)
}

// UnsupportedError says that a task, or data, is of a kind that runs on one rank only so far.
type UnsupportedError struct{ Message string }

func (e *UnsupportedError) Error() string { return "cluster: " + e.Message }

// Submit submits a task: the rank that it is for runs it. Errors are those of engine.Job.Submit, *RankError and
// *UnsupportedError. Operands without a value or a reduction, and kinds of tasks that ranks do not have, are the same error on all ranks, and
// nothing was submitted. Faults that only the rank that runs the task finds, such as sizes that do not fit together or a full window, end the job on all ranks,
// once that one calls Fail or Close.
func (j *Job) Submit(t *Task) error {
	rank, err := j.route(t)
	if err != nil || rank != j.rank && !j.plans {
		return err
	}
	if err := j.job.Submit(j.local(t)); err != nil {
		return j.refuse(err)
	}
	j.figures.tasks[rank]++
	return nil
}

// Ticket is a task to keep. It is not in memory on ranks that do not run it.
type Ticket struct {
	id   int64
	job  *Job
	rank int
	task *engine.Task // on that rank
	told []int        // other ranks that get to know how it ends
	end  *engine.Task // on these: a task that ends likewise
}

// ID returns the number of the task among those of all ranks, from 1.
func (t *Ticket) ID() int64 { return t.id }

// Rank returns the rank that runs the task.
func (t *Ticket) Rank() int { return t.rank }

// Local returns the task on the rank that runs it, and nil elsewhere.
func (t *Ticket) Local() *engine.Task { return t.task }

// SubmitTask is Submit for a task to keep.
func (j *Job) SubmitTask(t *Task, o engine.TaskOptions) (*Ticket, error) {
	rank, err := j.route(t)
	if err != nil {
		return nil, err
	}
	ticket := &Ticket{id: j.tasks, job: j, rank: rank}
	if rank == j.rank || j.plans {
		if ticket.task, err = j.job.SubmitWith(j.local(t), o); err != nil {
			return nil, j.refuse(err)
		}
		j.figures.tasks[rank]++
	}
	return ticket, nil
}

// place returns the place of a handle.
func (j *Job) place(h *datamgr.Handle) (*Place, error) {
	root := h.Root()
	d := j.data[root]
	if d == nil {
		if err := unsupported(h, j.size); err != nil {
			return nil, err
		}
		var holders []int
		if root.Initialised() || j.unread[root] != nil {
			holders = Everywhere(j.Size())
		}
		d = &distributed{number: j.known, sizes: sizesPlace(root, j.size), data: NewData(boxOf(root), holders), places: map[*datamgr.Handle]*Place{},
			owners: map[*datamgr.Handle]int{}, boxes: map[Box]*datamgr.Handle{}}
		j.data[root] = d
		j.known++
	}
	p := d.places[h]
	if p == nil {
		d.forget()
		p = d.data.Place(boxOf(h), d.owner(h, j.Size()))
		p.Handle, p.empty, p.sized, p.unread = h, emptyPart(h), d.sizes != nil, j.unread[root] != nil
		desc := h.Desc()
		p.bytes = p.box.Elements() * int(desc.Elem.Size())
		if o := objectOf(h); o != nil {
			p.bytes = max(1, int(o.Type.Size()))
		}
		p.hash = hashPlace(d.number, int(p.owner), &p.box)
		d.places[h] = p
	}
	j.table.add(p)
	return p, nil
}

// unsupported returns an *UnsupportedError if tasks cannot use h on a number of ranks.
func unsupported(h *datamgr.Handle, size int) error {
	switch o := objectOf(h); {
	case o != nil && o.Pack == nil && size > 1:
		return &UnsupportedError{fmt.Sprintf("nothing says how to send a value of %v to other ranks; register it with an Interface that has Pack and Unpack, or give its type MarshalBinary and UnmarshalBinary", o.Type)}
	case h.Unordered():
		return &UnsupportedError{"data without an order has no value that ranks could agree on; register it without Unordered"}
	}
	return nil
}

// forget drops what is known of the parts of views that have ended, once that is more than what is known of others.
func (d *distributed) forget() {
	if len(d.places) < d.enough {
		return
	}
	maps.DeleteFunc(d.places, func(h *datamgr.Handle, _ *Place) bool { return !h.Alive() })
	maps.DeleteFunc(d.owners, func(h *datamgr.Handle, _ int) bool { return !h.Alive() })
	d.enough = max(64, 2*len(d.places))
}

func boxOf(h *datamgr.Handle) Box {
	lo, hi := h.Place()
	return Box{lo, hi}
}

// move sends and receives what this rank has to, so that h has its value where it is read.
func (j *Job) move(h *datamgr.Handle, moves []Move) error {
	for i := range moves {
		m := &moves[i]
		if j.plans {
			j.countPlanned(m.From, m.To, h, &m.Box)
			continue
		}
		if m.From != j.rank && m.To != j.rank {
			continue
		}
		part, err := j.partFor(h, m.Box)
		if err != nil {
			return err
		}
		if m.From == j.rank {
			err = j.send(part, m.To)
		} else {
			err = j.receive(part, m.From)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// nextTag returns the tag of the next message to or from a rank, which was the count of those before: both ranks count the same. The last tags
// are for agreements, farewells and arrivals.
func nextTag(count *int) int {
	tag := *count
	*count = (tag + 1) % tags
	return tag
}

const (
	agreementTag = MaxTag
	farewellTag  = MaxTag - 1
	arrivalTag   = MaxTag - 2
	stuckTag     = MaxTag - 3
	tags         = stuckTag // of values: those below
)

// partFor returns a handle of the elements of a box: h, if it is that box, or a part of the whole.
func (j *Job) partFor(h *datamgr.Handle, box Box) (*datamgr.Handle, error) {
	if boxOf(h) == box {
		return h, nil
	}
	root := h.Root()
	if boxOf(root) == box {
		return root, nil
	}
	d := j.data[root]
	if part := d.boxes[box]; part != nil {
		return part, nil
	}
	part, err := partOf(j.rt, root, box)
	if err == nil {
		d.boxes[box] = part
	}
	return part, err
}

// combine adds what ranks have contributed to places that touch p to the value there. With redux, p itself goes on.
func (j *Job) combine(p *Place, redux bool) error {
	for _, o := range p.Open(redux) {
		if err := j.sum(o); err != nil {
			return err
		}
	}
	return nil
}

// Acquire gives all ranks the value of h, or with W the memory for a new one, as engine.Job.AcquireWith does: they all call it, and
// with W and RW all have to write the same. An *engine.StuckError may come on one rank alone: the others, which wait for it, get an error
// once that rank calls Fail.
func (j *Job) Acquire(ctx context.Context, h *datamgr.Handle, mode iface.AccessMode, o engine.AcquireOptions) (*engine.Access, error) {
	return j.acquire(ctx, h, mode, o, Everywhere(j.size))
}

// AcquireOn is Acquire of one rank, in mode R. The others call it, too, and get nil.
func (j *Job) AcquireOn(ctx context.Context, rank int, h *datamgr.Handle, o engine.AcquireOptions) (*engine.Access, error) {
	if rank < 0 || rank >= j.size {
		return nil, &RankError{rank, j.size}
	}
	return j.acquire(ctx, h, iface.R, o, []int{rank})
}

// acquire is Acquire of the given ranks. A mode that writes needs all of them.
func (j *Job) acquire(ctx context.Context, h *datamgr.Handle, mode iface.AccessMode, o engine.AcquireOptions, ranks []int) (*engine.Access, error) {
	if err := j.Err(); err != nil {
		return nil, err
	}
	if h == nil || !h.Alive() || mode != iface.R && mode != iface.W && mode != iface.RW {
		return j.job.AcquireWith(ctx, h, mode, o) // the error
	}
	if emptyPart(h) {
		return j.job.AcquireWith(ctx, h, mode, o)
	}
	p, err := j.place(h)
	if err != nil {
		return nil, err
	}
	if mode.Reads() && !o.Partial && !p.HasValue() && !lazy(h) {
		return nil, j.uninitialised(0, p)
	}
	if err := j.combine(p, false); err != nil {
		return nil, j.fail(err)
	}
	if mode.Reads() {
		first := int(p.owner)
		if len(ranks) == 1 {
			first = ranks[0]
		}
		if err := j.initialise(p, first); err != nil {
			return nil, j.fail(err)
		}
		if err := j.bringTo(p, ranks); err != nil {
			return nil, j.fail(err)
		}
	}
	if mode.Writes() {
		if err := j.bringSizes(p, ranks...); err != nil {
			return nil, j.fail(err)
		}
		j.wroteSizes(p, ranks...)
		p.Write(ranks...)
	}
	if !j.plans && !slices.Contains(ranks, j.rank) {
		return nil, nil
	}
	within, end := j.waits(ctx)
	a, err := j.job.AcquireWith(within, h, mode, o)
	end()
	if lost := j.Err(); err != nil && lost != nil {
		err = lost // the reason, or as good as one
	}
	return a, err
}

// everywhere gives all ranks the value of h.
func (j *Job) everywhere(h *datamgr.Handle) error {
	p, err := j.place(h)
	if err != nil {
		return err
	}
	return j.bringTo(p, Everywhere(j.size))
}

// bringTo gives ranks the value of p.
func (j *Job) bringTo(p *Place, ranks []int) error {
	if err := j.bringSizes(p, ranks...); err != nil {
		return err
	}
	for _, r := range ranks {
		j.moves = p.read(r, j.moves[:0])
		if err := j.move(p.Handle, j.moves); err != nil {
			return err
		}
	}
	if slices.Contains(ranks, j.rank) {
		return j.readFile(p)
	}
	return nil
}

// HasValue reports whether all elements of h have a value on some rank.
func (j *Job) HasValue(h *datamgr.Handle) bool {
	if emptyPart(h) {
		return true
	}
	p, err := j.place(h)
	return err == nil && p.HasValue()
}

// Invalidate is engine.Job.Invalidate on all ranks.
func (j *Job) Invalidate(h *datamgr.Handle, at ...*engine.Site) error {
	if err := j.Err(); err != nil {
		return err
	}
	if h != nil && h.Alive() {
		p, err := j.place(h)
		if err != nil {
			return err
		}
		if err := j.combine(p, false); err != nil {
			return j.fail(err)
		}
		p.Write()
		if len(at) > 0 {
			j.data[h.Root()].noteDropped(p.data.writes, at[0])
		}
	}
	return j.job.Invalidate(h, at...)
}

// Unregister is engine.Job.Unregister on all ranks.
func (j *Job) Unregister(h *datamgr.Handle, at ...*engine.Site) error {
	if h == nil {
		return j.job.Unregister(h, at...)
	}
	if d := j.data[h]; d != nil {
		for _, o := range slices.Clone(d.data.sums) {
			if err := j.sum(o); err != nil {
				return j.fail(err)
			}
		}
		if (h.Home() || j.figures.homes[h]) && h.Parent() == nil { // memory of the program gets the last value, on all ranks
			if err := j.everywhere(h); err != nil {
				return j.fail(err)
			}
		}
		delete(j.data, h)
		j.table.remove(d)
	}
	j.dropSource(h)
	return j.job.Unregister(h, at...)
}

// Wait waits until all tasks have ended, on all ranks. Errors are those of engine.Job.Wait on this rank, *DivergedError, and those of a rank that is
// lost.
func (j *Job) Wait(ctx context.Context) error {
	if err := j.Err(); err != nil {
		return err
	}
	within, end := j.waits(ctx)
	err := j.job.Wait(within)
	end()
	return j.Agree(ctx, err)
}

// WaitTask waits until a task has ended, on all ranks, and returns its error: that of engine.Task.Err on the rank that ran it, and a
// *RemoteError elsewhere.
func (j *Job) WaitTask(ctx context.Context, t *Ticket) error {
	var failed error
	var packed []byte
	if t.task != nil {
		within, end := j.waits(ctx)
		failed = t.task.Wait(within)
		if end(); failed != nil {
			j.job.Cancel(failed)
		} else {
			failed = t.task.Err()
		}
		if failed != nil {
			packed = j.pack(failed)
		}
	}
	packed, err := j.Share(ctx, t.rank, packed)
	switch {
	case err != nil:
		return err
	case failed == nil && len(packed) > 0:
		return j.unpack(packed, t.rank)
	}
	return failed
}

// Close ends the job. All ranks call it after a last Wait, before they close their runtimes. With DetectStuck it waits for the call of rank 0.
func (j *Job) Close() error {
	err := j.job.Close()
	j.transfers.Wait()
	j.closeSources()
	j.stopEnding()
	j.closeWatch()
	j.closed.Store(true)
	if j.refused != nil {
		j.farewell(j.pack(j.refused))
	}
	j.farewell(nil)
	j.sendArrival(true, nil)
	j.sendArrival(false, nil)
	j.stopPolling()
	j.cancel(errors.New("cluster: the job is closed"))
	return err
}
