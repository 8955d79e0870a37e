package sched

// heteroprio: items wait in buckets, one for each kind and priority. Each
// architecture visits the buckets in an order of its own: first what it is best
// at compared with the others, among that the highest priority. It leaves what
// another runs faster, unless the backlog is so long that the other will not come to
// it sooner: items for each of its workers must outnumber the slowdown factor.
// After E. Agullo, B. Bramas, O. Coulaud, E. Darve, M. Messner, T. Takahashi:
// Task-based FMM for heterogeneous architectures, CCPE 28, 2016, and the automatic
// mode of StarPU's policy of this name (C. Flint, L. Paillat, B. Bramas: Automated
// prioritizing heuristics for parallel task graph scheduling, PeerJ CS 8, 2022),
// which orders buckets by what was measured instead of by hand.

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

var heteroprioOptions = []Option{{Name: "slow", Doc: "weight of the slowdown factor; 0: never leave anything to faster workers", Default: 1}}

type heteroprio struct {
	m     Machine
	slow  float64
	archs []arch
	of    []int // architecture of each worker
	n     atomic.Int64
	mu    struct {
		sync.Mutex
		buckets map[bucketKey]*bucket
		orders  [][]*bucket // for each architecture, sorted by rank
		sets    map[string]*Set
		taken   map[timeKey]*mean // what kernels took
		arrived int64
		idle    idle
		pops    []int // of each worker
	}
}

// arch is the workers of one architecture.
type arch struct {
	name  string
	speed float64 // of the fastest
}

type bucketKey struct {
	kind     any
	priority int32
	allowed  *Set
}

// bucket holds items that are alike, in the order of their arrival.
type bucket struct {
	key     bucketKey
	number  int64
	queue   []arrival
	head    int
	fastest int       // architecture that runs them fastest
	workers int       // of that one, that may run them
	slow    []float64 // how many times slower each architecture is; +Inf: it may not run them
	better  []int     // how much better each is than the best of the others, as a power of two
	looks   int       // until the next look at predictions
}

type arrival struct {
	it     *Item
	number int64
}

type timeKey struct {
	kind any
	arch int
}

// mean is a moving one.
type mean struct{ value, n float64 }

func newHeteroprio(m Machine, set settings) Policy {
	p := &heteroprio{m: m, slow: set["slow"], of: make([]int, len(m.Workers))}
	for w, d := range m.Workers {
		a := slices.IndexFunc(p.archs, func(a arch) bool { return a.name == d.Arch })
		if a < 0 {
			a = len(p.archs)
			p.archs = append(p.archs, arch{name: d.Arch})
		}
		p.of[w] = a
		p.archs[a].speed = max(p.archs[a].speed, d.Speed)
	}
	p.mu.buckets = map[bucketKey]*bucket{}
	p.mu.orders = make([][]*bucket, len(p.archs))
	p.mu.sets = map[string]*Set{}
	p.mu.taken = map[timeKey]*mean{}
	p.mu.idle = make(idle, len(m.Workers))
	p.mu.pops = make([]int, len(m.Workers))
	if len(p.archs) == 1 { // priorities are all there is to look at
		return p
	}
	return measuring{p}
}

// measuring is heteroprio on a machine of several architectures.
type measuring struct{ *heteroprio }

func (measuring) Started(*Item, int) {}

// Ended learns how long items of a kind run, for items without a prediction.
func (p measuring) Ended(it *Item, w int, seconds float64) {
	k := timeKey{p.m.Kind(it), p.of[w]}
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.mu.taken[k]
	if t == nil {
		t = &mean{}
		p.mu.taken[k] = t
	}
	t.n = min(t.n+1, 32)
	t.value += (seconds - t.value) / t.n
}

func (p *heteroprio) Push(it *Item, from int) int {
	key := bucketKey{priority: it.Priority}
	if len(p.archs) > 1 {
		key.kind = p.m.Kind(it)
	}
	var text string
	if it.Allowed != nil {
		text = it.Allowed.Key()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if it.Allowed != nil {
		if key.allowed = p.mu.sets[text]; key.allowed == nil {
			key.allowed = it.Allowed
			p.mu.sets[text] = it.Allowed
		}
	}
	b := p.mu.buckets[key]
	if b == nil {
		p.forgetLocked()
		b = &bucket{key: key, number: p.mu.arrived, slow: make([]float64, len(p.archs)), better: make([]int, len(p.archs))}
		p.mu.buckets[key] = b
		p.weighLocked(b, it)
		for a := range p.archs {
			p.insertLocked(a, b)
		}
	} else if b.looks--; b.looks <= 0 {
		p.reweighLocked(b, it)
	}
	p.mu.arrived++
	b.queue = append(b.queue, arrival{it, p.mu.arrived})
	p.n.Add(1)
	return p.wakeLocked(b)
}

// wakeLocked chooses whom to wake for an item of b: one that has nothing and
// would take it, of the fastest architecture if there is one.
func (p *heteroprio) wakeLocked(b *bucket) int {
	wake, busy := -1, -1
	for w := range p.m.Workers {
		switch {
		case b.key.allowed != nil && !b.key.allowed.Has(w):
		case !p.mu.idle[w]:
			if busy < 0 || p.of[w] == b.fastest && p.of[busy] != b.fastest {
				busy = w
			}
		case p.takesLocked(p.of[w], b):
			if wake < 0 || p.of[w] == b.fastest && p.of[wake] != b.fastest {
				wake = w
			}
		}
	}
	if wake < 0 {
		return busy // it will come to it
	}
	p.mu.idle[wake] = false
	return wake
}

// takesLocked reports whether workers of architecture a take items of b, as
// many as wait there now.
func (p *heteroprio) takesLocked(a int, b *bucket) bool {
	if a == b.fastest {
		return true
	}
	return float64(len(b.queue)-b.head) >= p.slow*b.slow[a]*float64(b.workers)
}

func (p *heteroprio) Pop(w int) *Item {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.of[w]
	// Now and then a worker goes by age, not by what it is best at: what only it may run
	// is always that, and could keep it from what another runs as well, or better.
	p.mu.pops[w]++
	byAge := p.mu.pops[w]%fair == 0
	var best *bucket
	for _, b := range p.mu.orders[a] {
		if !byAge && best != nil && (b.better[a] != best.better[a] || b.key.priority != best.key.priority) {
			break
		}
		if b.head == len(b.queue) || b.key.allowed != nil && !b.key.allowed.Has(w) || !p.takesLocked(a, b) {
			continue
		}
		if best == nil || b.key.priority > best.key.priority ||
			b.key.priority == best.key.priority && b.queue[b.head].number < best.queue[best.head].number {
			best = b
		}
	}
	p.mu.idle[w] = best == nil
	if best == nil {
		return nil
	}
	p.n.Add(-1)
	return best.pop()
}

func (b *bucket) pop() *Item {
	it := b.queue[b.head].it
	b.queue[b.head] = arrival{}
	b.head++
	switch {
	case b.head == len(b.queue):
		b.queue, b.head = b.queue[:0], 0
	case b.head > 1024 && b.head > len(b.queue)/2:
		b.queue = slices.Delete(b.queue, 0, b.head)
		b.head = 0
	}
	return it
}

func (p *heteroprio) Empty() bool { return p.n.Load() == 0 }

// weighLocked finds out which architecture is how good at items like it.
func (p *heteroprio) weighLocked(b *bucket, it *Item) {
	b.looks = 64
	times := make([]float64, len(p.archs))
	can := make([]int, len(p.archs)) // workers
	known := -1
	for a := range p.archs {
		first := -1
		for w := range p.m.Workers {
			if p.of[w] == a && it.Allows(w) {
				can[a]++
				if first < 0 {
					first = w
				}
			}
		}
		if first < 0 || len(p.archs) == 1 {
			continue
		}
		if s, ok := p.m.Estimate(it, first); ok {
			times[a] = max(sane(s), 1e-9)
		} else if t := p.mu.taken[timeKey{b.key.kind, a}]; t != nil {
			times[a] = sane(t.value)
		}
		if times[a] > 0 && known < 0 {
			known = a
		}
	}
	for a, s := range p.archs {
		switch {
		case times[a] > 0:
		case known < 0:
			times[a] = 1 / s.speed
		default: // as fast as its speed lets hope
			times[a] = times[known] * p.archs[known].speed / s.speed
		}
	}
	b.fastest = -1
	for a := range p.archs {
		if can[a] > 0 && (b.fastest < 0 || times[a] < times[b.fastest]) {
			b.fastest = a
		}
	}
	b.workers = can[b.fastest]
	for a := range p.archs {
		others := math.Inf(1)
		for o := range p.archs {
			if o != a && can[o] > 0 {
				others = min(others, times[o])
			}
		}
		b.slow[a] = max(1, times[a]/times[b.fastest])
		b.better[a] = 0
		if !math.IsInf(others, 1) {
			b.better[a] = int(math.Round(math.Log2(others / times[a])))
		} else if len(p.archs) > 1 {
			b.better[a] = 64 // no other kind of worker can
		}
	}
}

// reweighLocked weighs b again and moves it in the orders that it changed.
func (p *heteroprio) reweighLocked(b *bucket, it *Item) {
	old := slices.Clone(b.better)
	p.weighLocked(b, it)
	for a := range p.archs {
		if b.better[a] == old[a] {
			continue
		}
		p.mu.orders[a] = slices.DeleteFunc(p.mu.orders[a], func(o *bucket) bool { return o == b })
		p.insertLocked(a, b)
	}
}

func (p *heteroprio) insertLocked(a int, b *bucket) {
	i, _ := slices.BinarySearchFunc(p.mu.orders[a], b, func(x, y *bucket) int {
		return cmp.Or(cmp.Compare(y.better[a], x.better[a]), cmp.Compare(y.key.priority, x.key.priority), cmp.Compare(x.number, y.number))
	})
	p.mu.orders[a] = slices.Insert(p.mu.orders[a], i, b)
}

// forgetLocked drops the empty buckets of programs that make many.
func (p *heteroprio) forgetLocked() {
	const many = 256
	if len(p.mu.sets) > many*4 || len(p.mu.taken) > many*4 {
		clear(p.mu.sets)
		clear(p.mu.taken)
	}
	if len(p.mu.buckets) < many || len(p.mu.buckets) < 2*int(p.n.Load()) {
		return
	}
	gone := func(b *bucket) bool { return b.head == len(b.queue) }
	for a := range p.archs {
		p.mu.orders[a] = slices.DeleteFunc(p.mu.orders[a], gone)
	}
	for k, b := range p.mu.buckets {
		if gone(b) {
			delete(p.mu.buckets, k)
		}
	}
}
