package sched_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/starpush/starpush/engine/sched"
	"github.com/starpush/starpush/engine/sched/schedtest"
)

// stack gives out what came last.
type stack struct {
	mu struct {
		sync.Mutex
		items []*sched.Item
	}
}

// newStack is what engine.Options.NewPolicy takes. This policy does not look at
// the machine.
func newStack(sched.Machine) sched.Policy { return &stack{} }

func (p *stack) Push(it *sched.Item, from int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.items = append(p.mu.items, it)
	if it.Allowed != nil { // some would not find it if they woke up
		return it.Allowed.First()
	}
	return sched.Anyone
}

func (p *stack) Pop(w int) *sched.Item {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.mu.items) - 1; i >= 0; i-- {
		if it := p.mu.items[i]; it.Allows(w) {
			p.mu.items = slices.Delete(p.mu.items, i, i+1)
			return it
		}
	}
	return nil
}

func (p *stack) Empty() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.mu.items) == 0
}

// A policy of one's own: the last item first.
func ExamplePolicy() {
	p := newStack(sched.CPUs(2))
	for i := range 3 {
		p.Push(&sched.Item{Order: int64(i)}, sched.Outside)
	}
	only := &sched.Item{Order: 3, Allowed: sched.NewSet(1)}
	fmt.Println("wake worker", p.Push(only, sched.Outside))
	for _, w := range []int{0, 1, 0} {
		fmt.Println("worker", w, "runs", p.Pop(w).Order)
	}
	fmt.Println("empty:", p.Empty())
	// Output:
	// wake worker 1
	// worker 0 runs 2
	// worker 1 runs 3
	// worker 0 runs 1
	// empty: false
}

func TestStack(t *testing.T) { schedtest.Run(t, newStack) }
