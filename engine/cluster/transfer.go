package cluster

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// partOf declares the part of data that is a box.
func partOf(rt *engine.Runtime, root *datamgr.Handle, box Box) (*datamgr.Handle, error) {
	d := root.Desc()
	rank := int(d.Rank)
	v, err := rt.Partition(root, filter.Within(box.Lo[:rank], box.Hi[:rank], filter.Axis(0, 1, 0)))
	if err != nil {
		return nil, err
	}
	return v.Parts[0], nil
}

// send sends the value that h has at this place of the order to another rank. If it was lost, an empty message and one with the
// reason take its place.
func (j *Job) send(h *datamgr.Handle, to int) error {
	if objectOf(h) != nil {
		return j.sendValue(h, to)
	}
	tag, ssend := j.sendTag(to), j.ssend
	d := h.Desc()
	j.figures.count(j.rank, to, fixedBytes(h, d.Bytes()))
	j.transfers.Add(1)
	err := j.job.AcquireFuncWith(h, iface.R, engine.AcquireOptions{Relay: true, Async: true}, func(a *engine.Access, err error) {
		if err == nil {
			j.addContent(j.rank, to, a)
			if data, whole := contiguous(a.Buffer()); whole && len(data) > 0 {
				j.sendFrom(a, data, to, tag, ssend)
				return
			}
		}
		j.watch.starts(1)
		go func() { // what may take longer
			defer j.transfers.Done()
			if err != nil {
				j.sendNow(nil, to, tag)
				sent := j.startSend(j.pack(err), to, tag, false)
				j.watch.starts(-1)
				j.awaitSend(sent)
				return
			}
			data := make([]byte, max(1, a.Buffer().Bytes())) // an empty message means failure
			copyRows(a.Buffer(), data, false)
			if ssend {
				defer a.Release()
			} else {
				_ = a.Release()
			}
			sent := j.startSend(data, to, tag, ssend)
			j.watch.starts(-1)
			j.awaitSend(sent)
		}()
	})
	if err != nil {
		j.transfers.Done()
	}
	return err
}

// sendNow sends a message and returns when its memory is free, or the job has failed. A job that has failed sends what it was to send, or why it
// cannot: a rank that is behind may need that to come as far.
func (j *Job) sendNow(data []byte, to, tag int) { j.awaitSend(j.startSend(data, to, tag, false)) }

// startSend is the first half of sendNow; with ssend the message is one of Comm.Ssend.
func (j *Job) startSend(data []byte, to, tag int, ssend bool) (done chan error) {
	done = make(chan error, 1)
	j.watch.sends(to, tag, false)
	j.post(to, tag, data, func(err error) { done <- err }, ssend)
	return done
}

// post sends data by Comm.Send, or by Comm.Ssend.
func (j *Job) post(to, tag int, data []byte, done func(error), ssend bool) {
	if ssend {
		j.comm.Ssend(to, tag, data, done)
	} else {
		j.comm.Send(to, tag, data, done)
	}
}

// awaitSend is the second half.
func (j *Job) awaitSend(done chan error) {
	select {
	case err := <-done:
		if err != nil {
			_ = j.fail(err)
		}
	case <-j.ctx.Done():
	}
}

// receive gives h, at this place of the order, the value that another rank sends.
func (j *Job) receive(h *datamgr.Handle, from int) error {
	if objectOf(h) != nil {
		return j.receiveValue(h, from)
	}
	tag := nextTag(&j.gotFrom[from])
	d := h.Desc()
	bytes := d.Bytes()
	j.figures.count(from, j.rank, fixedBytes(h, bytes))
	j.transfers.Add(1)
	err := j.job.AcquireFuncWith(h, iface.W, engine.AcquireOptions{Overwrites: true, Async: true}, func(a *engine.Access, err error) {
		if err == nil && j.Err() == nil {
			if data, whole := contiguous(a.Buffer()); whole && len(data) > 0 {
				j.receiveInto(a, data, from, tag)
				return
			}
		}
		j.watch.starts(1)
		go func() {
			defer j.transfers.Done()
			bytes := bytes
			if err == nil {
				bytes = a.Buffer().Bytes() // cut to the content
			}
			data := make([]byte, max(1, bytes))
			j.watch.receives(from, tag, err == nil)
			j.watch.starts(-1)
			n, failed := j.receiveNow(data, from, tag)
			j.watch.received(from, tag, err == nil)
			if failed == nil && (err == nil || n == 0) {
				failed = j.checkReceived(n, len(data), from, tag)
			}
			switch {
			case err != nil: // the message was taken all the same
			case failed != nil:
				_ = a.Fail(failed)
			default:
				j.addContent(from, j.rank, a)
				if bytes > 0 {
					copyRows(a.Buffer(), data, true)
				}
				_ = a.Release()
			}
		}()
	})
	if err != nil {
		j.transfers.Done()
	}
	return err
}

// checkReceived returns why a message of n bytes, instead of want, gives data no value. It may have to wait for the reason.
func (j *Job) checkReceived(n, want, from, tag int) error {
	switch n {
	case want:
		return nil
	case 0:
		packed := make([]byte, maxFailure)
		n, err := j.receiveNow(packed, from, tag)
		if err == nil {
			err = j.unpack(packed[:n], from)
		}
		return err
	}
	return j.fail(fmt.Errorf("cluster: rank %d sent %d bytes for data of %d; the ranks registered different data", from, n, want))
}

func (j *Job) receiveNow(into []byte, from, tag int) (n int, err error) {
	if err := j.Err(); err != nil {
		return 0, err
	}
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1)
	j.comm.Recv(from, tag, into, func(n int, err error) { done <- result{n, err} })
	select {
	case r := <-done:
		if r.err != nil {
			_ = j.fail(r.err)
		}
		return r.n, r.err
	case <-j.ctx.Done():
		return 0, context.Cause(j.ctx)
	}
}

// contiguous returns the bytes of b, if its elements lie without gaps.
func contiguous(b *iface.Buffer) ([]byte, bool) {
	if b.Bytes() == 0 {
		return nil, true
	}
	if !b.Contiguous() {
		return nil, false
	}
	return unsafe.Slice((*byte)(b.Ptr), b.Bytes()), true
}

// copyRows copies the elements of b to bytes in row-major order, or back.
func copyRows(b *iface.Buffer, bytes []byte, back bool) {
	size := b.Elem.Size()
	rank := int(b.Rank)
	row := 1
	if rank > 0 && b.Stride[rank-1] == 1 {
		row = b.Dim[rank-1]
	}
	for i := 0; i < b.Len(); i += row {
		mem := unsafe.Slice((*byte)(b.At(i)), uintptr(row)*size)
		if packed := bytes[uintptr(i)*size:][:len(mem)]; back {
			copy(mem, packed)
		} else {
			copy(packed, mem)
		}
	}
}

// initialise gives the elements of p that have no value the one that they have when they are first read, on one rank, if they have one.
func (j *Job) initialise(p *Place, rank int) error {
	if !lazy(p.Handle) || p.HasValue() {
		return nil
	}
	moves, none := p.Claim(rank)
	if err := j.move(p.Handle, moves); err != nil || rank != j.Rank() || len(none) == 0 || j.plans {
		return err
	}
	// The engine initialises what is read, as elements of p.
	return j.job.AcquireFuncWith(p.Handle, iface.R, engine.AcquireOptions{Relay: true}, func(*engine.Access, error) {})
}

// contribute prepares a rank for tasks that contribute to h. One rank has the value, and its tasks add to that; the others add to the
// neutral element, in their own copies of h, which are the value of nothing until sum.
func (j *Job) contribute(p *Place, rank int) error {
	h := p.Handle
	first := !p.Contributes(rank)
	home, moves, none := p.Contribute(rank)
	if err := j.move(h, moves); err != nil {
		return err
	}
	if j.plans {
		return nil // the one runtime has private copies of its own
	}
	if home == j.Rank() {
		if err := j.readFile(p); err != nil {
			return err
		}
		for _, box := range none {
			part, err := j.partFor(h, box)
			if err != nil {
				return err
			}
			if err := j.writeNeutral(part, h.Reduction()); err != nil {
				return err
			}
		}
	}
	if first && rank == j.Rank() && rank != home {
		return j.writeNeutral(h, h.Reduction())
	}
	return nil
}

// writeNeutral submits a task of this rank that writes the neutral element of r to all of h.
func (j *Job) writeNeutral(h *datamgr.Handle, r *datamgr.Reduction) error {
	c := &engine.Codelet{Name: "neutral element", Modes: []iface.AccessMode{iface.W}, CPU: []engine.Impl{func(c *engine.TaskContext) error {
		return r.Init(c.Buffer(0))
	}}}
	return j.job.Submit(&engine.TaskSpec{Codelet: c, Operands: []engine.Operand{{Handle: h, Mode: iface.W}}})
}

// combiner returns a codelet that adds a contribution to a value.
func combiner(r *datamgr.Reduction) *engine.Codelet {
	return &engine.Codelet{Name: "reduction", Modes: []iface.AccessMode{iface.RW, iface.R}, CPU: []engine.Impl{func(c *engine.TaskContext) error {
		return r.Combine(c.Buffer(0), c.Buffer(1))
	}}}
}

// sum adds what the ranks have contributed to p to its value, in an order that depends on the ranks alone.
func (j *Job) sum(p *Place) error {
	if j.plans {
		_, sums := p.Combine()
		for _, s := range sums {
			j.countPlanned(s.From, s.To, p.Handle, &p.box)
		}
		return nil
	}
	h, reduction := p.Handle, p.Handle.Reduction()
	if !h.Alive() { // its view has ended since
		var err error
		if h, err = j.partFor(h.Root(), p.box); err != nil {
			return err
		}
	}
	_, sums := p.Combine()
	for _, s := range sums {
		switch j.rank {
		case s.From:
			if err := j.send(h, s.To); err != nil {
				return err
			}
		case s.To:
			if err := j.addFrom(h, reduction, s.From); err != nil {
				return err
			}
		}
	}
	return nil
}

// addFrom adds what a rank sends to the value of h.
func (j *Job) addFrom(h *datamgr.Handle, r *datamgr.Reduction, from int) error {
	x, err := j.rt.RegisterLike(h, engine.DataSpec{})
	if err != nil {
		return err
	}
	if err := j.receive(x, from); err != nil {
		return err
	}
	if err := j.job.Submit(&engine.TaskSpec{Codelet: combiner(r), Operands: []engine.Operand{{Handle: h, Mode: iface.RW}, {Handle: x, Mode: iface.R}}}); err != nil {
		return err
	}
	return j.job.Unregister(x)
}
