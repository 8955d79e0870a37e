package diag_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/starpush/starpush/lang/diag"
)

// Lists are cut where they have too many messages, diagnostics or bytes, errors are kept
// before warnings, and the last diagnostic says how many are missing.
func TestBounded(t *testing.T) {
	text := strings.Repeat("name ", 4000)
	src := diag.NewSource("a.spu", text)
	list := func(n int, sev diag.Severity, message func(i int) string) (ds diag.Diagnostics) {
		for i := range n {
			ds = append(ds, diag.Diagnostic{Severity: sev, Code: "E0201", Message: message(i), Span: src.Span(5*i, 5*i+4)})
		}
		return ds
	}
	same := func(int) string { return "no such name" }
	each := func(i int) string { return fmt.Sprintf("no such name: %d", i) }
	long := func(int) string { return strings.Repeat("é", 10_000) }
	for _, c := range []struct {
		name          string
		ds            diag.Diagnostics
		kept, omitted int
	}{
		{"few", list(100, diag.Error, each), 100, 0},
		{"many messages", list(4000, diag.Error, each), 100, 3900},
		{"one message", list(4000, diag.Error, same), 1000, 3000},
		{"long texts", list(100, diag.Error, long), 32, 68},
		{"warnings first", append(list(4000, diag.Warning, each), list(60, diag.Error, each)...), 100, 3960},
		{"none", nil, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := c.ds.Bounded()
			errors := 0
			for i, d := range out {
				if d.Severity == diag.Error {
					errors++
				}
				if d.Omitted != 0 && i < len(out)-1 {
					t.Errorf("diagnostic %d of %d counts what is missing", i, len(out))
				}
				if !utf8.ValidString(d.Message) {
					t.Errorf("a message was cut inside a rune")
				}
			}
			omitted := 0
			if len(out) > 0 {
				omitted = out[len(out)-1].Omitted
			}
			if len(out) != c.kept || omitted != c.omitted {
				t.Errorf("%d kept, %d omitted; want %d and %d", len(out), omitted, c.kept, c.omitted)
			}
			if c.name == "warnings first" && errors != 60 {
				t.Errorf("%d errors of 60 are kept", errors)
			}
			var b strings.Builder
			if err := c.ds.Render(&b, diag.Style{}); err != nil || b.Len() > 1<<20 {
				t.Errorf("%d bytes, %v", b.Len(), err)
			}
			if missing := strings.Contains(b.String(), diag.OmittedText(max(c.omitted, 2))); missing != (c.omitted > 0) {
				t.Errorf("the text ends with %q", b.String()[max(0, b.Len()-80):])
			}
			if again := out.Bounded(); len(again) != len(out) || len(again) > 0 && again[len(again)-1].Omitted != omitted {
				t.Errorf("a list that was cut is cut once more")
			}
		})
	}
}

// A mark in the middle of a long line is shown with what is around it, whatever its runes.
func TestLongLine(t *testing.T) {
	for _, unit := range []string{"word ", "wört ", "世界 ", "\t", "👩‍🚀 "} {
		line := strings.Repeat(unit, 20_000) + "HERE" + strings.Repeat(unit, 20_000)
		at := strings.Index(line, "HERE")
		src := diag.NewSource("a.spu", "first\n"+line+"\nlast")
		lo := at + len("first\n")
		ds := diag.Diagnostics{{Severity: diag.Error, Code: "E0201", Message: "no", Span: src.Span(lo, lo+4)}}
		var b strings.Builder
		if err := ds.Render(&b, diag.Style{Width: 80}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(b.String(), "\n")
		k := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "HERE") })
		if k < 0 || len(b.String()) > 2000 {
			t.Fatalf("%q: %d bytes:\n%s", unit, b.Len(), b.String()[:min(b.Len(), 500)])
		}
		under := lines[k+1]
		before, after := lines[k][:strings.Index(lines[k], "HERE")], under[:strings.Index(under, "^^^^")]
		if textColumns(before) != textColumns(after) || !strings.Contains(before, "...") || !strings.HasSuffix(lines[k], "...") {
			t.Errorf("%q: the mark is not below the place:\n%s\n%s", unit, lines[k], under)
		}
	}
}

// textColumns is how many columns s takes in a terminal.
func textColumns(s string) (n int) {
	for _, r := range s {
		n += diag.RuneWidth(r)
	}
	return n
}
