package cli

// starpush check --fix: edits that diagnostics carry and that leave no doubt.

import (
	"context"
	"fmt"
	"slices"

	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/lang/diag"
)

// maxFixRounds bounds how often a script is checked again after edits: what did not
// parse hides what is wrong elsewhere, and a check reports a hundred syntax errors.
const maxFixRounds = 10

// maxFixedShown is how many edits are listed.
const maxFixedShown = 500

// fixed is one diagnostic whose edits were made.
type fixed struct {
	at   string // file:line:column, in the text as it was then
	what string
}

// fixScript returns src with the certain edits of what comp reports in the file shown,
// until none is left, and what they were.
func fixScript(ctx context.Context, comp *lang.Compiler, shown string, src []byte) ([]byte, []fixed) {
	var all []fixed
	seen := []string{string(src)}
	for range maxFixRounds {
		_, diags := comp.Compile(ctx, shown, src)
		fixes, done := certainFixes(shown, diags)
		next := diag.Apply(shown, string(src), fixes)
		if slices.Contains(seen, next) || ctx.Err() != nil {
			break // nothing left, or edits that take each other back
		}
		seen = append(seen, next)
		src, all = []byte(next), append(all, done...)
	}
	return src, all
}

// certainFixes collects the edits of diags in the file shown. Those of a diagnostic are
// made together or, when one touches an edit of another, left for the next round.
func certainFixes(shown string, diags lang.Diagnostics) (fixes []lang.Fix, done []fixed) {
	for i := range diags {
		d := &diags[i]
		if !d.IsSure() || slices.ContainsFunc(d.Fixes, func(f lang.Fix) bool { return f.Span.File != shown || touches(fixes, f) }) {
			continue
		}
		fixes = append(fixes, d.Fixes...)
		at := d.Span.Start
		what := d.Message
		if len(d.Help) > 0 {
			what += "; " + d.Help[0]
		}
		done = append(done, fixed{fmt.Sprintf("%s:%d:%d", shown, at.Line, at.Col), what})
	}
	return fixes, done
}

// touches reports whether f overlaps or borders on one of fixes.
func touches(fixes []lang.Fix, f lang.Fix) bool {
	return slices.ContainsFunc(fixes, func(o lang.Fix) bool {
		return f.Span.Start.Offset <= o.Span.End.Offset && o.Span.Start.Offset <= f.Span.End.Offset
	})
}

// fixFile makes the certain edits in a file, writes it if there are any and says what
// they were. It returns the text that is to be checked.
func (a *app) fixFile(ctx context.Context, comp *lang.Compiler, name, shown string, src []byte) ([]byte, error) {
	out, done := fixScript(ctx, comp, shown, src)
	if len(done) == 0 {
		return src, nil
	}
	if err := writeFile(name, out); err != nil {
		return src, fmt.Errorf("%s is unchanged: %w", shown, err)
	}
	if a.json == nil {
		for _, f := range done[:min(len(done), maxFixedShown)] {
			fmt.Fprintf(a.con.err, "%s: fixed: %s\n", f.at, f.what)
		}
		if more := len(done) - maxFixedShown; more > 0 {
			fmt.Fprintf(a.con.err, "%s: fixed: %d more places\n", shown, more)
		}
	}
	return out, nil
}
