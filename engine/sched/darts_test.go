package sched

import (
	"slices"
	"testing"
)

// uses says what data items use, by Order; every piece has bytes.
func (m *world) uses(bytes map[int64]int64, data map[int64][]int64) {
	m.Data = func(it *Item, visit func(id, bytes int64)) {
		for _, id := range data[it.Order] {
			visit(id, bytes[id])
		}
	}
}

// The piece of data that lets most run for its size comes first, then all that
// it lets run; then what has all its data there.
func TestDartsChoosesData(t *testing.T) {
	m := newWorld(Worker{})
	m.uses(map[int64]int64{1: 100, 2: 100, 3: 30}, map[int64][]int64{
		1: {1}, 2: {2}, 3: {2}, 4: {3}, 5: {1, 2}, 6: {2, 2}, 7: {1}, 8: {}, 9: {1, 2, 3},
	})
	p := m.policy(t, "darts:cache=1000")
	pushes(p, 9)
	// 8 needs nothing. Per byte: 3 lets 1/30 run, 2 lets 3/100, 1 lets 2/100
	// when 1 is there, 1 lets 1, 5 and 7 run
	if got, want := orders(p, 0), []int64{8, 4, 2, 3, 6, 1, 5, 7, 9}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Priorities decide first.
func TestDartsPriorities(t *testing.T) {
	m := newWorld(Worker{})
	m.uses(map[int64]int64{1: 1, 2: 1}, map[int64][]int64{1: {1}, 2: {1}, 3: {2}, 4: {1}})
	p := m.policy(t, "darts")
	for i, prio := range []int32{0, 0, 5, 3} {
		p.Push(&Item{Order: int64(i + 1), Priority: prio}, Outside)
	}
	if got, want := orders(p, 0), []int64{3, 4, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	p.Push(&Item{Order: 1}, Outside)
	p.Push(&Item{Order: 2}, Outside)
	p.Pop(0) // and plans 2
	p.Push(&Item{Order: 3, Priority: 1}, Outside)
	if got, want := orders(p, 0), []int64{3, 2}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// loads counts the bytes that a cache of the given size has to load for a
// product of n x n blocks, C[i,j] += A[i] * B[j], given out in rows.
func loads(t *testing.T, text string, n, capacity int64) (bytes int64) {
	m := newWorld(Worker{})
	data := map[int64][]int64{}
	size := map[int64]int64{}
	for i := range n {
		for j := range n {
			data[i*n+j+1] = []int64{i, n + j}
			size[i], size[n+j] = 1, 1
		}
	}
	m.uses(size, data)
	p := m.policy(t, text)
	pushes(p, int(n*n))
	var cache []int64 // least recently used first
	done := 0
	for it := p.Pop(0); it != nil; it = p.Pop(0) {
		done++
		for _, id := range data[it.Order] {
			if i := slices.Index(cache, id); i >= 0 {
				cache = slices.Delete(cache, i, i+1)
			} else {
				bytes++
			}
			if cache = append(cache, id); int64(len(cache)) > capacity {
				cache = cache[1:]
			}
		}
	}
	if done != int(n*n) {
		t.Errorf("%s: %d of %d items", text, done, n*n)
	}
	return bytes
}

// In a product whose rows do not fit the cache, darts loads much less than the
// order of submission does.
func TestDartsLoadsLess(t *testing.T) {
	eager, darts := loads(t, "eager", 20, 10), loads(t, "darts:cache=10,window=400", 20, 10)
	if darts*3 > eager*2 {
		t.Errorf("darts loads %d bytes, eager %d", darts, eager)
	}
}

// Workers of one memory node share what is loaded there; CPU workers do not.
func TestDartsStores(t *testing.T) {
	gpu := Worker{Arch: "gpu", Node: 1, Memory: 1 << 20}
	m := newWorld(Worker{}, Worker{}, gpu, gpu)
	m.uses(map[int64]int64{1: 1000, 2: 100}, map[int64][]int64{1: {1}, 2: {2}, 3: {1}, 4: {2}})
	p := m.policy(t, "darts")
	pushes(p, 2)
	if it := p.Pop(2); it.Order != 2 {
		t.Error(it.Order)
	}
	p.Pop(2)
	p.Push(&Item{Order: 3}, Outside)
	p.Push(&Item{Order: 4}, Outside)
	p.Push(&Item{Order: 1}, Outside)
	if it := p.Pop(3); it.Order != 3 { // 1 is there, so the first that needs it goes first
		t.Error(it.Order)
	}
	if it := p.Pop(0); it.Order != 4 { // here nothing is
		t.Error(it.Order)
	}
}

// Items that one worker has planned are taken by idle workers.
func TestDartsHelpsOut(t *testing.T) {
	m := newWorld(Worker{}, Worker{})
	m.uses(map[int64]int64{1: 1}, map[int64][]int64{1: {1}, 2: {1}, 3: {1}})
	p := m.policy(t, "darts")
	pushes(p, 3)
	p.Pop(0)
	if n := len(orders(p, 1)); n != 2 || !p.Empty() {
		t.Error(n)
	}
}

// Small caches, and data of no size or more than all, do no harm.
func TestDartsOddSizes(t *testing.T) {
	for _, text := range []string{"darts:cache=0", "darts:cache=1e15,window=1", "darts:window=1e9"} {
		for _, size := range []int64{-5, 0, 1 << 62} {
			m := newWorld(cpuGPU...)
			data := map[int64][]int64{}
			for i := range int64(50) {
				data[i+1] = []int64{i % 7, i % 3, i % 7}
			}
			m.uses(map[int64]int64{0: size, 1: size, 2: 5}, data)
			p := m.policy(t, text)
			pushes(p, 50)
			if n := len(orders(p, 0)) + len(orders(p, 1)); n != 50 || !p.Empty() {
				t.Errorf("%s, %d bytes: %d of 50 items", text, size, n)
			}
		}
	}
}
