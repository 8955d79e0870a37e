package cluster

import (
	"cmp"
	"slices"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

// Box is the elements Lo ≤ i < Hi of data. Axes that the data does not have are 0 to 1.
type Box struct{ Lo, Hi [iface.MaxRank]int }

// Elements returns the number of elements of b.
func (b *Box) Elements() int {
	n := 1
	for k := range b.Lo {
		n *= b.Hi[k] - b.Lo[k]
	}
	return n
}

func (b *Box) touches(o *Box) bool {
	for k := range b.Lo {
		if b.Lo[k] >= o.Hi[k] || o.Lo[k] >= b.Hi[k] {
			return false
		}
	}
	return true
}

func (b *Box) within(o *Box) bool {
	for k := range b.Lo {
		if b.Lo[k] < o.Lo[k] || b.Hi[k] > o.Hi[k] {
			return false
		}
	}
	return true
}

// hull returns the smallest box that has b and o.
func (b *Box) hull(o *Box) Box {
	h := *b
	for k := range h.Lo {
		h.Lo[k], h.Hi[k] = min(h.Lo[k], o.Lo[k]), max(h.Hi[k], o.Hi[k])
	}
	return h
}

// cut returns the part of b in o, which it touches, and what is left of b, in at most two boxes for each axis.
func (b *Box) cut(o *Box) (inside Box, rest []Box) {
	inside = *b
	for k := range b.Lo {
		if lo := o.Lo[k]; inside.Lo[k] < lo {
			r := inside
			r.Hi[k], inside.Lo[k] = lo, lo
			rest = append(rest, r)
		}
		if hi := o.Hi[k]; inside.Hi[k] > hi {
			r := inside
			r.Lo[k], inside.Hi[k] = hi, hi
			rest = append(rest, r)
		}
	}
	return inside, rest
}

// Data is a directory of the ranks that have the value of data, element by element. All ranks have the same directory, as all
// see the same accesses. It is not safe for concurrent use.
type Data struct {
	pieces []*piece // without overlap; together they are the data
	sums   []*Place // places with contributions that were not combined
	found  []*piece // for the calls of each that change pieces
	writes int      // so far: the value that the last one wrote
}

// piece is elements that the same ranks have, and that were written together.
type piece struct {
	low     uint64   // the holders below 64, as a set
	alone   int32    // 1 + the only holder; 0: there are none, or several
	gone    bool     // it was cut, or replaced by a larger one
	high    []uint64 // the holders from 64 on, as a set
	holders []int    // in the order in which they got the value; none: there is no value
	value   int      // the number of the write; 0: the value from the start
	box     Box
}

func newPiece(box Box, value int, holders []int) *piece {
	q := &piece{box: box, value: value}
	q.give(holders...)
	return q
}

// has reports whether a rank holds q.
func (q *piece) has(rank int) bool {
	if rank < 64 {
		return q.low>>rank&1 != 0
	}
	at := rank/64 - 1
	return at < len(q.high) && q.high[at]>>(rank%64)&1 != 0
}

// give adds holders.
func (q *piece) give(ranks ...int) {
	q.holders = append(q.holders, ranks...)
	for _, r := range ranks {
		if r < 64 {
			q.low |= 1 << r
			continue
		}
		for len(q.high) < r/64 {
			q.high = append(q.high, 0)
		}
		q.high[r/64-1] |= 1 << (r % 64)
	}
	if q.alone = 0; len(q.holders) == 1 {
		q.alone = int32(q.holders[0]) + 1
	}
}

// giveOnly makes ranks the only holders.
func (q *piece) giveOnly(ranks ...int) {
	q.low, q.holders = 0, q.holders[:0]
	clear(q.high)
	q.give(ranks...)
}

// Everywhere returns the holders of data that all ranks have from the start.
func Everywhere(size int) []int {
	all := make([]int, size)
	for r := range all {
		all[r] = r
	}
	return all
}

// NewData returns the directory of data whose value is on the ranks in holders, nil for no value.
func NewData(box Box, holders []int) *Data {
	return &Data{pieces: []*piece{newPiece(box, 0, holders)}}
}

// Pieces returns into how many pieces the data is cut: the elements of one are on the same ranks.
func (d *Data) Pieces() int { return len(d.pieces) }

// Place is elements of data that tasks use: a handle.
//
// A place begins at a line of the cache, and a submission looks at nothing else of it: the piece of its elements is in that line,
// too, unless they were cut. Spread over three lines, a task that another rank runs cost 5 ns more.
type Place struct {
	Handle *datamgr.Handle // of the elements; the directory does not look at it

	data  *Data
	hash  uint64 // of the data and the box
	cover *piece // a piece that has all of the box; nil, or gone: look for it
	bytes int    // of its elements
	owner int32
	exact bool // cover is no more than the box
	empty bool // a part without elements
	used  bool // own is or was a piece of data
	sized bool // of data with a capacity
	// unread: this rank may have to read elements from a file before it uses them.
	unread bool
	own    piece

	box          Box
	home         int // the rank that has what contributions are added to
	contributors []int

	_ [32]byte
}

// Place returns the place of a box of d, which a rank owns.
func (d *Data) Place(box Box, owner int) *Place {
	return &Place{data: d, box: box, owner: int32(owner)}
}

// Owner returns the rank that owns p.
func (p *Place) Owner() int { return int(p.owner) }

// Box returns the elements of p.
func (p *Place) Box() Box { return p.box }

// whole returns the piece that has all of p, nil for none, or if it was not looked for.
func (p *Place) whole() *piece {
	if p.cover != nil && !p.cover.gone {
		return p.cover
	}
	return nil
}

// on reports whether it is known without a search that a rank has the value of p.
func (p *Place) on(rank int) bool {
	q := p.whole()
	return q != nil && q.has(rank)
}

// allOn reports whether a rank has all elements of p that have a value.
func (p *Place) allOn(rank int) bool {
	has := true
	p.each(func(q *piece) { has = has && (len(q.holders) == 0 || q.has(rank)) })
	return has
}

// each calls fn with the pieces that touch p.
func (p *Place) each(fn func(*piece)) {
	if q := p.whole(); q != nil {
		fn(q)
		return
	}
	for _, q := range p.data.pieces {
		if !q.box.touches(&p.box) {
			continue
		}
		if fn(q); p.box.within(&q.box) {
			p.cover, p.exact = q, p.box == q.box
			return
		}
	}
}

// HasValue reports whether all elements of p have a value somewhere, or will have one once contributions are combined.
func (p *Place) HasValue() bool {
	q := p.cover
	return q != nil && !q.gone && (q.low != 0 || len(q.holders) > 0) || p.hasValue()
}

// hasValue is HasValue with a search.
func (p *Place) hasValue() bool {
	ok := true
	p.each(func(q *piece) {
		ok = ok && (len(q.holders) > 0 || slices.ContainsFunc(p.data.sums, func(o *Place) bool {
			inside, _ := q.box.cut(&p.box)
			return inside.within(&o.box)
		}))
	})
	return ok
}

// Move is elements that one rank sends to another.
type Move struct {
	Box      Box
	From, To int

	value int // that was written at once, and can only be lost as a whole
}

// Read gives a rank the value of p, and returns what has to be sent for that. Elements without a value stay without.
//
// The n-th rank that gets a value gets it from rank n - 2^k of those that have it, with the largest k: when many ranks
// read a value, the messages are a binomial tree.
func (p *Place) Read(rank int) (moves []Move) { return p.read(rank, nil) }

// read is Read that appends to moves.
func (p *Place) read(rank int, moves []Move) []Move {
	moves, _ = p.give(rank, false, moves)
	return moves
}

// give is read for elements that may have no value: these are in none, and with fresh they are taken to have one on that rank then.
func (p *Place) give(rank int, fresh bool, moves []Move) (_ []Move, none []Box) {
	lacks, first := p.data.found[:0], len(moves)
	if q := p.whole(); q == nil {
		p.each(func(q *piece) {
			if !q.has(rank) {
				lacks = append(lacks, q)
			}
		})
	} else if !q.has(rank) {
		lacks = append(lacks, q)
	}
	p.data.found = lacks
	for _, q := range lacks {
		if !q.box.within(&p.box) {
			q = p.data.split(q, &p.box)
		}
		if n := len(q.holders); n == 0 {
			if none = append(none, q.box); !fresh {
				continue
			}
		} else {
			top := 1
			for 2*top <= n {
				top *= 2
			}
			moves = append(moves, Move{q.box, q.holders[n-top], rank, q.value})
		}
		q.give(rank)
	}
	if len(moves) > first+1 {
		moves = append(moves[:first], joinMoves(moves[first:])...)
	}
	return moves, none
}

// joinMoves makes fewer moves of those to one rank: a value that was cut for other tasks travels in one piece if one rank has all of
// it. Values of different tasks do not, as each may be lost alone. The result has the memory of moves.
func joinMoves(moves []Move) []Move {
	slices.SortStableFunc(moves, func(a, b Move) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.value, b.value)) })
	out := moves[:0]
	for len(moves) > 0 {
		n := 1
		hull, elements := moves[0].Box, moves[0].Box.Elements()
		for n < len(moves) && moves[n].From == moves[0].From && moves[n].value == moves[0].value {
			hull = hull.hull(&moves[n].Box)
			elements += moves[n].Box.Elements()
			n++
		}
		group := moves[:n]
		moves = moves[n:]
		if elements == hull.Elements() {
			group[0].Box = hull
			out = append(out, group[0])
			continue
		}
		for k := len(hull.Lo) - 1; k >= 0 && len(group) > 1; k-- {
			if hull.Hi[k]-hull.Lo[k] > 1 {
				group = joinAlong(group, k)
			}
		}
		out = append(out, group...)
	}
	return out
}

// joinAlong joins moves whose boxes are side by side along an axis, and puts them in the order of their boxes.
func joinAlong(moves []Move, axis int) []Move {
	slices.SortFunc(moves, func(a, b Move) int {
		for k := range a.Box.Lo {
			if k != axis {
				if c := cmp.Or(cmp.Compare(a.Box.Lo[k], b.Box.Lo[k]), cmp.Compare(a.Box.Hi[k], b.Box.Hi[k])); c != 0 {
					return c
				}
			}
		}
		return cmp.Compare(a.Box.Lo[axis], b.Box.Lo[axis])
	})
	out := moves[:1]
	for i := range moves[1:] {
		next, last := &moves[1+i].Box, &out[len(out)-1].Box
		joined := last.hull(next)
		if last.Hi[axis] == next.Lo[axis] && joined.Elements() == last.Elements()+next.Elements() {
			*last = joined
			continue
		}
		out = append(out, moves[1+i])
	}
	return out
}

// split cuts q at the borders of box and returns the piece that is inside.
func (d *Data) split(q *piece, box *Box) *piece {
	inside, rest := q.box.cut(box)
	q.gone = true
	d.pieces = slices.DeleteFunc(d.pieces, func(o *piece) bool { return o == q })
	in := newPiece(inside, q.value, q.holders)
	d.pieces = append(d.pieces, in)
	for _, r := range rest {
		d.pieces = append(d.pieces, newPiece(r, q.value, q.holders))
	}
	return in
}

// Write makes ranks the only ones that have a value of p, a new one.
func (p *Place) Write(ranks ...int) {
	p.data.writes++
	if q := p.whole(); q != nil && p.exact {
		q.value = p.data.writes
		if len(ranks) != 1 || q.alone != int32(ranks[0])+1 {
			q.giveOnly(ranks...)
		}
		return
	}
	d := p.data
	touched := d.found[:0]
	p.each(func(q *piece) { touched = append(touched, q) })
	d.found = touched
	if len(touched) == 1 && touched[0].box == p.box {
		touched[0].giveOnly(ranks...)
		touched[0].value = d.writes
		return
	}
	for _, q := range touched {
		if !q.box.within(&p.box) {
			q = d.split(q, &p.box)
		}
		q.gone = true
	}
	d.pieces = slices.DeleteFunc(d.pieces, func(q *piece) bool { return q.gone })
	if p.cover, p.exact = &p.own, true; p.used {
		p.cover = new(piece) // another place may still know the own one, as gone
	}
	p.used = true
	p.cover.box, p.cover.value = p.box, d.writes
	p.cover.give(ranks...)
	d.pieces = append(d.pieces, p.cover)
}

// Source returns the rank that has the first element of p, and the owner of p if none has.
func (p *Place) Source() int {
	rank, found := int(p.owner), false
	p.each(func(q *piece) {
		if len(q.holders) == 0 || found {
			return
		}
		for k := range q.box.Lo {
			if p.box.Lo[k] < q.box.Lo[k] {
				return
			}
		}
		rank, found = q.holders[0], true
	})
	return rank
}

// Claim is Read that makes a rank the one that has a value of the elements that have none, which are in none.
func (p *Place) Claim(rank int) (moves []Move, none []Box) { return p.give(rank, true, nil) }

// Contribute notes that a rank adds to p, and returns the rank where the contributions are added to the value: the first that
// contributes if it has all that has a value, else one that has the first element, or the owner. The value is on that rank if moves were carried
// out. Elements in none have no value: the contributions are their value.
func (p *Place) Contribute(rank int) (home int, moves []Move, none []Box) {
	if p.contributors == nil {
		if p.home = rank; !p.allOn(rank) {
			p.home = p.Source()
		}
		moves, none = p.give(p.home, true, nil)
		p.contributors = make([]int, 0, 4)
		p.data.sums = append(p.data.sums, p)
	}
	if at, found := slices.BinarySearch(p.contributors, rank); !found {
		p.contributors = slices.Insert(p.contributors, at, rank)
	}
	return p.home, moves, none
}

// Contributes reports whether a rank has contributed to p since the last Combine.
func (p *Place) Contributes(rank int) bool { return slices.Contains(p.contributors, rank) }

// Open returns the places that touch p, other than p itself if it is to be left out, which have contributions that were not combined.
func (p *Place) Open(without bool) (open []*Place) {
	for _, o := range p.data.sums {
		if o.box.touches(&p.box) && !(without && o == p) {
			open = append(open, o)
		}
	}
	return open
}

// Sum is an addition of what one rank has contributed to what another one has.
type Sum struct{ From, To int }

// Combine ends the contributions to p: home is the only rank with a value then. That takes the sums, in their order: a
// binomial tree over home and the other contributors, so that no rank gets more than the logarithm of their number.
func (p *Place) Combine() (home int, sums []Sum) {
	home = p.home
	ranks := append(make([]int, 0, len(p.contributors)+1), home)
	for _, r := range p.contributors {
		if r != home {
			ranks = append(ranks, r)
		}
	}
	for step := 1; step < len(ranks); step *= 2 {
		for i := 0; i+step < len(ranks); i += 2 * step {
			sums = append(sums, Sum{From: ranks[i+step], To: ranks[i]})
		}
	}
	p.contributors = nil
	p.data.sums = slices.DeleteFunc(p.data.sums, func(o *Place) bool { return o == p })
	p.Write(home)
	return home, sums
}
