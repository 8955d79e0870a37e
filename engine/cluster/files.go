package cluster

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// Files of data that all ranks can reach: each rank reads the elements that its tasks need, and writes those that it owns. No value travels for that.

// unread is data whose first value is in a file, as one rank sees it.
type unread struct {
	h     *datamgr.Handle // the whole
	src   accel.Source
	left  []Box          // elements that this rank has not looked for in src; some may have been written since
	loads []*engine.Task // that may not have ended
	users atomic.Int64   // tasks that read src, and 1 for the job; the last one closes src
}

// maxSources bounds the files that a job keeps open.
const maxSources = 100

// RegisterFrom declares data whose first value is the bytes of src, on all ranks, which have sources with the same bytes. Each rank reads elements when they are first
// needed there: by its tasks, by Acquire, or by Checkpoint. The job owns src, and closes it once nothing needs it any more, also if it returns
// an error. A task that cannot read them fails, as does every use of the elements after it. The bytes must not change during the run.
//
// Read-only data, and all data once a job has many sources, is read at once. In a plan nothing is read.
func (j *Job) RegisterFrom(spec engine.DataSpec, src accel.Source) (*datamgr.Handle, error) {
	j.sources = slices.DeleteFunc(j.sources, func(u *unread) bool { return u.users.Load() == 0 })
	if j.plans || spec.ReadOnly || slices.Contains(spec.Dims, 0) || len(j.sources) >= maxSources {
		h, err := j.rt.RegisterFilled(spec, func(b *iface.Buffer) error {
			if j.plans {
				return nil
			}
			return readBox(src, &b.Desc, make([]int, b.Rank), b)
		})
		return h, errors.Join(err, src.Close())
	}
	h, err := j.rt.Register(spec)
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	u := &unread{h: h, src: src, left: []Box{boxOf(h)}}
	u.users.Store(1)
	j.sources = append(j.sources, u)
	j.unread[h] = u
	return h, nil
}

// done notes that a user of the source needs it no more.
func (u *unread) done() {
	if u.users.Add(-1) == 0 {
		_ = u.src.Close() // it was only read
	}
}

// take returns the elements in box that are left, and leaves the others.
func (u *unread) take(box *Box) (taken []Box) {
	for i := 0; i < len(u.left); {
		if !u.left[i].touches(box) {
			i++
			continue
		}
		inside, rest := u.left[i].cut(box)
		taken = append(taken, inside)
		last := len(u.left) - 1 // the rest does not touch the box
		u.left[i] = u.left[last]
		u.left = append(u.left[:last], rest...)
	}
	return taken
}

// readFile submits the tasks that read elements of p from a file, if this rank needs them for the first time and nothing has written them. It is called before a use of p on
// this rank, at its place in the order.
func (j *Job) readFile(p *Place) error {
	p.unread = false // whatever is left of the elements is read or written now
	u := j.unread[p.Handle.Root()]
	if u == nil {
		return nil
	}
	for _, o := range p.data.sums {
		if o.home != j.rank && o.box.touches(&p.box) {
			u.take(&o.box) // the sum will be their value, and this rank may have its contribution in their memory
		}
	}
	taken := u.take(&p.box)
	if len(taken) == 0 {
		return nil
	}
	var boxes []Box
	p.each(func(q *piece) {
		if q.value > 0 {
			return // written since
		}
		for i := range taken {
			if taken[i].touches(&q.box) {
				inside, _ := taken[i].cut(&q.box)
				boxes = append(boxes, inside)
			}
		}
	})
	return j.readBoxes(u, p.Handle, boxes)
}

// ReadFiles reads from some sources, those for which which returns true, all that this rank may need of them, and waits until that is done: the files may be replaced
// then. It does not matter whether other ranks call it. The error is the cause of ctx; data that could not be read is lost, as after other tasks that fail.
func (j *Job) ReadFiles(ctx context.Context, which func(src accel.Source) bool) error {
	for _, u := range slices.Clone(j.sources) {
		if !which(u.src) {
			continue
		}
		if j.unread[u.h] == u {
			if err := j.readRest(u); err != nil {
				return j.fail(err)
			}
		}
		for _, t := range u.loads {
			if err := t.Wait(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// readRest is readFile for all elements, of data that tasks may not have used.
func (j *Job) readRest(u *unread) error {
	if d := j.data[u.h]; d != nil {
		p, err := j.place(u.h)
		if err != nil {
			return err
		}
		return j.readFile(p)
	}
	whole := boxOf(u.h)
	return j.readBoxes(u, u.h, u.take(&whole))
}

// readBoxes submits tasks that read elements from a source, and drops the source if nothing is left in it. h may be a part with the elements of a box.
func (j *Job) readBoxes(u *unread, h *datamgr.Handle, boxes []Box) error {
	if h.Desc().Rank != u.h.Desc().Rank {
		h = u.h // a part with fewer axes
	}
	for i := range boxes {
		part, err := j.partOf(h, boxes[i])
		if err != nil {
			return err
		}
		lo := boxes[i].Lo[:u.h.Desc().Rank]
		c := &engine.Codelet{Name: "load", Modes: []iface.AccessMode{iface.W}, CPU: []engine.Impl{func(c *engine.TaskContext) error {
			defer u.done()
			whole := u.h.Desc()
			if err := readBox(u.src, &whole, lo, c.Buffer(0)); err != nil {
				return err
			}
			return u.src.Changed()
		}}}
		u.users.Add(1) // if the task is cancelled, the source stays open until Job.Close
		t, err := j.job.SubmitTask(&engine.TaskSpec{Codelet: c, Operands: []engine.Operand{{Handle: part, Mode: iface.W}}, Origin: engine.Origin{Site: u.h.Site()}})
		if err != nil {
			u.done()
			return err
		}
		u.loads = append(slices.DeleteFunc(u.loads, (*engine.Task).Done), t)
	}
	if len(u.left) == 0 {
		j.dropSource(u.h)
	}
	return nil
}

// partOf is partFor for data that tasks may not have used.
func (j *Job) partOf(h *datamgr.Handle, box Box) (*datamgr.Handle, error) {
	switch {
	case boxOf(h) == box:
		return h, nil
	case j.data[h.Root()] != nil:
		return j.partFor(h, box)
	}
	return partOf(j.rt, h.Root(), box)
}

// dropSource notes that nothing will be read any more for data.
func (j *Job) dropSource(root *datamgr.Handle) {
	if u := j.unread[root]; u != nil {
		delete(j.unread, root)
		u.done()
	}
}

// closeSources closes the sources that are open, once all tasks have ended.
func (j *Job) closeSources() {
	for _, u := range j.sources {
		if u.users.Swap(0) > 0 {
			_ = u.src.Close()
		}
	}
}

// readBox fills b, the elements of data from lo on, from the bytes of the data.
func readBox(src io.ReaderAt, d *iface.Desc, lo []int, b *iface.Buffer) error {
	size := int64(d.Elem.Size())
	return d.Runs(lo, b.Shape(), b.Contiguous(), func(first, n, at int) error {
		_, err := src.ReadAt(unsafe.Slice((*byte)(b.At(at)), int64(n)*size), int64(first)*size)
		return err
	})
}

// EachOwn calls fn for the parts of h, a whole datum, that this rank writes to a file of all ranks, or the like: every element is in such a part on exactly one
// rank, and no value travels. lo is the place of the first element of b, which has their value after the tasks submitted so far, for the time of
// the call. All ranks call EachOwn. Its errors, and those of fn, are those of this rank alone, except *engine.UninitError, if elements
// have no value, and *UnsupportedError. In a plan fn is not called.
func (j *Job) EachOwn(ctx context.Context, h *datamgr.Handle, o engine.AcquireOptions, fn func(lo []int, b *iface.Buffer) error) error {
	if err := j.Err(); err != nil {
		return err
	}
	if h == nil || !h.Alive() || h.Parent() != nil {
		return &UnsupportedError{"only data that is registered, and no part of it, has elements that each rank owns"}
	}
	p, err := j.place(h)
	if err != nil {
		return err
	}
	if p.sized {
		return &UnsupportedError{"the ranks do not all know which elements data with a capacity has"}
	}
	if !p.HasValue() && !lazy(h) {
		return j.uninitialised(0, p)
	}
	if err := j.combine(p, false); err != nil {
		return j.fail(err)
	}
	if err := j.initialise(p, int(p.owner)); err != nil {
		return j.fail(err)
	}
	if j.plans {
		a, err := j.job.AcquireWith(ctx, h, iface.R, o)
		if err == nil {
			err = a.Release()
		}
		return err
	}
	var own []Box
	p.each(func(q *piece) {
		rank := int(p.owner)
		if !q.has(rank) {
			rank = q.holders[0]
		}
		if rank == j.rank {
			own = append(own, q.box)
		}
	})
	for i := range own {
		if err := j.withPart(ctx, h, own[i], o, fn); err != nil {
			return err
		}
	}
	return nil
}

// withPart calls fn with the value of some elements of h, which this rank has, or reads from a file.
func (j *Job) withPart(ctx context.Context, h *datamgr.Handle, box Box, o engine.AcquireOptions, fn func(lo []int, b *iface.Buffer) error) error {
	part, err := j.partFor(h, box)
	if err != nil {
		return j.fail(err)
	}
	p := j.data[h].data.Place(box, j.rank)
	p.Handle = h
	if err := j.readFile(p); err != nil {
		return j.fail(err)
	}
	within, end := j.waits(ctx)
	a, err := j.job.AcquireWith(within, part, iface.R, o)
	end()
	if err != nil {
		return err
	}
	return errors.Join(fn(box.Lo[:h.Desc().Rank], a.Buffer()), a.Release())
}
