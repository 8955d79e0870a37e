package schedtest

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/starpush/starpush/engine/sched"
)

// recorder is a test whose failure is wanted.
type recorder struct {
	testing.TB
	failed atomic.Bool
}

func (r *recorder) Helper()                   {}
func (r *recorder) Error(args ...any)         { r.failed.Store(true) }
func (r *recorder) Errorf(string, ...any)     { r.failed.Store(true) }
func (r *recorder) Fatalf(f string, a ...any) { r.failed.Store(true); runtime.Goexit() }

// run reports whether fn fails.
func (r *recorder) run(fn func(testing.TB)) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn(r)
	}()
	<-done
	return r.failed.Load()
}

// queue is a right policy that can be made wrong in one way.
type queue struct {
	fault string
	m     sched.Machine
	mu    struct {
		sync.Mutex
		items []*sched.Item
		n     int
	}
}

func newQueue(fault string) func(sched.Machine) sched.Policy {
	return func(m sched.Machine) sched.Policy { return &queue{fault: fault, m: m} }
}

func (q *queue) Push(it *sched.Item, from int) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mu.n++
	if q.fault == "loses" && q.mu.n%50 == 0 {
		return sched.Anyone
	}
	q.mu.items = append(q.mu.items, it)
	if q.fault == "twice" && q.mu.n%50 == 0 {
		q.mu.items = append(q.mu.items, it)
	}
	switch {
	case q.fault == "silent":
		return sched.Nobody
	case q.fault == "number":
		return len(q.m.Workers)
	case q.fault == "first":
		return 0
	case it.Allowed != nil && q.fault != "anyone":
		return it.Allowed.First()
	}
	return sched.Anyone
}

func (q *queue) Pop(w int) *sched.Item {
	q.mu.Lock()
	defer q.mu.Unlock()
	best := -1
	for i, it := range q.mu.items {
		switch {
		case q.fault != "ignores" && !it.Allows(w):
		case q.fault == "keeps" && it.Allowed == nil && int(it.Order)%len(q.m.Workers) != w:
		case q.fault == "starves" && it.Priority < 0 && len(q.m.Workers) > 1:
		case best < 0 || q.fault != "order" && it.Priority > q.mu.items[best].Priority:
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	it := q.mu.items[best]
	q.mu.items = slices.Delete(q.mu.items, best, best+1)
	return it
}

func (q *queue) Empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.mu.items) == 0 || q.fault == "empty" && len(q.mu.items) == 1
}

// The kit passes what is right and notices each fault.
func TestFaults(t *testing.T) {
	parts := map[string]func(*kit){
		"WakeUps": (*kit).wakeUps, "Allowed": (*kit).allowed, "BusyWorker": (*kit).busyWorker,
		"Stream": (*kit).stream, "Empty": (*kit).empty, "EveryItemOnce": (*kit).everyItemOnce,
	}
	m := machines()[1]
	noticed := func(fault string) (by []string) {
		for name, part := range parts {
			if (&recorder{TB: t}).run(func(tb testing.TB) { part(newKit(tb, m, newQueue(fault))) }) {
				by = append(by, name)
			}
		}
		if (&recorder{TB: t}).run(func(tb testing.TB) { priorities(tb, newQueue(fault), sched.Strict) }) {
			by = append(by, "Priorities")
		}
		slices.Sort(by)
		return by
	}
	if by := noticed(""); by != nil {
		t.Error("nothing is wrong, but for", by)
	}
	for _, fault := range []string{"loses", "twice", "silent", "number", "first", "anyone", "ignores", "keeps", "starves", "order", "empty"} {
		by := noticed(fault)
		if by == nil {
			t.Errorf("fault %q goes unnoticed", fault)
		}
		t.Log(fmt.Sprint(fault, ": ", by))
	}
}
