package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

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
	rt   *engine.Runtime
	job  *engine.Job
	comm Comm

	ctx    context.Context
	cancel context.CancelCauseFunc

	data     map[*datamgr.Handle]*distributed // by the handle of the whole
	known    int                              // data that was ever used: the number of the next
	tags     map[[2]int]int                   // messages from one rank to another so far
	sequence uint64                           // hash of what was submitted
	tasks    int64                            // of all ranks
	sent     Traffic

	transfers sync.WaitGroup
	mu        struct {
		sync.Mutex
		lost error // why messages cannot be sent any more
	}
}

// Traffic counts messages with data.
type Traffic struct{ Messages, Bytes int64 }

// distributed is data, and its handles that were used.
type distributed struct {
	number int
	data   *Data
	places map[*datamgr.Handle]*Place
	owners map[*datamgr.Handle]int // of the parts of views that were looked at
	boxes  map[Box]*datamgr.Handle // views of pieces that are sent
}

// Options of a job.
type Options struct {
	engine.JobOptions
}

// NewJob returns a job on a runtime of this rank. The caller closes it before the runtime.
func NewJob(ctx context.Context, rt *engine.Runtime, comm Comm, o Options) *Job {
	ctx, cancel := context.WithCancelCause(ctx)
	return &Job{rt: rt, job: rt.NewJob(ctx, o.JobOptions), comm: comm, ctx: ctx, cancel: cancel,
		data: map[*datamgr.Handle]*distributed{}, tags: map[[2]int]int{}, sequence: 14695981039346656037}
}

// Rank returns the number of this process.
func (j *Job) Rank() int { return j.comm.Rank() }

// Size returns how many processes there are.
func (j *Job) Size() int { return j.comm.Size() }

// Local returns the job of the engine that has the tasks of this rank. Tasks submitted to it are those of
// this rank alone, and must not use data of other tasks.
func (j *Job) Local() *engine.Job { return j.job }

// Sent returns what this rank has sent so far.
func (j *Job) Sent() Traffic { return j.sent }

// Task is a task that every rank submits, and one runs.
type Task struct {
	engine.TaskSpec
	// On is 1 + the rank that runs the task; 0: the one that owns most of what it writes, then most of what it
	// contributes to or reads, and otherwise rank 0.
	On int
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
// *UnsupportedError. Mistakes in the task are the same error on all ranks, and nothing was submitted; a
// full window, a closed job, or the cause of a context is that of one rank, and the job can do nothing any more.
func (j *Job) Submit(t *Task) error {
	_, err := j.submit(t, nil)
	return err
}

// Ticket is a task to keep. It is not in memory on ranks that do not run it.
type Ticket struct {
	id   int64
	rank int
	task *engine.Task // on that rank
}

// ID returns the number of the task among those of all ranks, from 1.
func (t *Ticket) ID() int64 { return t.id }

// Rank returns the rank that runs the task.
func (t *Ticket) Rank() int { return t.rank }

// Local returns the task on the rank that runs it, and nil elsewhere.
func (t *Ticket) Local() *engine.Task { return t.task }

// SubmitTask is Submit for a task to keep.
func (j *Job) SubmitTask(t *Task, o engine.TaskOptions) (*Ticket, error) { return j.submit(t, &o) }

func (j *Job) submit(t *Task, keep *engine.TaskOptions) (*Ticket, error) {
	if err := j.broken(); err != nil {
		return nil, err
	}
	places, err := j.check(t)
	if err != nil {
		return nil, err
	}
	rank := j.runs(t, places)
	j.note(t)
	spec := t.TaskSpec
	own := rank == j.Rank()
	for i, p := range places {
		if p == nil {
			continue
		}
		mode := t.Operands[i].Mode
		if err := j.combine(p, mode == iface.Redux); err != nil {
			return nil, j.fail(err)
		}
		switch {
		case mode == iface.Redux:
			if err := j.contribute(p, rank); err != nil {
				return nil, j.fail(err)
			}
		case mode.Reads():
			if err := j.initialise(p, rank); err != nil {
				return nil, j.fail(err)
			}
			if err := j.move(t.Operands[i].Handle, p.Read(rank)); err != nil {
				return nil, j.fail(err)
			}
		}
	}
	for i, p := range places {
		if p != nil && t.Operands[i].Mode.Writes() && t.Operands[i].Mode != iface.Redux {
			p.Write(rank)
		}
	}
	j.tasks++
	ticket := &Ticket{id: j.tasks, rank: rank}
	switch {
	case !own:
		return ticket, nil
	case keep == nil:
		err = j.job.Submit(&spec)
	default:
		ticket.task, err = j.job.SubmitWith(&spec, *keep)
	}
	if err != nil {
		return nil, j.fail(err)
	}
	return ticket, nil
}

// check returns the places of the operands, nil for SCRATCH, or what is wrong with the task.
func (j *Job) check(t *Task) ([]*Place, error) {
	switch {
	case t.Codelet == nil:
		return nil, &engine.NoImplementationError{}
	case t.On < 0 || t.On > j.Size():
		return nil, &RankError{t.On - 1, j.Size()}
	case slices.ContainsFunc(t.After, func(d engine.Dependency) bool { _, gate := d.(*engine.Gate); return !gate }):
		return nil, &UnsupportedError{fmt.Sprintf("a task of %s waits by After for what may be on another rank; order them by an operand that both use", t.Codelet.Name)}
	case t.Unordered:
		return nil, &UnsupportedError{fmt.Sprintf("a task of %s has no order with others; on several ranks each task has one: leave Unordered out", t.Codelet.Name)}
	case t.Codelet.Modes != nil && len(t.Codelet.Modes) != len(t.Operands):
		return nil, &engine.ModeError{Operand: min(len(t.Codelet.Modes), max(len(t.Operands)-1, 0)), Other: -1,
			Message: fmt.Sprintf("codelet %s has %d operands, and got %d", t.Codelet.Name, len(t.Codelet.Modes), len(t.Operands))}
	}
	places := make([]*Place, len(t.Operands))
	for i := range t.Operands {
		op := &t.Operands[i]
		if op.Handle == nil {
			return nil, &engine.ModeError{Operand: i, Mode: op.Mode, Other: -1, Message: fmt.Sprintf("operand %d of %s is nil", i, t.Codelet.Name)}
		}
		if !op.Handle.Alive() {
			return nil, &engine.DeadHandleError{Operand: i, Handle: op.Handle}
		}
		if op.Mode == iface.Scratch || emptyPart(op.Handle) {
			continue
		}
		p, err := j.place(op.Handle)
		if err != nil {
			return nil, err
		}
		switch {
		case op.Mode == iface.Redux && (op.Handle.Reduction() == nil || op.Handle.Reduction().Combine == nil):
			return nil, &engine.NoReductionError{Operand: i, Handle: op.Handle}
		case op.Mode != iface.Redux && op.Mode.Reads() && !p.HasValue() && !lazy(op.Handle):
			return nil, &engine.UninitError{Operand: i, Handle: op.Handle}
		}
		places[i] = p
	}
	for i, p := range places {
		for k := range i {
			if q := places[k]; p != nil && q != nil && p.data == q.data && p.box.touches(&q.box) && (t.Operands[i].Mode == iface.Redux) != (t.Operands[k].Mode == iface.Redux) {
				return nil, &engine.ModeError{Operand: i, Handle: t.Operands[i].Handle, Mode: t.Operands[i].Mode, Other: k, Message: "operands share elements, and one is REDUX"}
			}
		}
	}
	return places, nil
}

// emptyPart reports whether h is a part without elements, whose box is that of an element that it does not have.
func emptyPart(h *datamgr.Handle) bool {
	d := h.Desc()
	return h.Parent() != nil && d.Len() == 0
}

// lazy reports whether elements of h without a value get one when they are first read.
func lazy(h *datamgr.Handle) bool {
	r := h.Reduction()
	return r != nil && r.Combine == nil
}

// runs returns the rank that runs t.
func (j *Job) runs(t *Task, places []*Place) int {
	if t.On > 0 {
		return t.On - 1
	}
	return Runs(len(places), func(i int) (int, int, iface.AccessMode) {
		if places[i] == nil {
			return 0, 0, iface.Scratch
		}
		op := &t.Operands[i]
		return places[i].owner, places[i].box.Elements() * int(op.Handle.Desc().Elem.Size()), op.Mode
	})
}

// Runs returns the rank that runs a task by default: the one that owns most of what it writes, then most of what it reads or contributes to, and
// otherwise rank 0. operand returns the owner, bytes and mode of operand i of n.
func Runs(n int, operand func(i int) (owner, bytes int, mode iface.AccessMode)) int {
	for _, use := range []func(iface.AccessMode) bool{
		func(m iface.AccessMode) bool { return m.Writes() && m != iface.Redux },
		func(m iface.AccessMode) bool { return m.Reads() && m != iface.Redux },
		func(m iface.AccessMode) bool { return m == iface.Redux },
	} {
		best, most := 0, 0
		sum := map[int]int{}
		for i := range n {
			owner, bytes, mode := operand(i)
			if !use(mode) {
				continue
			}
			sum[owner] += bytes
			if n := sum[owner]; n > most {
				best, most = owner, n
			}
		}
		if most > 0 {
			return best
		}
	}
	return 0
}

// note adds t to the hash of what was submitted.
func (j *Job) note(t *Task) {
	mix := func(v int) { j.sequence = (j.sequence ^ uint64(v)) * 1099511628211 } // FNV-1a, of words instead of bytes
	mix(t.On)
	for _, c := range []byte(t.Codelet.Name) {
		mix(int(c))
	}
	for i := range t.Operands {
		op := &t.Operands[i]
		if op.Mode != iface.Scratch && !emptyPart(op.Handle) {
			d := j.data[op.Handle.Root()]
			b := &d.places[op.Handle].box
			mix(int(op.Mode))
			mix(d.number)
			for k := range b.Lo {
				mix(b.Lo[k])
				mix(b.Hi[k])
			}
		}
	}
}

// place returns the place of a handle.
func (j *Job) place(h *datamgr.Handle) (*Place, error) {
	root := h.Root()
	d := j.data[root]
	if d == nil {
		switch kind, _ := h.Type(); {
		case kind == iface.Arrays || kind == iface.Object:
			return nil, &UnsupportedError{fmt.Sprintf("%v is of a kind that cannot be sent to other ranks yet; use arrays of numbers", kind)}
		case root.Resizable():
			return nil, &UnsupportedError{"data with a capacity cannot be sent to other ranks yet; register it without"}
		case h.Unordered():
			return nil, &UnsupportedError{"data without an order has no value that ranks could agree on; register it without Unordered"}
		}
		var holders []int
		if root.Initialised() {
			holders = Everywhere(j.Size())
		}
		d = &distributed{number: j.known, data: NewData(boxOf(root), holders), places: map[*datamgr.Handle]*Place{},
			owners: map[*datamgr.Handle]int{}, boxes: map[Box]*datamgr.Handle{}}
		j.data[root] = d
		j.known++
	}
	p := d.places[h]
	if p == nil {
		p = d.data.Place(boxOf(h), d.owner(h, j.Size()))
		p.Handle = h
		d.places[h] = p
	}
	return p, nil
}

func boxOf(h *datamgr.Handle) Box {
	lo, hi := h.Place()
	return Box{lo, hi}
}

// owner returns the rank that owns a handle: tiles are dealt in two dimensions over a grid of all ranks, other parts and
// whole data in turn.
func (d *distributed) owner(h *datamgr.Handle, size int) int {
	parent := h.Parent()
	if parent == nil {
		return d.number % size
	}
	if at, ok := d.owners[h]; ok {
		return at
	}
	for _, v := range parent.Views() {
		for k, part := range v.Parts {
			d.owners[part] = Deal(k, v.Dims, size)
		}
	}
	return d.owners[h]
}

// Deal returns the rank that owns part k of a view with the given numbers of parts along its axes.
func Deal(k int, dims []int, size int) int {
	if len(dims) < 2 {
		return k % size
	}
	for _, n := range dims[2:] {
		k /= n
	}
	rows := gridRows(size)
	i, l := k/dims[1], k%dims[1]
	return i%rows*(size/rows) + l%(size/rows)
}

// gridRows returns the rows of the grid of ranks that is closest to a square.
func gridRows(size int) int {
	rows := 1
	for r := 2; r*r <= size; r++ {
		if size%r == 0 {
			rows = r
		}
	}
	return rows
}

// move sends and receives what this rank has to, so that h has its value where it is read.
func (j *Job) move(h *datamgr.Handle, moves []Move) error {
	for _, m := range moves {
		tag := j.nextTag(m.From, m.To)
		if m.From != j.Rank() && m.To != j.Rank() {
			continue
		}
		part, err := j.partFor(h, m.Box)
		if err != nil {
			return err
		}
		if m.From == j.Rank() {
			err = j.send(part, m.To, tag)
		} else {
			err = j.receive(part, m.From, tag)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// nextTag returns the tag of the next message from one rank to another: the same on both. MaxTag itself is for agreements.
func (j *Job) nextTag(from, to int) int {
	pair := [2]int{from, to}
	tag := j.tags[pair]
	j.tags[pair] = (tag + 1) % MaxTag
	return tag
}

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

// broken returns why the job can do nothing any more.
func (j *Job) broken() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.mu.lost
}

// Fail gives the job up because of err: its tasks are cancelled, nothing is waited for any more, and all methods but Close return an
// error. All ranks do that, if what has failed has failed on all of them; otherwise the program has to end the others, as
// mpi.World.Abort does, which may wait for this one.
func (j *Job) Fail(err error) { _ = j.fail(err) }

// fail notes that this rank cannot go on: it is no longer where the others are.
func (j *Job) fail(err error) error {
	j.mu.Lock()
	if j.mu.lost == nil {
		j.mu.lost = err
	}
	err = j.mu.lost
	j.mu.Unlock()
	j.cancel(err)
	j.job.Cancel(err)
	return err
}

// Acquire gives all ranks the value of h, or with W the memory for a new one, as engine.Job.AcquireWith does: they all call it, and
// with W and RW all have to write the same.
func (j *Job) Acquire(ctx context.Context, h *datamgr.Handle, mode iface.AccessMode, o engine.AcquireOptions) (*engine.Access, error) {
	if err := j.broken(); err != nil {
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
		return nil, &engine.UninitError{Handle: h}
	}
	if err := j.combine(p, false); err != nil {
		return nil, j.fail(err)
	}
	if mode.Reads() {
		if err := j.initialise(p, p.owner); err != nil {
			return nil, j.fail(err)
		}
		if err := j.everywhere(h); err != nil {
			return nil, j.fail(err)
		}
	}
	if mode.Writes() {
		p.Write(Everywhere(j.Size())...)
	}
	a, err := j.job.AcquireWith(ctx, h, mode, o)
	var stuck *engine.StuckError
	if errors.As(err, &stuck) { // the others, which wait for this rank, hear that it does not go on
		j.job.Cancel(err)
	}
	return a, err
}

// everywhere gives all ranks the value of h.
func (j *Job) everywhere(h *datamgr.Handle) error {
	p, err := j.place(h)
	if err != nil {
		return err
	}
	for r := range j.Size() {
		if err := j.move(h, p.Read(r)); err != nil {
			return err
		}
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
	if err := j.broken(); err != nil {
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
		if h.Home() && h.Parent() == nil { // memory of the program gets the last value, on all ranks
			if err := j.everywhere(h); err != nil {
				return j.fail(err)
			}
		}
		delete(j.data, h)
	}
	return j.job.Unregister(h, at...)
}

// Wait waits until all tasks have ended, on all ranks. Errors are those of engine.Job.Wait on this rank, *DivergedError, and those of a rank that is
// lost.
func (j *Job) Wait(ctx context.Context) error {
	if err := j.broken(); err != nil {
		return err
	}
	return j.Agree(ctx, j.job.Wait(ctx))
}

// WaitTask waits until a task has ended, on all ranks, and returns its error: that of engine.Task.Err on the rank that ran it, and a
// *RemoteError elsewhere.
func (j *Job) WaitTask(ctx context.Context, t *Ticket) error {
	var failed error
	var text []byte
	if t.task != nil {
		if failed = t.task.Wait(ctx); failed != nil {
			j.job.Cancel(failed)
		} else {
			failed = t.task.Err()
		}
		if failed != nil {
			text = shorten(failed.Error())
		}
	}
	text, err := j.Share(ctx, t.rank, text)
	switch {
	case err != nil:
		return err
	case failed == nil && len(text) > 0:
		return &RemoteError{t.rank, string(text)}
	}
	return failed
}

// Close ends the job. All ranks call it after a last Wait, before they close their runtimes.
func (j *Job) Close() error {
	err := j.job.Close()
	j.transfers.Wait()
	j.cancel(errors.New("cluster: the job is closed"))
	return err
}
