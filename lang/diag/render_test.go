package diag_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starpush/starpush/lang/diag"
)

var (
	headLine   = regexp.MustCompile(`^(error|warning)\[(\w+)\]: (.*)$`)
	placeLine  = regexp.MustCompile(`^ *--> (\S+):(\d+):(\d+)$`)
	sourceLine = regexp.MustCompile(`^ *(\d+) \| (.*)$`)
	markLine   = regexp.MustCompile(`^ +\| ( *)(\^+|-+)(?: (.*))?$`)
	footLine   = regexp.MustCompile(`^ += (note|help): (.*)$`)
)

// unrender builds the diagnostic that a rendered block shows.
func unrender(t *testing.T, block string) diag.Diagnostic {
	t.Helper()
	lines := strings.Split(strings.TrimRight(block, "\n"), "\n")
	text := make([]string, 100)
	file := ""
	for _, l := range lines {
		if m := placeLine.FindStringSubmatch(l); m != nil {
			file = m[1]
		}
		if m := sourceLine.FindStringSubmatch(l); m != nil {
			n, _ := strconv.Atoi(m[1])
			text[n-1] = m[2]
		}
	}
	src := diag.NewSource(file, strings.Join(text, "\n"))
	start := func(n int) int { return len(strings.Join(text[:n-1], "\n")) + min(n-1, 1) }
	var d diag.Diagnostic
	cur := 0
	for _, l := range lines {
		switch {
		case headLine.MatchString(l):
			m := headLine.FindStringSubmatch(l)
			d.Code, d.Message = m[2], m[3]
			if m[1] == "warning" {
				d.Severity = diag.Warning
			}
		case sourceLine.MatchString(l):
			cur, _ = strconv.Atoi(sourceLine.FindStringSubmatch(l)[1])
		case markLine.MatchString(l):
			m := markLine.FindStringSubmatch(l)
			lo := start(cur) + len(m[1])
			span := src.Span(lo, lo+len(m[2]))
			if m[2][0] == '^' {
				d.Span, d.Label = span, m[3]
			} else {
				d.Labels = append(d.Labels, diag.Label{Span: span, Text: m[3]})
			}
		case footLine.MatchString(l):
			m := footLine.FindStringSubmatch(l)
			if m[1] == "note" {
				d.Notes = append(d.Notes, m[2])
			} else {
				d.Help = append(d.Help, m[2])
			}
		}
	}
	return d
}

// TestSpecification renders the diagnostics that the specification shows, from
// what they say, and compares every byte.
func TestSpecification(t *testing.T) {
	text, err := os.ReadFile("testdata/spec.txt")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(strings.TrimSpace(string(text)), "\n\n")
	if len(blocks) < 28 {
		t.Fatalf("%d blocks", len(blocks))
	}
	for _, block := range blocks {
		d := unrender(t, block)
		if diff := cmp.Diff(block+"\n", render(t, diag.Diagnostics{d}, diag.Style{})); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", d.Code, diff)
		}
	}
	all := render(t, func() (ds diag.Diagnostics) {
		for _, b := range blocks {
			ds = append(ds, unrender(t, b))
		}
		return ds
	}(), diag.Style{})
	if all != strings.TrimSpace(string(text))+"\n" {
		t.Error("diagnostics together are not those alone with an empty line between them")
	}
}

func render(t *testing.T, ds diag.Diagnostics, st diag.Style) string {
	t.Helper()
	var b strings.Builder
	if err := ds.Render(&b, st); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// at is the range of the n-th occurrence of what, from 0.
func at(src *diag.Source, what string, n int) diag.Span {
	lo := 0
	for ; n >= 0; n-- {
		k := strings.Index(src.Text[lo:], what)
		lo += k
		if n > 0 {
			lo += len(what)
		}
	}
	return src.Span(lo, lo+len(what))
}

func TestRender(t *testing.T) {
	src := diag.NewSource("a.spu", "let a = 1\n\tlet b = a\n\nlet 日本 = \"é\" + 名\nlet c = {\n  x\n}\nlet d = \x1b[31m\x00 + \u202e e\n")
	other := diag.NewSource("lib/b.spu", "codelet f(x: RW vector[f32]) { }\n")
	many := diag.Diagnostic{Code: "E0304", Message: "five labels", Span: at(src, "a", 0)}
	for i := range 6 {
		many.Labels = append(many.Labels, diag.Label{Span: src.Span(4+i, 5+i), Text: fmt.Sprintf("label %d", i)})
	}
	for _, c := range []struct {
		name string
		ds   diag.Diagnostics
		want string
	}{
		{"no place", diag.Diagnostics{{Code: "E0904", Message: "`x` has no data", Help: []string{"bind it"}}}, `
error[E0904]: ` + "`x`" + ` has no data
  = help: bind it
`},
		{"no code", diag.Diagnostics{{Message: "m"}}, "\nerror: m\n"},
		{"tab", diag.Diagnostics{{Code: "E0201", Message: "m", Span: at(src, "b", 0), Label: "l", Labels: []diag.Label{{Span: at(src, "a", 1), Text: "k"}}}}, `
error[E0201]: m
 --> a.spu:2:6
  |
2 |     let b = a
  |         ^ l
  |             - k
`},
		{"wide", diag.Diagnostics{{Code: "E0201", Message: "m", Span: at(src, "名", 0), Labels: []diag.Label{{Span: at(src, "日本", 0), Text: "k"}}}}, `
error[E0201]: m
 --> a.spu:4:16
  |
4 | let 日本 = "é" + 名
  |     ---- k
  |                  ^^
`},
		{"several lines", diag.Diagnostics{{Code: "E0201", Message: "m", Span: at(src, "{\n  x\n}", 0)}}, `
error[E0201]: m
 --> a.spu:5:9
  |
5 | let c = {
  |         ^
`},
		{"end of file", diag.Diagnostics{{Code: "E0101", Message: "m", Span: src.Span(len(src.Text), len(src.Text)), Label: "l"}}, `
error[E0101]: m
 --> a.spu:9:1
  |
9 |
  | ^ l
`},
		{"behind a line", diag.Diagnostics{{Code: "E0101", Message: "m", Span: src.Span(9, 9)}}, `
error[E0101]: m
 --> a.spu:1:10
  |
1 | let a = 1
  |          ^
`},
		{"control characters", diag.Diagnostics{{Code: "E0101", Message: "m \x1b[2J", Span: at(src, "\x1b", 0), Label: "\x07"}}, `
error[E0101]: m ␛[2J
 --> a.spu:8:9
  |
8 | let d = ␛[31m␀ + � e
  |         ^ ␇
`},
		{"two files", diag.Diagnostics{{Code: "E0301", Message: "m", Span: at(src, "a", 0), Label: "l",
			Labels: []diag.Label{{Span: at(other, "RW", 0), Text: "declared RW here"}}, Help: []string{"h"}}}, `
error[E0301]: m
 --> a.spu:1:5
  |
1 | let a = 1
  |     ^ l
 ::: lib/b.spu:1:14
  |
1 | codelet f(x: RW vector[f32]) { }
  |              -- declared RW here
  |
  = help: h
`},
		{"four labels", diag.Diagnostics{many}, `
error[E0304]: five labels
 --> a.spu:1:5
  |
1 | let a = 1
  |     ^
  |     - label 0
  |      - label 1
  |       - label 2
  |        - label 3
`},
		{"repeated", diag.Diagnostics{
			{Code: "E0201", Message: "m", Span: at(src, "a", 0)}, {Code: "E0202", Message: "m", Span: at(src, "a", 0)},
			{Code: "E0201", Message: "m", Span: at(src, "b", 0)}, {Code: "E0201", Message: "m", Span: at(src, "c", 0)},
			{Code: "E0201", Severity: diag.Warning, Message: "m", Span: at(src, "c", 0)}, {Code: "E0202", Message: "m", Span: at(src, "b", 0)}}, `
error[E0201]: m
 --> a.spu:1:5
  |
1 | let a = 1
  |     ^
  |
  = note: and 2 more places, in lines 2 and 5

error[E0202]: m
 --> a.spu:1:5
  |
1 | let a = 1
  |     ^
  |
  = note: and 1 more place, in line 2

warning[E0201]: m
 --> a.spu:5:5
  |
5 | let c = {
  |     ^
`},
		{"stack and lines", diag.Diagnostics{{Code: "R0101", Message: "first\nsecond", Span: at(src, "a", 0),
			Stack: []diag.Frame{{Call: "f(1)", Span: at(src, "b", 0)}}, Notes: []string{"one\ntwo"}}}, `
error[R0101]: first
  second
 --> a.spu:1:5
  |
1 | let a = 1
  |     ^
  |
  = note: in ` + "`f(1)`" + `, called at a.spu:2:6
  = note: one
          two
`},
	} {
		if diff := cmp.Diff(strings.TrimPrefix(c.want, "\n"), render(t, c.ds, diag.Style{})); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", c.name, diff)
		}
	}
}

// TestWidth: long lines are cut around the caret, and marks stay below what they
// mean.
func TestWidth(t *testing.T) {
	line := "insert f(" + strings.Repeat("R aaaa, ", 40) + "R hit, " + strings.Repeat("R bbbb, ", 40) + "R z)"
	src := diag.NewSource("a.spu", line+"\n"+strings.Repeat("日本", 60)+"x"+strings.Repeat("日本", 60))
	for _, c := range []struct {
		what string
		line int
	}{{"hit", 1}, {"insert", 1}, {"z", 1}, {"x", 2}} {
		for _, width := range []int{30, 60, 80, 120, 1, 0, 2000} {
			d := diag.Diagnostic{Code: "E0201", Message: "m", Span: at(src, c.what, 0), Label: "l"}
			out := strings.Split(render(t, diag.Diagnostics{d}, diag.Style{Width: width}), "\n")
			text, marks := out[3], out[4]
			limit := max(width, 26)
			if width == 0 {
				limit = 400
			}
			if w := columns(text); w > limit {
				t.Errorf("%s at width %d: %d columns: %s", c.what, width, w, text)
			}
			k := strings.Index(text, c.what)
			if k < 0 || columns(text[:k]) != strings.Index(marks, "^") || !strings.Contains(marks, strings.Repeat("^", len(c.what))+" l") {
				t.Errorf("%s at width %d:\n%s\n%s", c.what, width, text, marks)
			}
		}
	}
}

func columns(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r == '日' || r == '本' {
			n++
		}
	}
	return n
}

func TestColor(t *testing.T) {
	src := diag.NewSource("a.spu", "let a = b\n")
	d := diag.Diagnostic{Code: "E0201", Message: "m", Span: at(src, "b", 0), Label: "l", Labels: []diag.Label{{Span: at(src, "a", 0), Text: "k"}}, Help: []string{"h"}}
	coloured := render(t, diag.Diagnostics{d}, diag.Style{Color: true})
	for _, want := range []string{"\x1b[1;31merror[E0201]\x1b[0m\x1b[1m: m\x1b[0m\n", "\x1b[1;31m^ l\x1b[0m", "\x1b[1;34m- k\x1b[0m"} {
		if !strings.Contains(coloured, want) {
			t.Errorf("%q is not in %q", want, coloured)
		}
	}
	plain := regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(coloured, "")
	if diff := cmp.Diff(render(t, diag.Diagnostics{d}, diag.Style{}), plain); diff != "" {
		t.Errorf("the text differs with colours (-plain +coloured)\n%s", diff)
	}
}

// failing is a writer that cannot write.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestRenderError(t *testing.T) {
	if err := (diag.Diagnostics{{Message: "m"}}).Render(failing{}, diag.Style{}); err != os.ErrClosed {
		t.Errorf("got %v", err)
	}
}
