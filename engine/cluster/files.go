package cluster

import (
	"context"
	"errors"
	"fmt"
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
	left  []Box        // elements that this rank has neither read nor needed so far
	users atomic.Int64 // tasks that read src, and 1 for the job; the last one closes src
}

// maxSources bounds the files that a job keeps open.
const maxSources = 100

// RegisterFrom declares data whose first value is the bytes of src, on all ranks, which have sources with the same bytes. Each rank reads elements when they are first
// needed there: by its tasks, by Acquire, or by Checkpoint. The job owns src, and closes it once nothing needs it any more, also if it returns
// an error. A task that cannot read them fails, as does every use of the elements after it. The bytes must not change during the run.
//
// A job that has many sources open reads the next one at once.
func (j *Job) RegisterFrom(spec engine.DataSpec, src accel.Source) (*datamgr.Handle, error) {
	j.sources = slices.DeleteFunc(j.sources, func(u *unread) bool { return u.users.Load() == 0 })
	if slices.Contains(spec.Dims, 0) || len(j.sources) >= maxSources {
		h, err := j.rt.RegisterFilled(spec, func(b *iface.Buffer) error {
			if b.Len() == 0 {
				return nil
			}
			var whole Box
			for k := range whole.Hi {
				whole.Hi[k] = max(1, b.Dim[k])
			}
			return readBox(src, &b.Desc, &whole, b)
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
	if !slices.ContainsFunc(u.left, func(b Box) bool { return b.touches(box) }) {
		return nil
	}
	var left []Box
	for i := range u.left {
		if !u.left[i].touches(box) {
			left = append(left, u.left[i])
			continue
		}
		inside, rest := u.left[i].cut(box)
		taken, left = append(taken, inside), append(left, rest...)
	}
	u.left = left
	return taken
}

// readFile submits the tasks that read those elements of p from a file which this rank needs and has not read. It is called before a use of p on this
// rank, at its place in the order.
func (j *Job) readFile(p *Place) error {
	u := j.unread[p.Handle.Root()]
	if u == nil {
		return nil
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
	return j.readBoxes(u, boxes)
}

// ReadFiles reads what this rank has not read of data with a source for which which returns true, and waits for it: the file may be replaced
// then. Ranks may call it or not.
func (j *Job) ReadFiles(ctx context.Context, which func(h *datamgr.Handle) bool) error {
	var all []*datamgr.Handle
	for _, u := range j.sources {
		if j.unread[u.h] != u || !which(u.h) {
			continue
		}
		if err := j.readRest(u); err != nil {
			return j.fail(err)
		}
		all = append(all, u.h)
	}
	if len(all) == 0 {
		return nil
	}
	return j.job.WaitHandles(ctx, all...)
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
	return j.readBoxes(u, u.take(&whole))
}

// readBoxes submits tasks that read elements from a source, and drops the source if nothing is left in it.
func (j *Job) readBoxes(u *unread, boxes []Box) error {
	for i := range boxes {
		part, err := j.partOf(u.h, boxes[i])
		if err != nil {
			return err
		}
		box := boxes[i]
		c := &engine.Codelet{Name: "load", Modes: []iface.AccessMode{iface.W}, CPU: []engine.Impl{func(c *engine.TaskContext) error {
			defer u.done()
			whole := u.h.Desc()
			if err := readBox(u.src, &whole, &box, c.Buffer(0)); err != nil {
				return err
			}
			return u.src.Changed()
		}}}
		u.users.Add(1) // a task that is cancelled leaves the source to Close
		if err := j.job.Submit(&engine.TaskSpec{Codelet: c, Operands: []engine.Operand{{Handle: part, Mode: iface.W}}, Origin: engine.Origin{Site: u.h.Site()}}); err != nil {
			u.done()
			return err
		}
	}
	if len(u.left) == 0 {
		j.dropSource(u.h)
	}
	return nil
}

// partOf is partFor for data that tasks may not have used.
func (j *Job) partOf(root *datamgr.Handle, box Box) (*datamgr.Handle, error) {
	switch {
	case boxOf(root) == box:
		return root, nil
	case j.data[root] != nil:
		return j.partFor(root, box)
	}
	return partOf(j.rt, root, box)
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

// readBox fills b, which is the elements in box of data as d says, from the bytes of the data.
func readBox(src io.ReaderAt, d *iface.Desc, box *Box, b *iface.Buffer) error {
	size := int64(d.Elem.Size())
	return eachRun(d, box, b.Contiguous(), func(first, n, at int) error {
		off := 0
		for axis, rest := int(b.Rank)-1, at; axis >= 0; axis-- {
			off += rest % b.Dim[axis] * b.Stride[axis]
			rest /= b.Dim[axis]
		}
		line := unsafe.Slice((*byte)(unsafe.Add(b.Ptr, int64(off)*size)), int64(n)*size)
		_, err := src.ReadAt(line, int64(first)*size)
		return err
	})
}

// eachRun calls fn with the elements of a box of data: n elements from number first of the data on, in row-major order, are those from number at
// of the box on. A run is a line along the last axis or, if joined, as long as it can be.
func eachRun(d *iface.Desc, box *Box, joined bool, fn func(first, n, at int) error) error {
	total := box.Elements()
	if total == 0 {
		return nil
	}
	rank := int(d.Rank)
	run := 1
	for k := rank - 1; k >= 0; k-- {
		run *= box.Hi[k] - box.Lo[k]
		if !joined || box.Lo[k] > 0 || box.Hi[k] < d.Dim[k] {
			break
		}
	}
	for at := 0; at < total; at += run {
		first, stride := 0, 1
		for k, rest := rank-1, at; k >= 0; k-- {
			n := box.Hi[k] - box.Lo[k]
			first += (box.Lo[k] + rest%n) * stride
			rest, stride = rest/n, stride*d.Dim[k]
		}
		if err := fn(first, run, at); err != nil {
			return err
		}
	}
	return nil
}

// EachOwn calls fn for elements of h that this rank is to put elsewhere, such as into a file that all ranks write: every element of h is on one
// rank in such a call, and no value travels. box is counted from the first element of h, and b is the value of these elements after the tasks submitted so
// far, for the time of the call. All ranks call EachOwn. Errors, and those of fn, are those of this rank alone, until Agree gives them to all; *engine.UninitError, if elements
// have no value, is one on all ranks.
func (j *Job) EachOwn(ctx context.Context, h *datamgr.Handle, o engine.AcquireOptions, fn func(box Box, b *iface.Buffer) error) error {
	if err := j.Err(); err != nil {
		return err
	}
	if h == nil || !h.Alive() || emptyPart(h) {
		return fmt.Errorf("cluster: the data has no elements, or is no longer registered")
	}
	p, err := j.place(h)
	if err != nil {
		return err
	}
	if p.sized {
		return &UnsupportedError{"data with a capacity has no elements that are known to all ranks"}
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
	var mine []Box
	p.each(func(q *piece) {
		writer := int(p.owner)
		if !q.has(writer) {
			writer = q.holders[0]
		}
		if writer == j.rank {
			inside, _ := q.box.cut(&p.box)
			mine = append(mine, inside)
		}
	})
	for _, box := range mine {
		if err := j.withPart(ctx, h, box, o, fn); err != nil {
			return err
		}
	}
	return nil
}

// withPart calls fn with the value of some elements of h, which this rank has, or reads from a file.
func (j *Job) withPart(ctx context.Context, h *datamgr.Handle, box Box, o engine.AcquireOptions, fn func(box Box, b *iface.Buffer) error) error {
	part, err := j.partFor(h, box)
	if err != nil {
		return j.fail(err)
	}
	own := j.data[h.Root()].data.Place(box, j.rank)
	own.Handle = h
	if err := j.readFile(own); err != nil {
		return j.fail(err)
	}
	within, end := j.waits(ctx)
	a, err := j.job.AcquireWith(within, part, iface.R, o)
	end()
	if err != nil {
		return err
	}
	lo, _ := h.Place()
	for k := range box.Lo {
		box.Lo[k], box.Hi[k] = box.Lo[k]-lo[k], box.Hi[k]-lo[k]
	}
	return errors.Join(fn(box, a.Buffer()), a.Release())
}
