package graph

// Layout in layers: a node lies below all nodes that it depends on. Nodes of a layer are
// moved until few edges cross (the barycentre method of Sugiyama), then until edges are
// short.

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// layers gives every node its layer: the most nodes above it.
func (d *drawing) layers() (n int) {
	in := make([]int, len(d.nodes))
	out := make([][]int, len(d.nodes))
	for _, e := range d.edges {
		in[e.to]++
		out[e.from] = append(out[e.from], e.to)
	}
	var queue []int
	done := make([]bool, len(d.nodes))
	began := 0 // all before it is done, or in the queue
	for i := range in {
		d.nodes[i].layer = 0
		if in[i] == 0 {
			queue = append(queue, i)
		}
	}
	for left := len(d.nodes); left > 0; {
		if len(queue) == 0 { // a circle: of codelets in a loop, or data updated in turn; it is cut where it began
			for done[began] || in[began] == 0 {
				began++
			}
			in[began] = 0
			queue = append(queue, began)
		}
		i := queue[0]
		queue = queue[1:]
		done[i] = true
		left--
		n = max(n, d.nodes[i].layer+1)
		for _, k := range out[i] {
			if done[k] {
				continue
			}
			d.nodes[k].layer = max(d.nodes[k].layer, d.nodes[i].layer+1)
			if in[k]--; in[k] == 0 {
				queue = append(queue, k)
			}
		}
	}
	return n
}

// sink moves what depends on nothing down to where it is needed first.
func (d *drawing) sink() {
	first := make([]int, len(d.nodes))
	source := make([]bool, len(d.nodes))
	for i := range source {
		source[i], first[i] = true, math.MaxInt
	}
	for _, e := range d.edges {
		source[e.to] = false
		first[e.from] = min(first[e.from], d.nodes[e.to].layer)
	}
	for i := range d.nodes {
		if source[i] && first[i] < math.MaxInt {
			d.nodes[i].layer = max(0, first[i]-1)
		}
	}
}

// reduce drops edges that others imply.
func (d *drawing) reduce() {
	n := len(d.nodes)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return d.nodes[order[a]].layer < d.nodes[order[b]].layer })
	words := (n + 63) / 64
	above := make([][]uint64, n) // all that a node is below
	in := make([][]int, n)       // edges
	for k, e := range d.edges {
		if d.nodes[e.from].layer < d.nodes[e.to].layer {
			in[e.to] = append(in[e.to], k)
		}
	}
	drop := make([]bool, len(d.edges))
	for _, i := range order {
		above[i] = make([]uint64, words)
		slices.SortFunc(in[i], func(a, b int) int {
			return cmp.Compare(d.nodes[d.edges[b].from].layer, d.nodes[d.edges[a].from].layer)
		})
		for _, k := range in[i] {
			from := d.edges[k].from
			if above[i][from/64]&(1<<(from%64)) != 0 {
				drop[k] = true
				continue
			}
			above[i][from/64] |= 1 << (from % 64)
			for w := range words {
				above[i][w] |= above[from][w]
			}
		}
	}
	kept := d.edges[:0]
	for k, e := range d.edges {
		if !drop[k] {
			kept = append(kept, e)
		}
	}
	d.edges = kept
}

// spot is a place in a layer: a node, or where a long edge passes.
type spot struct {
	node  int // -1: an edge passes
	width float64
	room  float64 // that it takes of its row, with the gap beside it
	line  int     // of a row that is wrapped
	x     float64 // of its middle
	up    []*spot
	down  []*spot
	layer int
	place int
}

// placed is a drawing with its places.
type placed struct {
	spots  []*spot // by node
	rows   [][]*spot
	routes [][]*spot // by edge: from its first to its last node
	lines  []int     // by row: over how many lines its nodes go
	width  float64
}

// place finds the places of all nodes. width says how wide a node is.
func (d *drawing) place(layers int, width func(*node) float64) *placed {
	p := &placed{rows: make([][]*spot, layers)}
	add := func(s *spot) *spot {
		s.place = len(p.rows[s.layer])
		p.rows[s.layer] = append(p.rows[s.layer], s)
		return s
	}
	for i := range d.nodes {
		n := &d.nodes[i]
		p.spots = append(p.spots, add(&spot{node: i, width: width(n), layer: n.layer}))
	}
	link := func(a, b *spot) {
		a.down, b.up = append(a.down, b), append(b.up, a)
	}
	for _, e := range d.edges {
		a, b := p.spots[e.from], p.spots[e.to]
		route := []*spot{a}
		if a.layer < b.layer {
			for l := a.layer + 1; l < b.layer; l++ {
				s := add(&spot{node: -1, width: 10, layer: l})
				link(route[len(route)-1], s)
				route = append(route, s)
			}
			link(route[len(route)-1], b)
		}
		p.routes = append(p.routes, append(route, b))
	}
	for round := range 12 {
		for k := range p.rows {
			l, near := k, func(s *spot) []*spot { return s.up }
			if round%2 == 1 {
				l, near = layers-1-k, func(s *spot) []*spot { return s.down }
			}
			p.sortRow(l, near)
		}
	}
	p.wrap()
	p.coordinates(d.folded)
	return p
}

// wrap lays the nodes of rows that are too wide over several lines, in turn, so that
// neighbours stay neighbours.
func (p *placed) wrap() {
	p.lines = make([]int, len(p.rows))
	for l, row := range p.rows {
		sum, widest := 0.0, 0.0
		for _, s := range row {
			if s.room = s.width + gap; s.node >= 0 {
				sum, widest = sum+s.room, max(widest, s.room)
			}
		}
		if p.lines[l] = 1; sum <= rowWidth {
			continue
		}
		n := int(math.Ceil(sum / rowWidth))
		p.lines[l] = n
		k := 0
		for _, s := range row {
			if s.node >= 0 {
				s.line, s.room = k%n, widest/float64(n)
				k++
			}
		}
	}
}

// sortRow orders a row by the mean place of neighbours.
func (p *placed) sortRow(l int, near func(*spot) []*spot) {
	row := p.rows[l]
	mean := make(map[*spot]float64, len(row))
	for _, s := range row {
		if ns := near(s); len(ns) > 0 {
			sum := 0.0
			for _, n := range ns {
				sum += (float64(n.place) + 0.5) / float64(len(p.rows[n.layer]))
			}
			mean[s] = sum / float64(len(ns))
		} else {
			mean[s] = (float64(s.place) + 0.5) / float64(len(row))
		}
	}
	slices.SortStableFunc(row, func(a, b *spot) int { return cmp.Compare(mean[a], mean[b]) })
	for k, s := range row {
		s.place = k
	}
}

const gap = 14

// coordinates finds x: each row as near to its neighbours as order and widths allow.
// Rows of folded drawings are centred.
func (p *placed) coordinates(folded bool) {
	for _, row := range p.rows {
		x := 0.0
		for _, s := range row {
			s.x = x + s.room/2
			x += s.room
		}
		for _, s := range row {
			s.x -= x / 2
		}
	}
	for round := range 24 {
		for k := range p.rows {
			l := k
			if round%2 == 1 {
				l = len(p.rows) - 1 - k
			}
			p.relax(p.rows[l], round%2 == 0)
		}
	}
	p.balance(folded)
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, row := range p.rows {
		for _, s := range row {
			lo, hi = min(lo, s.x-s.width/2), max(hi, s.x+s.width/2)
		}
	}
	for _, row := range p.rows {
		for _, s := range row {
			s.x -= lo
		}
	}
	p.width = max(0, hi-lo)
}

// balance takes the drift out of a drawing: rows that follow each other may lean to one
// side more and more. Each row moves by the mean middle of the rows around it, in folded
// drawings by its own.
func (p *placed) balance(folded bool) {
	around := 4
	if folded {
		around = 0
	}
	middle := make([]float64, len(p.rows))
	for l, row := range p.rows {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, s := range row {
			if s.node >= 0 {
				lo, hi = min(lo, s.x-s.width/2), max(hi, s.x+s.width/2)
			}
		}
		if lo <= hi {
			middle[l] = (lo + hi) / 2
		} else if l > 0 {
			middle[l] = middle[l-1]
		}
	}
	for l, row := range p.rows {
		from, to := max(0, l-around), min(len(middle), l+around+1)
		mean := 0.0
		for _, m := range middle[from:to] {
			mean += m / float64(to-from)
		}
		for _, s := range row {
			s.x -= mean
		}
	}
}

// relax moves the spots of a row to the middle of their neighbours. Those that would
// meet are put side by side around the middle of what they want: isotonic regression,
// by pooling neighbours.
func (p *placed) relax(row []*spot, up bool) {
	type block struct {
		sum, n   float64 // of wanted places of the first one, weighted
		from, to int
	}
	offset := make([]float64, len(row)) // of spot k from the first
	for k := 1; k < len(row); k++ {
		offset[k] = offset[k-1] + (row[k-1].room+row[k].room)/2
	}
	var blocks []block
	for k, s := range row {
		near := s.down
		if up {
			near = s.up
		}
		if len(near) == 0 {
			near = append(append([]*spot(nil), s.up...), s.down...)
		}
		want, weight := 0.0, 0.01 // what has no neighbours comes to the middle, as far as the others let it
		if len(near) > 0 {
			want, weight = 0, 1
			for _, n := range near {
				want += n.x
			}
			want /= float64(len(near))
			if s.node < 0 {
				weight = 2 // long edges should be straight
			}
		}
		b := block{(want - offset[k]) * weight, weight, k, k + 1}
		for len(blocks) > 0 {
			last := blocks[len(blocks)-1]
			if last.sum/last.n < b.sum/b.n {
				break
			}
			b = block{last.sum + b.sum, last.n + b.n, last.from, b.to}
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, b)
	}
	for _, b := range blocks {
		for k := b.from; k < b.to; k++ {
			row[k].x = b.sum/b.n + offset[k]
		}
	}
}
