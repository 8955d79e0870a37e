package sched

// random: a queue for each worker, and the dice say which one an item goes to:
// workers that are twice as fast get twice as many. A worker that has nothing
// left takes from the others.

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

var randomOptions = []Option{{Name: "seed", Doc: "where the dice start", Default: 1, Whole: true, Least: 0}}

type random struct {
	m  Machine
	n  atomic.Int64 // queued items
	mu struct {
		sync.Mutex
		dice   *rand.Rand
		queues []levels
		idle   idle
	}
}

func newRandom(m Machine, set settings) Policy {
	p := &random{m: m}
	p.mu.dice = rand.New(rand.NewPCG(uint64(set["seed"]), uint64(len(m.Workers))))
	p.mu.queues = make([]levels, len(m.Workers))
	p.mu.idle = make(idle, len(m.Workers))
	return p
}

func (p *random) Push(it *Item, from int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.chooseLocked(it)
	p.mu.queues[w].push(it.Priority, entry{it: it})
	p.n.Add(1)
	return p.mu.idle.wake(w, it)
}

// chooseLocked throws the dice.
func (p *random) chooseLocked(it *Item) int {
	sum := 0.0
	for w, d := range p.m.Workers {
		if it.Allows(w) {
			sum += d.Speed
		}
	}
	x, last := p.mu.dice.Float64()*sum, 0
	for w, d := range p.m.Workers {
		if !it.Allows(w) {
			continue
		}
		last = w
		if x -= d.Speed; x < 0 {
			break
		}
	}
	return last
}

func (p *random) Pop(w int) *Item {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.idle[w] = false
	for i := range p.mu.queues {
		q := &p.mu.queues[(w+i)%len(p.mu.queues)]
		if q.n == 0 {
			continue
		}
		if _, at := q.find(w); at.ok {
			p.n.Add(-1)
			return q.remove(at).it
		}
	}
	p.mu.idle[w] = true
	return nil
}

func (p *random) Empty() bool { return p.n.Load() == 0 }
