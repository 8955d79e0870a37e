package perf

// Tables: what is known of one codelet while a program runs.

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"sync"
	"time"
)

// Source says where an estimate comes from.
type Source uint8

// The sources of estimates.
const (
	Nothing      Source = iota // there is no estimate
	UserFunction               // Cost of the model
	Measured                   // the recent median of the footprint
	Curve                      // the fitted curve, at a size like those measured
	Extrapolated               // the fitted curve, far from what was measured
)

// Estimate is a prediction of the time of a task.
type Estimate struct {
	Seconds  float64 // 0 when there is no estimate
	Mean     float64 // of many tasks, which is more where some take much longer; of a footprint that was measured, else Seconds
	Known    bool    // good enough to decide by
	Source   Source
	Samples  int64   // measurements behind it
	RelError float64 // relative standard error of a median, typical relative distance of a curve; NaN for functions
	Variant  string  // of what was measured; see Call
}

// Table is the measurements of one codelet. It is made by Book.Table.
type Table struct {
	book  *Book
	key   Key
	model *Model

	mu struct {
		sync.RWMutex
		groups  []*group // few: searched from the front
		changed bool     // since it was saved
		loadErr error    // why nothing is saved
		gen     int64    // generation of the file when it was loaded
		anew    bool     // the file is to be forgotten when we save
	}
}

type groupKey struct {
	arch    string
	impl    int
	variant string
	workers int
}

// group is what is known of one variant of an implementation on one architecture, with one number
// of workers.
type group struct {
	groupKey
	cells map[Footprint]*cell
	total int64 // samples
	curve Fit
	at    int64 // value of total when curve was fitted
}

// cell is an entry: with what was in the file, and what this program added.
type cell struct {
	Sized
	added Entry
}

// load fills in what the file holds; at level 2 nothing.
func (t *Table) load() {
	if err := t.model.Check(); err != nil {
		t.model, t.mu.loadErr = defaultModel, fmt.Errorf("performance model of codelet %s: %w", t.key.Codelet, err)
		return
	}
	if !t.kept() || !t.model.Kind.measured() {
		return
	}
	f, err := t.book.store.Load(t.key)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		t.mu.loadErr = err
		return
	}
	t.mu.gen = f.Generation
	if t.book.calibrate >= Anew {
		t.mu.anew = true
		return
	}
	f.suit(t.model)
	for _, fg := range f.Groups {
		g := t.groupLocked(groupKey{fg.Arch, fg.Impl, fg.Variant, fg.Workers})
		for _, e := range fg.Entries {
			g.cells[e.Footprint] = &cell{Sized: *e}
			g.total += e.Samples()
		}
	}
}

// kept reports whether the table has a file. Codelets without a name have none, as a file
// could not be matched with its codelet.
func (t *Table) kept() bool { return t.book.store != nil && t.key.Codelet != "" }

// findLocked returns the group of k, nil when there is none.
func (t *Table) findLocked(k groupKey) *group {
	for _, g := range t.mu.groups {
		if g.groupKey == k {
			return g
		}
	}
	return nil
}

// groupLocked returns the group of k, and makes it if need be.
func (t *Table) groupLocked(k groupKey) *group {
	g := t.findLocked(k)
	if g == nil {
		g = &group{groupKey: k, cells: map[Footprint]*cell{}}
		t.mu.groups = append(t.mu.groups, g)
	}
	return g
}

// Estimate predicts the time of a call.
func (t *Table) Estimate(c *Call) Estimate {
	m := t.model
	if !m.Kind.measured() {
		if s := m.cost(c); s > 0 {
			return Estimate{Seconds: s, Mean: s, Known: true, Source: UserFunction, RelError: math.NaN()}
		}
		return Estimate{RelError: math.NaN()}
	}
	params := m.params(c)
	size := m.size(c)
	fp := m.footprint(c, size, params)
	k := groupKey{c.Arch, c.Impl, c.Variant, c.Workers}

	t.mu.RLock()
	g := t.findLocked(k)
	if g == nil {
		t.mu.RUnlock()
		return Estimate{RelError: math.NaN()}
	}
	median := g.median(m, fp)
	stale := g.stale(m)
	curve := g.curve
	t.mu.RUnlock()

	if m.Kind == History {
		return median
	}
	if stale {
		t.mu.Lock()
		if g.stale(m) {
			g.refit(m)
		}
		curve = g.curve
		t.mu.Unlock()
	}
	return t.choose(curve, median, c.Variant, size, params)
}

// choose takes the curve where it was measured, unless the footprint's own median is
// known better; elsewhere that median, else what the curve would say.
func (t *Table) choose(curve Fit, median Estimate, variant string, size float64, params []float64) Estimate {
	m := t.model
	if curve.Err != nil || m.Kind == Multiple && params == nil || m.Kind != Multiple && size <= 0 {
		return median
	}
	e := Estimate{Seconds: curve.At(size, params, m.Terms), Source: Curve, Samples: curve.Samples, RelError: curve.RelError, Variant: variant}
	if !usable(e.Seconds) {
		return median
	}
	e.Mean = e.Seconds
	inside := curve.covers(size, params)
	if median.Known && !(inside && curve.RelError < median.RelError) {
		return median
	}
	if inside {
		e.Known = true
		return e
	}
	e.Source = Extrapolated
	return e
}

// median is the estimate of an entry.
func (g *group) median(m *Model, fp Footprint) Estimate {
	c := g.cells[fp]
	if c == nil || c.N == 0 || !usable(c.Median()) {
		return Estimate{RelError: math.NaN()}
	}
	return Estimate{Seconds: c.Median(), Mean: c.Expectation(), Known: c.N >= m.minSamples(), Source: Measured, Samples: c.N, RelError: c.RelError(), Variant: g.variant}
}

// stale reports whether there is half as much again as when the curve was fitted.
func (g *group) stale(m *Model) bool {
	return m.Kind != History && (g.at == 0 && g.total > 0 || g.total > g.at+g.at/2)
}

func (g *group) refit(m *Model) {
	var entries []*Sized
	for _, c := range g.cells {
		entries = append(entries, &c.Sized)
	}
	sortEntries(entries) // sums in one order: the same curve every time
	g.curve = fitEntries(m.Kind, entries, m.Terms, len(m.ParamNames), m.minSamples())
	g.at = g.total
}

// add counts what a recorder collected. It returns the number of samples that the
// entry has now.
func (t *Table) add(k groupKey, s *Sized) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.mu.groups) >= maxGroups && t.findLocked(k) == nil {
		return s.Samples()
	}
	g := t.groupLocked(k)
	c := g.cells[s.Footprint]
	if c == nil {
		if len(g.cells) >= maxEntries {
			g.forget(maxEntries / 4)
		}
		c = &cell{Sized: *s}
		c.Entry = Entry{} // s keeps its room
		g.cells[s.Footprint] = c
	}
	c.Merge(&s.Entry)
	c.added.Merge(&s.Entry)
	c.measure(s)
	c.Last = s.Last
	g.total += s.Samples()
	t.mu.changed = true
	return c.Samples()
}

// forget drops the n entries that have not grown for longest. Measurements of this
// program for them go, too.
func (g *group) forget(n int) {
	var all []*Sized
	for _, c := range g.cells {
		all = append(all, &c.Sized)
	}
	sortEntries(all)
	sortByAge(all)
	for _, e := range all[:min(n, len(all))] {
		delete(g.cells, e.Footprint)
	}
}

// known reports whether the entry of a call needs no more measurements.
func (t *Table) known(k groupKey, fp Footprint) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	g := t.findLocked(k)
	if g == nil {
		return false
	}
	return g.median(t.model, fp).Known
}

// save adds to the file what was measured since the last save.
func (t *Table) save() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.loadErr != nil {
		return t.mu.loadErr
	}
	if !t.mu.changed || !t.kept() || t.book.calibrate == UseOnly {
		return nil
	}
	m := t.model
	delta := &File{Key: t.key}
	for _, g := range t.mu.groups {
		d := delta.group(g.groupKey)
		for _, c := range g.cells {
			if c.added.Samples() > 0 {
				s := c.Sized
				s.Entry = c.added
				d.Entries = append(d.Entries, &s)
			}
		}
	}
	delta.sort()
	err := t.book.store.Update(t.key, func(f *File) {
		if t.mu.anew && f.Generation == t.mu.gen {
			// no other process has begun anew since we did
			f.Groups, f.Generation = nil, f.Generation+1
		}
		f.suit(m)
		f.Kind, f.SizeUnit, f.ParamNames, f.Terms = m.Kind, m.sizeUnit(), m.ParamNames, m.Terms
		f.Merge(delta)
	})
	if err != nil {
		return err
	}
	for _, g := range t.mu.groups {
		for _, c := range g.cells {
			c.added.clear()
		}
	}
	t.mu.changed, t.mu.anew = false, false
	return nil
}

// now is the time in files.
func now() int64 { return time.Now().Unix() }
