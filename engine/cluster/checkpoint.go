package cluster

import (
	"context"
	"errors"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// Checkpoints of several ranks: each writes the pieces of data that it got first of all that have them; data with a capacity is written by its owner alone. A program that goes on with as many ranks has each
// piece where it was, so that it goes on as it would have; with another number the owners have the pieces.

// Checkpoint is engine.Job.Checkpoint on all ranks, which write one generation together: see engine.Job.CheckpointGroup. dir is the same folder for all of
// them, and the state is that of rank 0. The error is the same on all ranks if it is that of a file, a *engine.CheckpointError.
func (j *Job) Checkpoint(ctx context.Context, dir string, data []engine.NamedData, state []byte) error {
	if err := j.Err(); err != nil {
		return err
	}
	for _, d := range data {
		if u := j.unread[d.Handle]; u != nil && j.rank == 0 { // which writes all elements that nothing has written: it is the first of their holders
			if err := j.readRest(u); err != nil {
				return j.fail(err)
			}
		}
		if d.Handle == nil || d.Handle.Parent() != nil || !j.placed(d.Handle) {
			continue // CheckpointGroup says what is wrong
		}
		p, err := j.place(d.Handle)
		if err == nil {
			err = j.combine(p, false)
		}
		if err == nil && p.sized { // the owner writes all of it
			if err = j.bringSizes(p, p.Owner()); err == nil {
				err = j.bring(p, p.Owner())
			}
		}
		if err != nil {
			return j.fail(err)
		}
	}
	if err := j.Wait(ctx); err != nil || j.plans {
		return err
	}
	return j.job.CheckpointGroup(ctx, dir, data, state, engine.CheckpointGroup{Rank: j.rank, Size: j.size, Gather: j.Gather, Share: j.share, Numbers: j.known})
}

// placed reports whether h, which is a whole, is data that tasks have used.
func (j *Job) placed(h *datamgr.Handle) bool {
	return j.data[h] != nil && h.Desc().Kind != iface.Void
}

// share returns what this rank writes of h, see engine.CheckpointGroup.
func (j *Job) share(h *datamgr.Handle) (boxes [][2][iface.MaxRank]int, number int) {
	if !j.placed(h) {
		return nil, 0
	}
	d := j.data[h]
	for _, q := range d.data.pieces {
		if d.sizes != nil {
			if p := d.places[h]; len(q.holders) > 0 && p.Owner() == j.rank {
				return [][2][iface.MaxRank]int{savedBox(&p.box, h)}, 1 + d.number
			}
			continue
		}
		if len(q.holders) > 0 && q.holders[0] == j.rank {
			boxes = append(boxes, savedBox(&q.box, h))
		}
	}
	return boxes, 1 + d.number
}

// savedBox returns a box of h as checkpoints have it, in which axes that h does not have are 0 to 0.
func savedBox(b *Box, h *datamgr.Handle) (out [2][iface.MaxRank]int) {
	d := h.Desc()
	for k := range int(d.Rank) {
		out[0][k], out[1][k] = min(b.Lo[k], d.Dim[k]), min(b.Hi[k], d.Dim[k])
	}
	return out
}

// Restore gives data the values that a checkpoint has under their names, on all ranks. They need not be as many as those that wrote it. Each rank reads
// what it will have. The error is a *engine.CheckpointError of the first rank that could not, with one of engine.Checkpoint.Restore, or its text on other ranks.
func (j *Job) Restore(ctx context.Context, c *engine.Checkpoint, data []engine.NamedData) error {
	if err := j.Err(); err != nil {
		return err
	}
	var failed error
	for _, d := range data { // what is wrong with one does not keep this rank from noting what it has of others
		if err := j.restore(ctx, c, d); failed == nil {
			failed = err
		}
	}
	j.known = max(j.known, c.Numbers())
	var text []byte
	if failed != nil {
		text = []byte(failed.Error())
	}
	all, err := j.Gather(ctx, text)
	if err != nil {
		return err
	}
	for r, text := range all {
		switch {
		case len(text) == 0:
		case r == j.rank:
			return &engine.CheckpointError{Rank: r, Err: failed}
		default:
			return &engine.CheckpointError{Rank: r, Err: errors.New(string(text))}
		}
	}
	return nil
}

// restore is Restore for one datum. Data that no task of several ranks has used has its value on all of them.
func (j *Job) restore(ctx context.Context, c *engine.Checkpoint, named engine.NamedData) error {
	h := named.Handle
	number := c.Number(named.Name)
	if h == nil || !h.Alive() || h.Parent() != nil || h.ReadOnly() || h.Desc().Kind == iface.Void || number == 0 && (c.Ranks() > 1 || unsupported(h, j.size) != nil) {
		j.dropSource(h)
		return c.Restore(ctx, j.job, named.Name, h)
	}
	if err := c.RestoreBoxes(ctx, j.job, named.Name, h, nil); err != nil { // it does not fit
		return err
	}
	if number > 0 {
		if err := j.renumber(h, number-1); err != nil {
			return err
		}
	}
	p, err := j.place(h)
	if err != nil {
		return err
	}
	if err := j.combine(p, false); err != nil {
		return err
	}
	d := j.data[h]
	var mine [][2][iface.MaxRank]int
	for _, s := range c.Boxes(named.Name, h) {
		box := p.box // of data without elements, too
		if desc := h.Desc(); desc.Len() > 0 {
			for k := range int(desc.Rank) {
				box.Lo[k], box.Hi[k] = s.Box[0][k], s.Box[1][k]
			}
		}
		homes := []home{{box, s.Rank}}
		switch {
		case p.sized: // the sizes are where all elements are
			homes[0].rank = p.Owner()
			j.wroteSizes(p, p.Owner())
		case c.Ranks() != j.size:
			homes = d.homes(h, box, j.size)
		}
		for i := range homes {
			d.data.Place(homes[i].box, homes[i].rank).Write(homes[i].rank)
			if homes[i].rank == j.rank {
				mine = append(mine, savedBox(&homes[i].box, h))
			}
		}
	}
	return c.RestoreBoxes(ctx, j.job, named.Name, h, mine)
}

// renumber gives h the number that it had in the run that wrote a checkpoint: owners follow from that.
func (j *Job) renumber(h *datamgr.Handle, number int) error {
	if d := j.data[h]; d != nil {
		j.table.remove(d)
		delete(j.data, h)
	}
	known := j.known
	j.known = number
	_, err := j.place(h)
	j.known = max(known, j.known)
	return err
}

// home is elements and a rank that gets them.
type home struct {
	box  Box
	rank int
}

// homes deals the elements of a box to the ranks that own them: those of parts of views, and otherwise the one that owns the whole, h.
func (d *distributed) homes(h *datamgr.Handle, box Box, size int) (out []home) {
	rest := []Box{box}
	var deal func(h *datamgr.Handle)
	deal = func(h *datamgr.Handle) {
		for _, v := range h.Views() {
			for _, part := range v.Parts {
				if emptyPart(part) || d.boxes[boxOf(part)] == part { // the view of a message: others lack it
					continue
				}
				deal(part) // what is smaller is what tasks use
				out, rest = take(out, rest, boxOf(part), d.owner(part, size))
			}
		}
	}
	deal(h)
	out, _ = take(out, rest, box, d.owner(h, size))
	return out
}

// take moves what is in box from rest to out.
func take(out []home, rest []Box, box Box, rank int) ([]home, []Box) {
	var left []Box
	for i := range rest {
		if !rest[i].touches(&box) {
			left = append(left, rest[i])
			continue
		}
		inside, others := rest[i].cut(&box)
		out, left = append(out, home{inside, rank}), append(left, others...)
	}
	return out, left
}
