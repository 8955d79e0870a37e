package cluster

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// Data with a capacity on several ranks. The sizes of its content are a value of their own, which the directory follows as it follows elements: a task
// that writes the whole data may have set them, so its rank is the only one that has them then, and another rank gets them before it uses any
// part of the data. They come before the elements, so that both ends cut a message to the content, and only elements in use travel.

// sizesPlace returns the directory of the sizes of new data, nil if they are fixed. Sizes from the registration are on all ranks.
func sizesPlace(root *datamgr.Handle, size int) *Place {
	if !root.Resizable() {
		return nil
	}
	var box Box
	for k := range box.Hi {
		box.Hi[k] = 1
	}
	return NewData(box, Everywhere(size)).Place(box, 0)
}

// bringSizes gives ranks the sizes of the data of p, at this place of the order.
func (j *Job) bringSizes(p *Place, ranks ...int) error {
	if !p.sized {
		return nil
	}
	root := p.Handle.Root()
	room := root.Desc()
	for _, rank := range ranks {
		for _, m := range j.data[root].sizes.Read(rank) {
			if !j.plans && m.From != j.rank && m.To != j.rank {
				continue
			}
			j.figures.count(m.From, m.To, 8*int64(room.Rank))
			var err error
			switch {
			case j.plans:
			case m.From == j.rank:
				err = j.sendSizes(root, m.To)
			default:
				err = j.receiveSizes(root, m.From)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// wroteSizes notes that ranks have new sizes of the data of p, if a use of p can set them.
func (j *Job) wroteSizes(p *Place, ranks ...int) {
	if p.sized && p.Handle.Parent() == nil {
		d := j.data[p.Handle]
		d.grows = true
		d.sizes.Write(ranks...)
	}
}

// sendSizes sends the sizes that h, which is whole, has at this place of the order. A task that failed has left those from before.
func (j *Job) sendSizes(h *datamgr.Handle, to int) error {
	tag := j.sendTag(to)
	j.transfers.Add(1)
	err := j.job.AcquireFuncWith(h, iface.R, engine.AcquireOptions{OrderOnly: true, Relay: true}, func(a *engine.Access, err error) {
		defer j.transfers.Done()
		if err != nil {
			j.sendNow(nil, to, tag)
			j.sendNow(j.pack(err), to, tag)
			return
		}
		var b []byte
		content := h.Content()
		for _, n := range content.Shape() {
			b = binary.LittleEndian.AppendUint64(b, uint64(n))
		}
		_ = a.Release()
		j.sendNow(b, to, tag)
	})
	if err != nil {
		j.transfers.Done()
	}
	return err
}

// receiveSizes gives h, which is whole, the sizes that another rank sends. Elements of h keep their values.
func (j *Job) receiveSizes(h *datamgr.Handle, from int) error {
	tag := nextTag(&j.gotFrom[from])
	j.transfers.Add(1)
	err := j.job.AcquireFuncWith(h, iface.W, engine.AcquireOptions{OrderOnly: true}, func(a *engine.Access, err error) {
		defer j.transfers.Done()
		room := h.Desc()
		dims := make([]int, room.Rank)
		b := make([]byte, 8*len(dims))
		j.watch.receives(from, tag, err == nil)
		n, failed := j.receiveNow(b, from, tag)
		j.watch.received(from, tag, err == nil)
		if failed == nil && n == 0 {
			failed = j.receiveFailure(from, tag)
		}
		if err != nil { // the message was taken all the same
			return
		}
		for k := range dims {
			dims[k] = int(binary.LittleEndian.Uint64(b[8*k:]))
		}
		if failed == nil {
			failed = datamgr.Managed{Handle: h}.Resize(dims, nil, 0)
			if n != len(b) || failed != nil {
				failed = j.fail(fmt.Errorf("cluster: rank %d sent %d bytes that are no sizes of %v; the ranks registered different data", from, n, &room))
			}
		}
		if failed != nil {
			_ = a.Fail(failed)
		}
	})
	if err != nil {
		j.transfers.Done()
	}
	return err
}

// Content gives all ranks the sizes that h, data with a capacity or a part of it, has after the tasks submitted so far, and returns them as
// datamgr.Handle.Content does: all ranks call it. In a plan it does not wait.
func (j *Job) Content(ctx context.Context, h *datamgr.Handle) (iface.Desc, error) {
	if err := j.Err(); err != nil || h == nil {
		return iface.Desc{}, err
	}
	if !h.Resizable() || emptyPart(h) {
		return h.Content(), nil
	}
	p, err := j.place(h)
	if err != nil {
		return iface.Desc{}, err
	}
	if err := j.bringSizes(p, Everywhere(j.size)...); err != nil {
		return iface.Desc{}, j.fail(err)
	}
	if j.plans {
		return h.Content(), nil
	}
	within, end := j.waits(ctx)
	a, err := j.job.AcquireWith(within, h, iface.R, engine.AcquireOptions{OrderOnly: true})
	end()
	if err != nil {
		if lost := j.Err(); lost != nil {
			err = lost
		}
		return iface.Desc{}, err
	}
	d := h.Content()
	return d, a.Release()
}

// fixedBytes returns how many of the bytes of h are known to be sent when a message is decided: with a capacity none, as the content is not known.
func fixedBytes(h *datamgr.Handle, bytes int64) int64 {
	if h.Resizable() {
		return 0
	}
	return bytes
}

// addContent counts the bytes of a message with the content of what a holds, which fixedBytes has left out.
func (j *Job) addContent(from, to int, a *engine.Access) {
	if a.Handle().Resizable() {
		j.figures.addBytes(from, to, a.Buffer().Bytes())
	}
}
