package trace

// Granularity: whether the tasks of an insert are too short for what a task costs, or
// too few for the workers, and into how many parts their data should be split.

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

const (
	shortTask = 20 * time.Microsecond  // below that, what a task costs besides its kernel counts
	goodTask  = 100 * time.Microsecond // from that on it does not
	longTask  = time.Millisecond       // there is something to gain by more of them
	manyTasks = 64                     // of one insert: less is no matter
)

// siteSum is what the tasks of one insert took.
type siteSum struct {
	codelet string
	tasks   int
	total   time.Duration // in kernels
	pieces  map[int64]struct{}
	piece   *datamgr.Handle // the data that it is split by
}

// sumLocked adds a task that is done.
func (r *Recent) sumLocked(t *happened) {
	if t.origin.Site == nil || t.started.IsZero() {
		return
	}
	s := r.mu.sites[t.origin.Site]
	if s == nil {
		s = &siteSum{codelet: t.codelet, pieces: map[int64]struct{}{}}
		r.mu.sites[t.origin.Site] = s
	}
	s.tasks++
	s.total += t.ended.Sub(t.started)
	// what is written says how the work is split, and of that the smallest; one element is
	// not split
	var best *datamgr.Handle
	least := int64(math.MaxInt64)
	for _, o := range t.ops {
		if d := o.Handle.Desc(); o.Mode.Writes() && d.Kind.Rank() > 0 && d.Bytes() < least {
			best, least = o.Handle, d.Bytes()
		}
	}
	if best != nil && len(s.pieces) < 1<<12 {
		s.piece = best
		s.pieces[best.ID()] = struct{}{}
	}
}

// Granularity says which inserts make tasks that are too short, or too few for the
// workers, with the filter that would do better. "" when there is nothing to say.
func (r *Recent) Granularity(workers int, duration func(time.Duration) string) string {
	var sites []*engine.Site
	var all time.Duration
	sums := map[*engine.Site]siteSum{}
	r.mu.Lock()
	for site, s := range r.mu.sites {
		sites = append(sites, site)
		sums[site] = siteSum{s.codelet, s.tasks, s.total, maps.Clone(s.pieces), s.piece}
		all += s.total
	}
	r.mu.Unlock() // events come with locks that views take
	slices.SortFunc(sites, func(a, b *engine.Site) int {
		return cmp.Or(cmp.Compare(a.File, b.File), a.Line-b.Line, a.Col-b.Col)
	})
	var b strings.Builder
	for _, site := range sites {
		s := sums[site]
		mean := s.total / time.Duration(s.tasks)
		parts := len(s.pieces)
		where := fmt.Sprintf("%s:%d  insert %s", site.File, site.Line, s.codelet)
		switch {
		case s.tasks >= manyTasks && mean < shortTask:
			fmt.Fprintf(&b, "%s: %d tasks of %s each are too short: a task costs some microseconds besides its kernel\n", where, s.tasks, duration(mean))
			better := int(math.Ceil(float64(parts) * float64(max(mean, 1)) / float64(goodTask)))
			better = min(max(better, min(workers, parts)), parts)
			switch {
			case parts > 1 && better < parts:
				fmt.Fprintf(&b, "  %s\n", splitText(s.piece, parts, better, mean, duration))
			default:
				b.WriteString("  let each task do more: one codelet for what several do one after the other\n")
			}
		case parts > 0 && parts < workers && mean >= longTask && 2*s.total > all:
			fmt.Fprintf(&b, "%s: %s too few for %d workers: %s at a time, of %s each\n", where, many(s.tasks, "task", "is", "are"), workers, many(parts, "task", "", ""), duration(mean))
			fmt.Fprintf(&b, "  %s\n", splitText(s.piece, parts, 2*workers, mean, duration))
		}
	}
	return b.String()
}

func many(n int, noun, one, more string) string {
	text, verb := fmt.Sprintf("%d %ss", n, noun), more
	if n == 1 {
		text, verb = "1 "+noun, one
	}
	return strings.TrimSpace(text + " " + verb)
}

// splitText proposes to split the data of which h is a piece into other parts.
func splitText(h *datamgr.Handle, parts, better int, mean time.Duration, duration func(time.Duration) string) string {
	name := h.Root().Name()
	if name == "" {
		name = "the data"
	}
	each := duration(time.Duration(float64(mean) * float64(parts) / float64(better)))
	whole := h.Parent()
	if whole == nil {
		if better < parts {
			return fmt.Sprintf("%d data of their own: registered as one and split into %s, each task would take about %s", parts, "`blocks("+fmt.Sprint(better)+")`", each)
		}
		return fmt.Sprintf("`%s` is one piece: split, as by `partition %s by %s`, each task would take about %s", name, name, filterFor(h, better), each)
	}
	for _, v := range whole.Views() {
		if !slices.Contains(v.Parts, h) {
			continue
		}
		at := ""
		if s := h.Site(); s != nil && s.Line > 0 {
			at = fmt.Sprintf(" (%s:%d)", s.File, s.Line)
		}
		now := filter.Text(v.Filters, v.Dims)
		dims := slices.Clone(v.Dims)
		ratio := math.Pow(float64(better)/float64(parts), 1/float64(len(dims)))
		for k := range dims {
			dims[k] = max(1, int(math.Round(float64(dims[k])*ratio)))
		}
		return fmt.Sprintf("`%s` is split by %s%s: with `%s` each task would take about %s", name, now, at, filter.Text(v.Filters, dims), each)
	}
	return fmt.Sprintf("split `%s` into about %d parts: each task would take about %s", name, better, each)
}

// filterFor is a filter that splits data as a whole.
func filterFor(h *datamgr.Handle, parts int) string {
	switch d := h.Desc(); d.Kind {
	case iface.Block:
		return fmt.Sprintf("axis(0, %d)", parts)
	case iface.Matrix:
		return fmt.Sprintf("rows(%d)", parts)
	}
	return fmt.Sprintf("blocks(%d)", parts)
}
