package diag

// Order: sorting diagnostics and dropping repeated ones.

import "sort"

// Sort orders ds by file, in the order in which the files first appear, and by
// position; those at one place keep their order, and those without a place come first.
func (ds Diagnostics) Sort() {
	rank := map[string]int{}
	for i := range ds {
		if _, ok := rank[ds[i].Span.File]; !ok && !ds[i].Span.IsZero() {
			rank[ds[i].Span.File] = len(rank) + 1
		}
	}
	sort.SliceStable(ds, func(i, j int) bool {
		a, b := &ds[i].Span, &ds[j].Span
		if ra, rb := rank[a.File], rank[b.File]; ra != rb {
			return ra < rb
		}
		return a.Start.Offset < b.Start.Offset
	})
}

// Dedupe returns ds without those that repeat code, message and place of an
// earlier one. It does not change ds.
func (ds Diagnostics) Dedupe() Diagnostics {
	type key struct {
		code, msg, file string
		lo, hi          int
	}
	seen := make(map[key]bool, len(ds))
	out := make(Diagnostics, 0, len(ds))
	for _, d := range ds {
		k := key{d.Code, d.Message, d.Span.File, d.Span.Start.Offset, d.Span.End.Offset}
		if !seen[k] {
			seen[k] = true
			out = append(out, d)
		}
	}
	return out
}
