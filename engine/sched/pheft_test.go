package sched

import (
	"slices"
	"testing"
)

// gangs gives items that are in times, by Order, gangs of up to most workers. times are those of
// the item with 1, 2, … workers; 0: not known.
func (m *world) gangs(most int, times map[int64][]float64) map[int64]*Gang {
	all := map[int64]*Gang{}
	m.Gang = func(it *Item) *Gang {
		if times[it.Order] == nil {
			return nil
		}
		g := all[it.Order]
		if g == nil {
			g = &Gang{Least: 1, Most: most}
			all[it.Order] = g
		}
		return g
	}
	one := m.Estimate
	m.Estimate = func(it *Item, w int) (float64, bool) {
		if g := m.Gang(it); g != nil && m.Workers[w].Arch != "gpu" {
			s := times[it.Order][max(g.Size, 1)-1]
			return s, s > 0
		}
		return one(it, w)
	}
	return all
}

// members lists the workers of a gang.
func (g *Gang) members(n int) (out []int) {
	for w := range n {
		if g.Workers.Has(w) {
			out = append(out, w)
		}
	}
	return out
}

// TestPheftSize: an item gets the number of workers with which it is expected to end first,
// after what they have to do before.
func TestPheftSize(t *testing.T) {
	half := []float64{8, 4, 8.0 / 3, 2}
	for name, c := range map[string]struct {
		busy  []float64 // what the workers have to do before, in turn
		times []float64
		most  int
		want  []int
	}{
		"scales":                      {nil, half, 4, []int{0, 1, 2, 3}},
		"bounded":                     {nil, half, 3, []int{0, 1, 2}},
		"best of two":                 {nil, []float64{8, 5, 6, 9}, 4, []int{0, 1}},
		"does not scale":              {nil, []float64{8, 8, 8, 8}, 4, []int{0}},
		"gets slower":                 {nil, []float64{2, 3, 4, 5}, 4, []int{0}},
		"not worth the wait":          {[]float64{9, 9}, half, 4, []int{2, 3}},                     // 4, and 9 + 2 with all
		"worth the wait":              {[]float64{1, 1}, half, 4, []int{0, 1, 2, 3}},               // 1 + 2
		"worth waiting for one":       {[]float64{9, 0.5}, half, 4, []int{1, 2, 3}},                // 0.5 + 8/3 < 4
		"waits for the first of them": {[]float64{3, 1, 2, 3}, []float64{9, 9, 9, 9}, 4, []int{1}}, // 1 + 9
		"two that are free first":     {[]float64{3, 1, 2, 3}, []float64{9, 1, 9, 9}, 4, []int{1, 2}},
	} {
		m := newWorld(make([]Worker, 4)...)
		times := map[int64][]float64{100: c.times}
		gangs := m.gangs(c.most, times)
		p := m.policy(t, "pheft")
		for w, s := range c.busy {
			m.exec[int64(w+1)] = slices.Repeat([]float64{s}, 4)
			p.Push(&Item{Order: int64(w + 1), Allowed: NewSet(w)}, Outside)
		}
		p.Push(&Item{Order: 100}, Outside)
		if g := gangs[100]; !slices.Equal(g.members(4), c.want) || g.Size != len(c.want) {
			t.Errorf("%s: %d workers, %v, want %v", name, g.Size, g.members(4), c.want)
		}
	}
}

// TestPheftDevices: an item that devices may run, too, goes where it ends first.
func TestPheftDevices(t *testing.T) {
	for gpu, want := range map[float64]int{5: 2, 3: 1} {
		m := newWorld(Worker{}, Worker{}, Worker{Arch: "gpu", Node: 1})
		gangs := m.gangs(3, map[int64][]float64{1: {8, 4, 1}}) // no three are alike
		m.exec[1] = []float64{0, 0, gpu}
		p := m.policy(t, "pheft")
		p.Push(&Item{Order: 1}, Outside)
		if g := gangs[1]; g.Size != want || g.Workers.Has(2) != (want == 1) {
			t.Errorf("%v s on the device: %d workers, %v", gpu, g.Size, g.members(3))
		}
	}
}

// TestPheftCalibrates: the sizes that are not known come in turn, and none that is known.
func TestPheftCalibrates(t *testing.T) {
	m := newWorld(make([]Worker, 4)...)
	times := map[int64][]float64{}
	gangs := m.gangs(4, times)
	p := m.policy(t, "pheft")
	var got []int
	for i := range int64(7) {
		times[i+1] = []float64{0, 3, 0, 0}
		p.Push(&Item{Order: i + 1}, Outside)
		got = append(got, gangs[i+1].Size)
	}
	if want := []int{1, 3, 4, 1, 3, 4, 1}; !slices.Equal(got, want) {
		t.Errorf("sizes %v, want %v", got, want)
	}
}

// TestSizes: every size is considered on few workers, powers of two on many.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		least, most int
		want        []int
	}{
		{1, 1, []int{1}}, {1, 8, []int{1, 2, 3, 4, 5, 6, 7, 8}}, {1, 9, []int{1, 2, 4, 8, 9}}, {6, 6, []int{6}}, {3, 40, []int{3, 4, 8, 16, 32, 40}},
		{40, 40, []int{40}}, {1, 64, []int{1, 2, 4, 8, 16, 32, 64}}, {5, 4, nil},
	} {
		if got := sizes(c.least, c.most); !slices.Equal(got, c.want) {
			t.Errorf("%d to %d: %v, want %v", c.least, c.most, got, c.want)
		}
	}
}

// simulate runs all items of p on n workers by the clock of m: each takes what time says. It
// returns when each starts and when the last one ends. Members of a gang leave the policy until
// it is over, as in the engine.
func (m *world) simulate(t *testing.T, p Policy, n int, time func(*Item) float64) (starts map[int64]float64, end float64) {
	t.Helper()
	starts = map[int64]float64{}
	until := make([]float64, n)
	runs, leads := make([]*Item, n), make([]bool, n)
	for {
		for changed := true; changed; {
			changed = false
			for w := range n {
				if runs[w] != nil {
					continue
				}
				it := p.Pop(w)
				if it == nil {
					continue
				}
				starts[it.Order], changed = m.now, true
				members := []int{w}
				if g := m.Gang(it); g != nil {
					members = g.members(n)
					if len(members) != g.Size || !slices.Contains(members, w) {
						t.Fatalf("item %d has workers %v, given to %d", it.Order, members, w)
					}
				}
				for _, v := range members {
					if runs[v] != nil {
						t.Fatalf("item %d starts on %v, and worker %d is busy until %v", it.Order, members, v, until[v])
					}
					runs[v], until[v], leads[v] = it, m.now+time(it), v == w
				}
				p.(Feedback).Started(it, w)
			}
		}
		next := -1
		for w := range n {
			if runs[w] != nil && (next < 0 || until[w] < until[next]) {
				next = w
			}
		}
		if next < 0 {
			if !p.Empty() {
				t.Fatal("all wait, and items are left")
			}
			return starts, end
		}
		m.now = until[next]
		end = m.now
		it := runs[next]
		for w := range n {
			if runs[w] == it {
				runs[w] = nil
				if leads[w] {
					p.(Feedback).Ended(it, w, time(it))
				}
			}
		}
	}
}

// TestPheftSchedule: a mix of sequential and parallel items, on the clock of the test. Gangs start
// when their workers come free, at the time that was expected, and what was queued behind them
// comes behind them.
func TestPheftSchedule(t *testing.T) {
	m := newWorld(make([]Worker, 4)...)
	times := map[int64][]float64{5: {12, 6, 4, 3}, 6: {4, 2, 2, 2}, 7: {6, 6.5, 7, 8}}
	gangs := m.gangs(4, times)
	m.exec = map[int64][]float64{1: {2, 2, 2, 2}, 2: {2, 2, 2, 2}, 3: {1, 1, 1, 1}, 4: {1, 1, 1, 1}, 8: {2, 2, 2, 2}, 9: {1, 1, 1, 1}}
	p := m.policy(t, "pheft")
	for i := range int64(9) {
		p.Push(&Item{Order: i + 1}, Outside)
	}
	sizes := map[int64]int{}
	for i, g := range gangs {
		sizes[i] = g.Size
	}
	starts, end := m.simulate(t, p, 4, func(it *Item) float64 {
		if g := gangs[it.Order]; g != nil {
			return times[it.Order][g.Size-1]
		}
		return m.exec[it.Order][0]
	})
	// 1 to 4 take two workers until 2, two until 1. 5 takes all from 2 to 5. 6 gets two of them until 7,
	// 7 one until 11, 8 the fourth until 7; 9 follows one of those.
	want := map[int64]float64{1: 0, 2: 0, 3: 0, 4: 0, 5: 2, 6: 5, 7: 5, 8: 5, 9: 7}
	for i, s := range want {
		if starts[i] != s {
			t.Errorf("item %d starts at %v, want %v", i, starts[i], s)
		}
	}
	if sizes[5] != 4 || sizes[6] != 2 || sizes[7] != 1 || end != 11 {
		t.Errorf("sizes %v, end %v", sizes, end)
	}
}

// TestPheftGuesses: where a worker takes longer than was expected, others that do nothing take its
// place, and the gang starts.
func TestPheftGuesses(t *testing.T) {
	m := newWorld(make([]Worker, 4)...)
	m.gangs(2, map[int64][]float64{5: {9, 1}, 6: {9, 1}})
	for i := range int64(4) {
		m.exec[i+1] = slices.Repeat([]float64{float64(i + 1)}, 4)
	}
	p := m.policy(t, "pheft")
	for i := range int64(5) {
		p.Push(&Item{Order: i + 1}, Outside) // 5 is for those that run 1 and 2
	}
	var ran [4]*Item
	for w := range ran {
		ran[w] = p.Pop(w)
		p.(Feedback).Started(ran[w], w)
	}
	m.now = 4 // 1 and 2 go on
	var got []*Item
	for w, it := range ran {
		if it.Order > 2 {
			p.(Feedback).Ended(it, w, m.now)
			got = append(got, p.Pop(w))
		}
	}
	if got[0] != nil || got[1] == nil || got[1].Order != 5 {
		t.Errorf("workers that do nothing get %v", got)
	}
}

// TestPeager: an item gets the workers that found nothing, apart from those that other items need.
func TestPeager(t *testing.T) {
	for name, c := range map[string]struct {
		idle   []int // workers that asked before
		others int   // items queued behind it
		most   int
		want   int
	}{
		"none idle":         {nil, 0, 4, 1},
		"all idle":          {[]int{1, 2, 3}, 0, 4, 4},
		"one idle":          {[]int{2}, 0, 4, 2},
		"bounded":           {[]int{1, 2, 3}, 0, 3, 3},
		"one for the other": {[]int{1, 2, 3}, 1, 4, 3},
		"all for others":    {[]int{1, 2, 3}, 5, 4, 1},
	} {
		m := newWorld(Worker{}, Worker{}, Worker{}, Worker{}, Worker{Arch: "gpu", Node: 1})
		gangs := m.gangs(c.most, map[int64][]float64{1: {1, 1, 1, 1}, 50: {1, 1, 1, 1}})
		p := m.policy(t, "peager")
		for _, w := range append(c.idle, 4) { // the device is never one of them
			if p.Pop(w) != nil {
				t.Fatal(name)
			}
		}
		p.Push(&Item{Order: 1}, Outside)
		for i := range c.others {
			p.Push(&Item{Order: int64(2 + i)}, Outside)
		}
		if it := p.Pop(0); it.Order != 1 || gangs[1].Size != c.want || gangs[1].Workers != nil {
			t.Errorf("%s: item %d with %d workers, want %d", name, it.Order, gangs[1].Size, c.want)
		}
		for range c.others {
			p.Pop(0)
		}
		p.Push(&Item{Order: 50}, Outside) // which counts on none that is a member
		if p.Pop(0); gangs[50].Size != min(c.most, 1+len(c.idle)-(c.want-1)) {
			t.Errorf("%s: then %d workers", name, gangs[50].Size)
		}
	}
}

// TestPheftLeave: a worker whose item never started, and that went to the items of another policy, does not keep a
// team waiting.
func TestPheftLeave(t *testing.T) {
	m := newWorld(make([]Worker, 2)...)
	m.gangs(2, map[int64][]float64{2: {9, 1}})
	m.exec[1] = []float64{1, 1}
	p := m.policy(t, "pheft")
	p.Push(&Item{Order: 1}, Outside)
	w := 0
	for w < 2 && p.Pop(w) == nil {
		w++
	}
	p.Push(&Item{Order: 2}, Outside)
	if it := p.Pop(1 - w); it != nil {
		t.Fatalf("worker %d gets %v, while the other has an item", 1-w, it)
	}
	p.(Leaver).Leave(w)
	if it := p.Pop(1 - w); it == nil || it.Order != 2 {
		t.Errorf("worker %d gets %v once the other has left", 1-w, it)
	}
}

// TestPheftReserved: a worker with a place in a team gets nothing else before the team starts or is given up, so that
// the team does not wait for the end of that. It is woken then.
func TestPheftReserved(t *testing.T) {
	for _, started := range []bool{true, false} {
		m := newWorld(make([]Worker, 2)...)
		m.gangs(2, map[int64][]float64{1: {9, 1}})
		m.exec[2] = []float64{1, 1}
		var woken []int
		m.Wake = func(w int) { woken = append(woken, w) }
		p := m.policy(t, "pheft")
		p.Push(&Item{Order: 1}, Outside)
		p.Push(&Item{Order: 2, Allowed: NewSet(1)}, Outside)
		team := p.Pop(0)
		if team == nil || team.Order != 1 {
			t.Fatalf("worker 0 gets %v", team)
		}
		p.(Leaver).Leave(1)
		if it := p.Pop(1); it != nil {
			t.Errorf("worker 1 gets item %d, and has a place in a team", it.Order)
		}
		if started {
			p.(Feedback).Started(team, 0)
		} else if it := p.Pop(0); it != nil {
			t.Errorf("worker 0 gets item %d", it.Order)
		}
		if !slices.Equal(woken, []int{1}) {
			t.Errorf("started %v: %v are woken", started, woken)
		}
		if it := p.Pop(1); it == nil || it.Order != 2 {
			t.Errorf("started %v: then worker 1 gets %v", started, it)
		}
	}
}
