package sched

import (
	"fmt"
	"slices"
	"testing"
)

// byParity makes items with even numbers 20 times faster on the GPU, and odd
// ones twice as fast there, in seconds.
func byParity(it *Item, gpu bool) float64 {
	switch {
	case it.Order%2 == 0 && gpu:
		return 1
	case it.Order%2 == 0:
		return 20
	case gpu:
		return 2
	}
	return 4
}

func hetero(cpus, gpus int) *world {
	ws := make([]Worker, cpus)
	for g := range gpus {
		ws = append(ws, Worker{Arch: "gpu", Node: g + 1, Speed: 8})
	}
	m := newWorld(ws...)
	m.Kind = func(it *Item) any { return it.Order % 2 }
	m.Estimate = func(it *Item, w int) (float64, bool) { return byParity(it, w >= cpus), true }
	return m
}

// Each architecture begins with what it is best at; the slow one leaves what
// the other will come to sooner.
func TestHeteroprioOrders(t *testing.T) {
	m := hetero(1, 1)
	p := m.policy(t, "heteroprio")
	pushes(p, 8)
	var cpu, gpu []int64
	for range 3 {
		gpu = append(gpu, p.Pop(1).Order)
		if it := p.Pop(0); it != nil {
			cpu = append(cpu, it.Order)
		}
	}
	gpu = append(gpu, orders(p, 1)...)
	// the CPU takes odd ones while at least two wait, never 20 even ones
	if want := []int64{1, 3, 5}; !slices.Equal(cpu, want) {
		t.Errorf("CPU: %v, want %v", cpu, want)
	}
	if want := []int64{2, 4, 6, 8, 7}; !slices.Equal(gpu, want) {
		t.Errorf("GPU: %v, want %v", gpu, want)
	}

	m = hetero(1, 1)
	p = m.policy(t, "heteroprio:slow=0")
	pushes(p, 4)
	if got, want := orders(p, 0), []int64{1, 3, 2, 4}; !slices.Equal(got, want) {
		t.Errorf("slow=0: the CPU gets %v, want %v", got, want)
	}
}

// Among what an architecture is equally good at, priorities decide.
func TestHeteroprioPriorities(t *testing.T) {
	p := hetero(1, 1).policy(t, "heteroprio:slow=0")
	for i, prio := range []int32{0, 9, 5, 1, -1, 0, 5, 10} {
		p.Push(&Item{Order: int64(i + 1), Priority: prio}, Outside)
	}
	if got, want := orders(p, 0), []int64{3, 7, 1, 5, 8, 2, 4, 6}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Times without a prediction are learned from measured ones.
func TestHeteroprioLearns(t *testing.T) {
	m := hetero(1, 1)
	m.Estimate = nil
	p := m.policy(t, "heteroprio")
	it := &Item{Order: 1}
	p.Push(it, Outside)
	if p.Pop(0) != nil || p.Pop(1) == nil { // it should be 8 times faster there
		t.Error("the CPU takes what the GPU should do")
	}
	for range 10 { // in truth the CPU is faster
		p.(Feedback).Ended(it, 0, 1)
		p.(Feedback).Ended(it, 1, 5)
	}
	for i := range int64(100) { // predictions are looked at now and then
		p.Push(&Item{Order: 2*i + 1}, Outside)
	}
	for len(orders(p, 0))+len(orders(p, 1)) > 0 {
	}
	p.Push(it, Outside)
	if p.Pop(1) != nil || p.Pop(0) == nil {
		t.Error("the GPU takes what the CPU does faster")
	}
}

// simulate runs items on the world's workers and returns when the last ends. All
// are there at the beginning.
func simulate(t *testing.T, m *world, p Policy, n int, length func(it *Item, w int) float64) (end float64) {
	t.Helper()
	pushes(p, n)
	type run struct {
		it  *Item
		end float64
	}
	runs := make([]run, len(m.Workers))
	fb, _ := p.(Feedback)
	done := 0
	for {
		for w := range runs {
			if runs[w].it == nil {
				if it := p.Pop(w); it != nil {
					runs[w] = run{it, m.now + length(it, w)}
					if fb != nil {
						fb.Started(it, w)
					}
				}
			}
		}
		next := -1
		for w, r := range runs {
			if r.it != nil && (next < 0 || r.end < runs[next].end) {
				next = w
			}
		}
		if next < 0 {
			break
		}
		it := runs[next].it
		m.now = runs[next].end
		runs[next].it = nil
		if fb != nil {
			fb.Ended(it, next, length(it, next))
		}
		done++
	}
	if done != n {
		t.Fatalf("%d of %d items ran", done, n)
	}
	return m.now
}

// On a machine of CPUs and GPUs, policies that know how fast each is are near
// the best that is possible, and eager is far from it.
func TestMakespan(t *testing.T) {
	const cpus, gpus, n = 4, 1, 200
	// 100 even items keep the GPU busy for 100 s; meanwhile the CPUs run the odd
	// ones. Nothing ends before 100 s.
	const best = 100.0
	ends := map[string]float64{}
	for _, e := range Table() {
		m := hetero(cpus, gpus)
		length := func(it *Item, w int) float64 { return byParity(it, w >= cpus) }
		ends[e.Name] = simulate(t, m, e.New(m.Machine), n, length)
	}
	for _, name := range []string{"dm", "dmda", "dmdap", "dmdar", "dmdas", "heteroprio"} {
		if ends[name] > 1.35*best {
			t.Errorf("%s needs %v s, %v are possible", name, ends[name], best)
		}
		if ends[name] > 0.75*ends["eager"] {
			t.Errorf("%s needs %v s, eager %v", name, ends[name], ends["eager"])
		}
	}
	t.Log(fmt.Sprint(ends))
}

// Buckets of priorities that are not used any more are forgotten.
func TestHeteroprioForgets(t *testing.T) {
	p := newHeteroprio(CPUs(2), settings{"slow": 1}).(*heteroprio)
	for i := range int32(20000) {
		p.Push(&Item{Priority: i, Allowed: NewSet(int(i) % 2)}, Outside)
		if p.Pop(int(i)%2) == nil {
			t.Fatal(i)
		}
	}
	if n := len(p.mu.buckets); n > 1000 {
		t.Errorf("%d buckets", n)
	}
}
