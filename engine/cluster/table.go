package cluster

import (
	"github.com/starpush/starpush/datamgr"
)

// Tables and hashes of submissions.

// placeTable finds the places of handles: it has one at most for each remainder of their numbers, which is all of them
// as long as the numbers are close together, as those of the parts of a view are.
type placeTable struct {
	slots []*Place // as many as a power of two
	full  int
}

// maxSlots bounds a placeTable.
const maxSlots = 1 << 20

func (t *placeTable) slot(h *datamgr.Handle) *(*Place) { return &t.slots[int(h.ID())&(len(t.slots)-1)] }

// find returns the place of a handle, nil if it is not in t.
func (t *placeTable) find(h *datamgr.Handle) *Place {
	if len(t.slots) == 0 || h == nil {
		return nil
	}
	if p := *t.slot(h); p != nil && p.Handle == h {
		return p
	}
	return nil
}

// add makes find return p, and perhaps others no more.
func (t *placeTable) add(p *Place) {
	if 2*t.full >= len(t.slots) && len(t.slots) < maxSlots {
		old := t.slots
		t.slots, t.full = make([]*Place, max(64, 2*len(old))), 0
		for _, q := range old {
			if q != nil && q.Handle.Alive() {
				t.put(q)
			}
		}
	}
	t.put(p)
}

func (t *placeTable) put(p *Place) {
	at := t.slot(p.Handle)
	if *at == nil {
		t.full++
	}
	*at = p
}

// remove drops the places of data that is unregistered.
func (t *placeTable) remove(d *distributed) {
	for h, p := range d.places {
		if at := t.slot(h); *at == p {
			*at = nil
			t.full--
		}
	}
}

// sequence is a hash of the tasks that were submitted: FNV-1a, of words instead of bytes.
type sequence uint64

const newSequence sequence = 14695981039346656037

func (s sequence) add(word uint64) sequence { return (s ^ sequence(word)) * 1099511628211 }

// addText adds a text, eight bytes at a time.
func (s sequence) addText(text string) sequence {
	n := len(text)
	for ; len(text) >= 8; text = text[8:] {
		s = s.add(uint64(text[0]) | uint64(text[1])<<8 | uint64(text[2])<<16 | uint64(text[3])<<24 |
			uint64(text[4])<<32 | uint64(text[5])<<40 | uint64(text[6])<<48 | uint64(text[7])<<56)
	}
	rest := uint64(n)
	for i := range len(text) {
		rest = rest<<8 | uint64(text[i])
	}
	return s.add(rest)
}

// codeletName is the name of a codelet with its hash, for tasks of one codelet after the other.
type codeletName struct {
	text string
	sum  uint64
}

// hash returns the hash of a name.
func (n *codeletName) hash(text string) uint64 {
	if text != n.text || n.sum == 0 {
		n.text, n.sum = text, uint64(newSequence.addText(text))
	}
	return n.sum
}

// hashPlace returns the hash of the elements of a box of some data, which a rank owns.
func hashPlace(number, owner int, b *Box) uint64 {
	s := newSequence.add(uint64(number)).add(uint64(owner))
	for k := range b.Lo {
		s = s.add(uint64(b.Lo[k])).add(uint64(b.Hi[k]))
	}
	return uint64(s)
}
