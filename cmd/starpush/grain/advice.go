package grain

// Advice: one message for each insert, with a line below that says what to do.

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/engine"
)

// ShortTask is the length of kernels on a CPU below which the rest of a task counts, as for W1001 of plans.
const ShortTask = 5 * time.Microsecond

const (
	goodTask      = 25 * time.Microsecond // from that on it does not
	shortOnDevice = 20 * time.Microsecond // these two for inserts with tasks on devices
	goodOnDevice  = 100 * time.Microsecond
	longTask      = time.Millisecond // there is something to gain by more of them
	manyTasks     = 64               // of one insert: less is no matter

	mostPieces = 20 // of advice: those about the inserts whose tasks took most time
)

// Asked is what Advice goes by besides what it heard.
type Asked struct {
	Workers  int
	Duration func(time.Duration) string
	// Numbers says whether the tasks of an insert are handed numbers that may depend on
	// the parts, of the Data of its engine.Site.
	Numbers func(data any) bool
	// Device says whether a worker belongs to a device; nil: none does.
	Device func(worker int) bool

	names map[*datamgr.Handle]func(k int) string
}

// name is what the script calls a view, or what is split if that is not known.
func (a *Asked) name(s *split) string {
	if part := a.names[s.view.Parts[0]]; part != nil {
		if name := part(0); strings.Contains(name, "[") {
			return name[:strings.LastIndexByte(name, '[')]
		}
	}
	if name := s.view.Handle.Name(); name != "" {
		return name
	}
	return "the data"
}

// onDevice reports whether tasks of an insert ran on a device.
func (a *Asked) onDevice(s *insert) bool {
	if a.Device != nil {
		for w := range s.workers {
			if a.Device(w) {
				return true
			}
		}
	}
	return false
}

// DevicesOf returns Asked.Device for a runtime.
func DevicesOf(rt *engine.Runtime) func(worker int) bool {
	return func(w int) bool {
		info, err := rt.Worker(w)
		return err == nil && info.Kind != "cpu"
	}
}

// Advice says which inserts make tasks that are too short, or too few for the workers,
// with the filters that would do better. It is empty when there is nothing to say.
func (l *Listener) Advice(a Asked) (all []string) {
	l.mu.Lock()
	sites := slices.SortedFunc(maps.Keys(l.mu.sites), func(a, b *engine.Site) int {
		return cmp.Or(cmp.Compare(a.File, b.File), a.Line-b.Line, a.Col-b.Col)
	})
	var total time.Duration
	inserts := make([]*insert, len(sites))
	for k, site := range sites {
		s := *l.mu.sites[site]
		s.ops, s.workers = slices.Clone(s.ops), maps.Clone(s.workers)
		for i := range s.ops {
			s.ops[i].pieces.of = maps.Clone(s.ops[i].pieces.of)
		}
		inserts[k] = &s
		total += s.total
	}
	held := maps.Clone(l.mu.held.of)
	a.names = maps.Clone(l.mu.names.of)
	l.mu.Unlock() // events come with locks that views take

	find := finder{}
	of := families(inserts, held, find)
	plans := map[*family]*plan{}
	order := make([]int, len(inserts)) // those that took most first: they are said in full
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(inserts[y].total, inserts[x].total) })
	texts := map[int]string{}
	more := 0
	for _, k := range order {
		site, s := sites[k], inserts[k]
		mean := s.total / time.Duration(s.tasks)
		f := of[s]
		p := plans[f]
		if p == nil {
			p = &plan{}
			plans[f] = p
		}
		parts, dims := s.parts(f, find)
		var text, help string
		limit, good, cost := ShortTask, goodTask, "a task costs some tenths of a microsecond besides its kernel, and 1 µs where it waits for others"
		if a.onDevice(s) {
			limit, good, cost = shortOnDevice, goodOnDevice, "a task on a device costs some microseconds besides its kernel"
		}
		short := s.tasks >= manyTasks && mean < limit
		few := parts > 0 && parts < a.Workers && mean >= longTask && 2*s.total > total
		switch {
		case (short || few) && len(texts) == mostPieces:
			more++
			continue
		case short:
			text = fmt.Sprintf("%d tasks of %s each are too short: %s", s.tasks, a.Duration(mean), cost)
			better := int(math.Ceil(float64(parts) * float64(max(mean, 1)) / float64(good)))
			better = min(max(better, min(a.Workers, parts)), parts)
			help = "let each task do more: one codelet for what several do one after the other, or fewer and larger parts of all data whose sizes must fit"
			if parts > 1 && better < parts {
				ratio := math.Pow(float64(parts)/float64(better), 1/float64(dims))
				help = cmp.Or(a.change(p, site, f, s, dims, mean, func() (change, bool) { return f.coarser(ratio, find) }), help)
			}
		case few:
			text = fmt.Sprintf("%s too few for %d workers: %s at a time, of %s each", many(s.tasks, "task", "is", "are"), a.Workers, many(parts, "task", "", ""), a.Duration(mean))
			help = "if parts of its data can be computed one by one, split all data whose sizes must fit, and insert a task for each"
			if h := s.only(); h != nil {
				help = fmt.Sprintf("`%s` is one piece: if parts of it can be computed one by one, split it, as by `partition %s by %s`, and insert a task for each", h.Name(), h.Name(), filterFor(h, 2*a.Workers))
			}
			ratio := math.Pow(float64(2*a.Workers)/float64(parts), 1/float64(dims))
			help = cmp.Or(a.change(p, site, f, s, dims, mean, func() (change, bool) { return f.finer(ratio, find) }), help)
		default:
			continue
		}
		texts[k] = fmt.Sprintf("%s:%d  insert %s: %s\n  %s", site.File, site.Line, s.codelet, text, help)
	}
	for _, k := range slices.Sorted(maps.Keys(texts)) {
		all = append(all, texts[k])
	}
	if more > 0 {
		all = append(all, fmt.Sprintf("and %s, whose tasks took less time together", many(more, "more insert", "", "")))
	}
	return all
}

// plan is how the views of a family should change.
type plan struct {
	where string // the insert that says so; "": none did
	tries int
}

// mostTries bounds how often a change is looked for that fits all inserts of a family.
const mostTries = 8

// change says how the views of f change, "" if no change is found: the first insert says it
// in full, others name that insert.
func (a *Asked) change(p *plan, site *engine.Site, f *family, s *insert, dims int, mean time.Duration, find func() (change, bool)) string {
	if p.where != "" {
		return "its data goes together with that of " + p.where
	}
	if p.tries++; p.tries > mostTries {
		return ""
	}
	c, ok := find()
	if !ok {
		return ""
	}
	p.where = fmt.Sprintf("%s:%d", site.File, site.Line)
	return a.filters(site, f, c, s, dims, mean)
}

// filters says how all views of a family change.
func (a *Asked) filters(site *engine.Site, f *family, c change, s *insert, dims int, mean time.Duration) string {
	slices.SortFunc(f.splits, func(x, y *split) int {
		return cmp.Compare(x.view.Parts[0].ID(), y.view.Parts[0].ID())
	})
	var each []string
	for _, x := range f.splits {
		var now []int
		for _, a := range x.axes {
			now = append(now, c.of(a.parts))
		}
		each = append(each, fmt.Sprintf("`%s` by `%s` instead of `%s`", a.name(x), x.text(now), x.text(x.counts())))
	}
	p := f.splits[0].axes[0].parts
	took := time.Duration(float64(mean) * math.Pow(float64(p)/float64(c.of(p)), float64(dims)))
	text := "split " + strings.Join(each, ", ")
	if len(each) > 1 {
		text = "split together, as their parts must fit: " + strings.Join(each, ", ")
	}
	text += ", and let loops run over as many parts: each task would take about " + a.Duration(took)
	if a.Numbers != nil && a.Numbers(site.Data) {
		text += "\n  numbers that `" + s.codelet + "` is given besides must go along where they depend on the parts"
	}
	return text
}

// parts counts the pieces of data that the work is split into, by what is written, and
// of that the smallest, and along how many indices.
func (s *insert) parts(f *family, find finder) (n, dims int) {
	var least int64
	written := false
	for k := range s.ops {
		op := &s.ops[k]
		h := op.any()
		if h == nil || scalar(h) {
			continue // one element is not split
		}
		d := h.Desc()
		size := d.Bytes()
		switch {
		case n == 0 || op.writes && !written:
		case op.writes != written, op.writes && size >= least, !op.writes && op.pieces.count() <= n:
			continue
		}
		least, written, n, dims = size, op.writes, op.pieces.count(), 1
		if v, _ := find.of(h); v != nil {
			if x := f.split(v); x != nil {
				dims = len(x.axes)
			}
		}
	}
	return n, max(dims, 1)
}

// any is one of the pieces; the others are like it.
func (op *operand) any() *datamgr.Handle {
	for h := range op.pieces.of {
		return h
	}
	return nil
}

// only is the one whole datum with a name that the tasks of s work on; nil if there are
// several, or none.
func (s *insert) only() (one *datamgr.Handle) {
	for k := range s.ops {
		for h := range s.ops[k].pieces.of {
			switch {
			case scalar(h) || h == one:
			case one != nil || h.Parent() != nil || h.Name() == "":
				return nil
			default:
				one = h
			}
		}
	}
	return one
}

func many(n int, noun, one, more string) string {
	text, verb := fmt.Sprintf("%d %ss", n, noun), more
	if n == 1 {
		text, verb = "1 "+noun, one
	}
	return strings.TrimSpace(text + " " + verb)
}

// filterFor is a filter that splits data as a whole.
func filterFor(h *datamgr.Handle, parts int) string {
	d := h.Desc()
	parts = min(parts, d.Dim[0])
	switch d.Rank {
	case 3, 4:
		return fmt.Sprintf("axis(0, %d)", parts)
	case 2:
		return fmt.Sprintf("rows(%d)", parts)
	}
	return fmt.Sprintf("blocks(%d)", parts)
}
