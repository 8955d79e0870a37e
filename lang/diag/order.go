package diag

// Order: sorting diagnostics, dropping repeated ones, and bounding how many there are.

import (
	"fmt"
	"slices"
	"sort"
	"unicode/utf8"
)

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

// Bounds of Bounded. A script of a generator can have a mistake in each of its words.
const (
	maxGroups      = 100       // different messages
	maxDiagnostics = 1000      // diagnostics
	maxBytes       = 256 << 10 // bytes of the texts of all diagnostics
	maxText        = 8 << 10   // bytes of one text
	spanBytes      = 64        // what a place counts beside its text
)

// A group is what diagnostics have in common that are shown as one.
type group struct {
	sev       Severity
	code, msg string
}

func (d *Diagnostic) group() group { return group{d.Severity, d.Code, d.Message} }

// Bounded returns ds without what exceeds 100 different messages, 1000 diagnostics or
// 256 KiB of text; errors are kept before warnings. The last diagnostic of a list that
// lost some counts them in Omitted. Texts longer than 8 KiB are cut. ds is not changed,
// and a list within these bounds is returned as it is.
func (ds Diagnostics) Bounded() Diagnostics {
	bytes := 0
	short := true
	groups := map[group]bool{}
	for i := range ds {
		n, longest := ds[i].bytes()
		bytes += n
		short = short && longest <= maxText
		if len(groups) <= maxGroups {
			groups[ds[i].group()] = true
		}
	}
	if short && bytes <= maxBytes && len(ds) <= maxDiagnostics && len(groups) <= maxGroups {
		return ds
	}
	keep := make([]bool, len(ds))
	kept, omitted := 0, 0
	bytes, groups = 0, map[group]bool{}
	for _, sev := range []Severity{Error, Warning} {
		for i := range ds {
			if ds[i].Severity != sev {
				continue
			}
			cut := ds[i].clipped()
			n, _ := cut.bytes()
			g := cut.group()
			if kept > 0 && (kept == maxDiagnostics || bytes+n > maxBytes || !groups[g] && len(groups) == maxGroups) {
				omitted++
				continue
			}
			groups[g] = true
			keep[i] = true
			kept++
			bytes += n
		}
	}
	out := make(Diagnostics, 0, kept)
	for i := range ds {
		omitted += ds[i].Omitted
		if keep[i] {
			out = append(out, ds[i].clipped())
			out[len(out)-1].Omitted = 0
		}
	}
	out[len(out)-1].Omitted = omitted
	return out
}

// OmittedText says that a list lacks n diagnostics.
func OmittedText(n int) string {
	if n == 1 {
		return "1 more error or warning is not shown"
	}
	return fmt.Sprintf("%d more errors or warnings are not shown", n)
}

// bytes is how much text d has, and how much the longest piece of it.
func (d *Diagnostic) bytes() (all, longest int) {
	count := func(s string) {
		all += len(s)
		longest = max(longest, len(s))
	}
	count(d.Message)
	count(d.Label)
	for _, l := range d.Labels {
		count(l.Text)
		all += spanBytes
	}
	for _, list := range [][]string{d.Notes, d.Help} {
		for _, s := range list {
			count(s)
		}
	}
	for _, f := range d.Stack {
		count(f.Call)
	}
	for _, f := range d.Fixes { // an edit cannot be cut
		all += len(f.NewText) + spanBytes
	}
	return all, longest
}

// clipped is d with its long texts cut.
func (d *Diagnostic) clipped() Diagnostic {
	out := *d
	if _, longest := d.bytes(); longest <= maxText {
		return out
	}
	out.Message, out.Label = clipText(d.Message), clipText(d.Label)
	out.Labels, out.Notes, out.Help, out.Stack = slices.Clone(d.Labels), slices.Clone(d.Notes), slices.Clone(d.Help), slices.Clone(d.Stack)
	for i := range out.Labels {
		out.Labels[i].Text = clipText(out.Labels[i].Text)
	}
	for _, list := range [][]string{out.Notes, out.Help} {
		for i := range list {
			list[i] = clipText(list[i])
		}
	}
	for i := range out.Stack {
		out.Stack[i].Call = clipText(out.Stack[i].Call)
	}
	return out
}

func clipText(s string) string {
	if len(s) <= maxText {
		return s
	}
	n := maxText - len("…")
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
