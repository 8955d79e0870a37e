package sched

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Policies with one queue, and lws, keep priorities across workers, too.
func TestPrioritiesAcrossWorkers(t *testing.T) {
	for _, name := range []string{"lws", "eager", "prio"} {
		e, _ := Lookup(name)
		p := e.New(CPUs(2))
		var items []*Item
		for i, prio := range []int32{0, 3, -1, 3, 7, 0, -5, 1} {
			items = append(items, &Item{Priority: prio, Order: int64(i)})
			p.Push(items[i], Outside)
		}
		var got []int64
		for it := p.Pop(1); it != nil; it = p.Pop(1) {
			got = append(got, it.Order)
		}
		want := []int64{4, 1, 3, 7, 0, 5, 2, 6}
		if e.Priorities == Front {
			want = []int64{1, 3, 4, 7, 0, 2, 5, 6}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", e.Name, got, want)
		}
	}
}

// Items that one goroutine pushes by falling priority are popped so, also while it pushes.
func TestPrioritiesWhilePushing(t *testing.T) {
	for _, e := range Table() {
		if e.Priorities == Unordered {
			continue
		}
		p := e.New(CPUs(1))
		for round := range 2000 {
			prios := []int32{5, 5, 2, 1, 0, 0, -1, -4, -4}
			if e.Priorities == Front {
				prios = []int32{1, 1, 1, 1, 0, 0, 0, 0, 0}
			}
			go func() {
				for i, prio := range prios {
					p.Push(&Item{Priority: prio, Order: int64(i + 1)}, Outside)
				}
			}()
			got := make([]int32, 0, len(prios))
			for len(got) < len(prios) {
				if it := p.Pop(0); it != nil {
					got = append(got, it.Priority)
				} else {
					runtime.Gosched()
				}
			}
			if !slices.Equal(got, prios) {
				t.Errorf("%s, round %d: %v, want %v", e.Name, round, got, prios)
				break
			}
		}
	}
}

// A worker goes on with what its last task released.
func TestLocality(t *testing.T) {
	for _, name := range []string{"lws", "ws"} {
		e, _ := Lookup(name)
		p := e.New(CPUs(2))
		a, b, c := &Item{Order: 1}, &Item{Order: 2}, &Item{Order: 3}
		p.Push(a, Outside)
		p.Pop(0)
		if to := p.Push(b, 0); to != Nobody {
			t.Error(name, to)
		}
		if to := p.Push(c, 0); to != Anyone {
			t.Error(name, to)
		}
		p.Push(a, Outside)
		if it := p.Pop(0); it == a {
			t.Error(name, it)
		}
		for range 2 {
			if it := p.Pop(1); it == nil {
				t.Error(name, "not taken from the neighbour")
			}
		}
	}
}

// An idle worker takes from the longest queue, the oldest item first; the owner runs the
// newest first.
func TestStealFromTheMostLoaded(t *testing.T) {
	e, _ := Lookup("ws")
	p := e.New(CPUs(3))
	for i, from := range []int{0, 1, 1, 1, 0} {
		p.Push(&Item{Order: int64(i)}, from)
	}
	for i, want := range []struct {
		w     int
		order int64
	}{{2, 1}, {1, 3}, {2, 0}, {0, 4}, {0, 2}} {
		if it := p.Pop(want.w); it == nil || it.Order != want.order {
			t.Errorf("step %d: worker %d got %v, want item %d", i, want.w, it, want.order)
		}
	}
}

// The dice of random know speeds, and fall the same way for the same seed.
func TestRandomWeights(t *testing.T) {
	deal := func(text string) (counts [3]int, order []int) {
		e, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		p := e.New(Machine{Workers: []Worker{{}, {Speed: 2}, {Arch: "gpu", Speed: 5}}})
		for i := range 8000 {
			w := p.Push(&Item{Order: int64(i)}, Outside)
			counts[w]++
			order = append(order, w)
		}
		return counts, order
	}
	counts, first := deal("random")
	for w, share := range []int{1000, 2000, 5000} {
		if counts[w] < share-300 || counts[w] > share+300 { // more than eight standard deviations off
			t.Errorf("worker %d got %d of 8000 items, about %d are its share", w, counts[w], share)
		}
	}
	if _, again := deal("random:seed=1"); !slices.Equal(first, again) {
		t.Error("the same seed, and other choices")
	}
	if _, other := deal("random:seed=2"); slices.Equal(first, other) {
		t.Error("another seed, and the same choices")
	}
}

func TestSet(t *testing.T) {
	s := NewSet(3, 64, 200)
	for w := range 300 {
		if s.Has(w) != (w == 3 || w == 64 || w == 200) {
			t.Error(w)
		}
	}
	if s.First() != 3 || NewSet(200, 64).First() != 64 || NewSet().First() != -1 {
		t.Error("first of sets")
	}
	if s.Key() != NewSet(200, 3, 64).Key() || s.Key() == NewSet(3, 64).Key() {
		t.Error("keys of sets")
	}
}

func TestTable(t *testing.T) {
	if _, ok := Lookup(Default); !ok {
		t.Error("no default policy")
	}
	if _, ok := Lookup("nothing"); ok {
		t.Error("found nothing")
	}
	for _, n := range Names() {
		e, ok := Lookup(n)
		if !ok || e.Doc == "" || e.New(Machine{Workers: make([]Worker, 2)}) == nil {
			t.Error(n)
		}
		text := n
		for i, o := range e.Options {
			text += map[bool]string{true: ":", false: ","}[i == 0] + o.Name + "=" + number(o.Default)
			if o.Doc == "" || o.Default < o.Least {
				t.Error(n, o)
			}
		}
		if e, err := Parse(text); err != nil || e.New(CPUs(1)) == nil {
			t.Error(text, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                     `no scheduling policy ""; there are: lws, `,
		"heft2":                `no scheduling policy "heft2"; there are: lws, `,
		"lws:steal=1":          `scheduling policy lws: no option "steal"; it has no options`,
		"random:":              `scheduling policy random: "" should be OPTION=NUMBER; options: seed=1`,
		"random:seed":          `"seed" should be OPTION=NUMBER; options: seed=1`,
		"random:seed=x":        `seed must be a number, not "x"`,
		"random:seed=NaN":      `seed must be a number, not "NaN"`,
		"random:seed=1.5":      `seed must be a whole number, not 1.5`,
		"random:seed=1e99":     `seed must be a whole number, not 1e99`,
		"random:seed=-1":       `seed must be at least 0, not -1`,
		"random:seed=1,seed=1": `seed is given twice`,
		"random:seed=1,a=2":    `no option "a"`,
	} {
		_, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
			continue
		}
		var u *UnknownError
		var o *OptionError
		if !errors.As(err, &u) && !errors.As(err, &o) {
			t.Errorf("%q: %T", text, err)
		}
	}
}

// A worker finds what it may run behind any number of items that it may not, and does
// not take a queue in which it found nothing to have nothing for it ever after.
func TestItemBehindThoseOfAnother(t *testing.T) {
	zero, one, both := NewSet(0), NewSet(1), NewSet(0, 1)
	for _, e := range Table() {
		p := e.New(CPUs(2))
		push := func(n int, allowed *Set) {
			for range n {
				p.Push(&Item{Allowed: allowed}, Outside)
			}
		}
		push(100, zero)
		for round := range 2 {
			push(150, one)
			push(5, both)
			n := 0
			for it := p.Pop(1); it != nil; it = p.Pop(1) {
				if it.Allowed == zero {
					t.Fatalf("%s: an item that the worker may not run", e.Name)
				}
				n++
			}
			if n != 155 {
				t.Errorf("%s, round %d: %d items, want 155", e.Name, round, n)
			}
		}
	}
}
