package schedtest

// Wake-ups: workers that sleep until the policy names them.

import (
	"math/rand/v2"

	"github.com/starpush/starpush/engine/sched"
)

// wakeUps plays programs on workers that sleep when they find nothing: at the
// end everything must have been given out. It is single-threaded, so a failure
// comes again.
func (k *kit) wakeUps() {
	for seed := range uint64(25) {
		if !newPlay(k, seed).run() {
			return
		}
	}
}

// play is one program: items that release others.
type play struct {
	*kit
	seed    uint64
	r       *rand.Rand
	p       sched.Policy
	gang    func(*sched.Item) *sched.Gang
	fb      sched.Feedback
	workers []player
	looking bool // a worker was woken by Anyone and has not looked yet
	next    int64
	left    int // items still to be made
	out     int
	quiet   bool // most workers sleep most of the time
}

type player struct {
	asleep, looks bool
	runs          *sched.Item
	started       bool
}

func newPlay(k *kit, seed uint64) *play {
	p := &play{kit: k, seed: seed, r: rand.New(rand.NewPCG(seed, 3)), workers: make([]player, k.workers()), left: 60, quiet: seed%2 == 0}
	m := k.kind.make()
	p.gang = m.Gang
	m.Wake = func(w int) {
		if w == sched.Anyone {
			p.anyone()
		} else {
			p.wake(w, false)
		}
	}
	p.p = k.new(m)
	p.fb, _ = p.p.(sched.Feedback)
	return p
}

func (p *play) run() bool {
	for {
		var busy []int
		for w := range p.workers {
			if !p.workers[w].asleep {
				busy = append(busy, w)
			}
		}
		if len(busy) == 0 && (p.out != int(p.next) || !p.p.Empty()) {
			p.Errorf("seed %d: %d items, %d given out, empty is %v, and all workers sleep", p.seed, p.next, p.out, p.p.Empty())
			return false
		}
		switch {
		case len(busy) == 0 && p.left == 0:
			return true
		case p.left > 0 && (len(busy) == 0 || p.r.IntN(map[bool]int{true: 30, false: 3}[p.quiet]) == 0):
			for range 1 + p.r.IntN(map[bool]int{true: 2, false: 4}[p.quiet]) {
				p.push(sched.Outside)
			}
		default:
			p.step(busy[p.r.IntN(len(busy))])
		}
	}
}

// step has worker w end what it runs and look for more.
func (p *play) step(w int) {
	me := &p.workers[w]
	if me.runs != nil {
		if me.started {
			p.fb.Ended(me.runs, w, 1e-3*p.r.Float64())
		}
		me.runs, me.started = nil, false
		for range p.r.IntN(map[bool]int{true: 2, false: 3}[p.quiet]) {
			p.push(w)
		}
	}
	it := p.p.Pop(w)
	if it == nil {
		me.asleep = true
		if me.looks {
			me.looks, p.looking = false, false
		}
		return
	}
	if it.Allowed != nil && !it.Allowed.Has(w) {
		p.Errorf("seed %d: worker %d gets an item for others", p.seed, w)
	}
	p.out++
	me.runs = it
	if p.fb != nil && p.r.IntN(4) > 0 {
		if p.gang != nil && p.gang(it) != nil {
			for v := range p.workers { // the engine wakes those that may be members
				p.wake(v, false)
			}
		}
		me.started = true
		p.fb.Started(it, w)
	}
	if me.looks {
		me.looks, p.looking = false, false
		if !p.p.Empty() {
			p.anyone()
		}
	}
}

func (p *play) push(from int) {
	if p.left == 0 {
		return
	}
	p.left--
	p.next++
	it := &sched.Item{Order: p.next}
	p.fill(it, p.r)
	to := p.p.Push(it, from)
	p.check(to, it, from)
	switch {
	case to == sched.Anyone:
		p.anyone()
	case to == sched.Nobody:
	case to < len(p.workers):
		if !p.wake(to, false) && it.Allowed != nil { // busy: perhaps another of its set is not
			for w := range p.workers {
				if it.Allowed.Has(w) && p.wake(w, false) {
					return
				}
			}
		}
	}
}

// anyone wakes a worker, unless one looks already.
func (p *play) anyone() {
	if p.looking {
		return
	}
	for _, w := range p.r.Perm(len(p.workers)) {
		if p.wake(w, true) {
			return
		}
	}
}

func (p *play) wake(w int, looks bool) bool {
	me := &p.workers[w]
	if !me.asleep {
		return false
	}
	me.asleep, me.looks = false, looks
	p.looking = p.looking || looks
	return true
}
