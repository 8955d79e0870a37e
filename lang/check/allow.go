package check

// W0101, and warnings that comments allow.

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
)

// planCodes are warnings that plans raise, depending on sizes and times: that there is
// none today does not say that there never is.
var planCodes = []string{"W1001", "W1002", "W1003"}

// Allowed returns ds without the warnings that comments of f allow. It does not change ds.
func Allowed(f *syntax.File, ds diag.Diagnostics) diag.Diagnostics {
	return allowed(f, syntax.Allowances(f), ds)
}

func allowed(f *syntax.File, as []syntax.Allowance, ds diag.Diagnostics) diag.Diagnostics {
	if len(as) == 0 || len(ds) == 0 {
		return ds
	}
	covers := map[string][]syntax.Span{} // by code, in the order of the text and disjoint
	for _, a := range as {
		covers[a.Code] = append(covers[a.Code], a.Covers)
	}
	for code, spans := range covers {
		slices.SortFunc(spans, func(a, b syntax.Span) int { return int(a.Lo - b.Lo) })
		joined := spans[:1]
		for _, s := range spans[1:] {
			if last := &joined[len(joined)-1]; s.Lo <= last.Hi {
				last.Hi = max(last.Hi, s.Hi)
			} else {
				joined = append(joined, s)
			}
		}
		covers[code] = joined
	}
	out := make(diag.Diagnostics, 0, len(ds))
	for _, d := range ds {
		spans, at := covers[d.Code], int32(d.Span.Start.Offset)
		k := sort.Search(len(spans), func(i int) bool { return spans[i].Hi > at })
		if d.Severity == diag.Warning && d.Span.File == f.Source.Name && k < len(spans) && spans[k].Lo <= at {
			continue
		}
		out = append(out, d)
	}
	return out
}

// applyAllowances takes the warnings that comments of f allow out of ds, and reports comments
// that allow nothing (W0101), unless there are errors: what is wrong may keep warnings from
// being found.
func applyAllowances(f *syntax.File, ds diag.Diagnostics) diag.Diagnostics {
	as := syntax.Allowances(f)
	if len(as) == 0 {
		return ds
	}
	out := allowed(f, as, ds)
	if ds.Err() != nil {
		return out
	}
	at := map[string][]int{} // where the warnings are, by code
	for _, d := range ds {
		if d.Severity == diag.Warning && d.Span.File == f.Source.Name {
			at[d.Code] = append(at[d.Code], d.Span.Start.Offset)
		}
	}
	for _, offsets := range at {
		slices.Sort(offsets)
	}
	for _, a := range as {
		d := diag.Diagnostic{Code: "W0101", Severity: diag.Warning, Span: f.At(a.At)}
		_, known := diag.Explain(a.Code)
		k, _ := slices.BinarySearch(at[a.Code], int(a.Covers.Lo))
		switch {
		case known && slices.Contains(planCodes, a.Code), k < len(at[a.Code]) && at[a.Code][k] < int(a.Covers.Hi):
			continue
		case known && strings.HasPrefix(a.Code, "W"):
			d.Message = fmt.Sprintf("this comment allows `%s`, and there is no such warning", a.Code)
			d.Help = []string{"remove it, or write it at the end of the line with the warning, or on the line above"}
		case known:
			d.Message = fmt.Sprintf("this comment allows `%s`, which is an error; only warnings can be allowed", a.Code)
			d.Help = []string{"remove it, and mend the error"}
		default:
			d.Message = fmt.Sprintf("this comment allows `%s`, and there is no such code", a.Code)
			d.Help = []string{"remove it, or write the code that the warning shows, such as W1004"}
		}
		if a.Alone {
			lo := len(strings.TrimRight(f.Source.Text[:a.Comment.Lo], " \t"))
			d.Edit(f.Source.Span(lo, int(a.Comment.Hi)), "")
		}
		out = append(out, d)
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Span.Start.Offset < out[j].Span.Start.Offset })
	return out
}
