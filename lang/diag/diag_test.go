package diag_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starpush/starpush/lang/diag"
)

func TestNearest(t *testing.T) {
	names := []string{"alpha", "beta", "axpy", "register", "x", "n", "nb", "priority", "größe", "Gamma"}
	for _, c := range []struct {
		name, want string
	}{
		{"alhpa", "alpha"}, {"alph", "alpha"}, {"ALPHA", "alpha"}, {"bet", "beta"}, {"axpi", "axpy"}, {"registre", "register"},
		{"regster", "register"}, {"nn", "n"}, {"na", "n"}, {"größ", "größe"}, {"gamma", "Gamma"}, {"prio", ""}, {"priorty", "priority"},
		{"alpha", ""}, {"y", ""}, {"zzz", ""}, {"", ""}, {"completely", ""}, {strings.Repeat("a", 100), ""},
	} {
		got, ok := diag.Nearest(c.name, names)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("Nearest(%q) = %q, %v, want %q", c.name, got, ok, c.want)
		}
	}
	if got, _ := diag.Nearest("scla", []string{"scal", "scale"}); got != "scal" {
		t.Errorf("scla: %q", got)
	}
}

func TestInstead(t *testing.T) {
	for _, tt := range []struct {
		name string
		have []string
		want string
	}{
		{"imgs", []string{"mask", "img"}, "; did you mean `img`?"},
		{"z", []string{"image", "alpha"}, ", only `alpha` and `image`"},
		{"z", []string{"image"}, ", only `image`"},
		{"z", nil, ", nor another one"},
		{"none", []string{"a1", "a2", "a3", "a4", "a5", "a6", "a7"}, ", but `a1`, `a2`, `a3`, `a4` and 3 more"},
	} {
		if got := diag.Instead(tt.name, tt.have); got != tt.want {
			t.Errorf("Instead(%q, %q) = %q, want %q", tt.name, tt.have, got, tt.want)
		}
	}
}

func TestSourcePositions(t *testing.T) {
	src := diag.NewSource("a.spu", "let ü = 1\r\n\n  x\n")
	for _, c := range []struct{ offset, line, col int }{
		{0, 1, 1}, {4, 1, 5}, {6, 1, 6}, {11, 1, 11}, {12, 2, 1}, {13, 3, 1}, {15, 3, 3}, {17, 4, 1}, {99, 4, 1}, {-1, 1, 1},
	} {
		if p := src.Pos(c.offset); p.Line != c.line || p.Col != c.col {
			t.Errorf("offset %d: %d:%d, want %d:%d", c.offset, p.Line, p.Col, c.line, c.col)
		}
	}
	for i, want := range []string{"", "let ü = 1", "", "  x", "", ""} {
		if got := src.Line(i); got != want {
			t.Errorf("line %d: %q, want %q", i, got, want)
		}
	}
}

func TestSortAndDedupe(t *testing.T) {
	a, b := diag.NewSource("a.spu", "0123456789"), diag.NewSource("b.spu", "0123456789")
	ds := diag.Diagnostics{
		{Code: "E0201", Message: "1", Span: b.Span(5, 6)},
		{Code: "E0201", Message: "2", Span: a.Span(7, 8)},
		{Code: "E0201", Message: "3", Span: b.Span(2, 3)},
		{Code: "E0201", Message: "1", Span: b.Span(5, 6)},
		{Code: "E0902", Message: "4"},
		{Code: "E0201", Message: "5", Span: b.Span(2, 3)},
	}
	once := ds.Dedupe()
	if len(once) != 5 || len(ds) != 6 {
		t.Errorf("%d of %d left", len(once), len(ds))
	}
	once.Sort()
	var order []string
	for _, d := range once {
		order = append(order, d.Message)
	}
	if diff := cmp.Diff([]string{"4", "3", "5", "1", "2"}, order); diff != "" {
		t.Error(diff)
	}
}

func TestJSON(t *testing.T) {
	src := diag.NewSource("a.spu", "let x = y\n")
	d := diag.Diagnostic{
		Code: "E0201", Severity: diag.Warning, Message: "`y` is not defined", Span: src.Span(8, 9), Label: "here",
		Labels: []diag.Label{{Span: src.Span(4, 5), Text: "there"}}, Notes: []string{"n"}, Help: []string{"h"},
		Fixes: []diag.Fix{{Span: src.Span(8, 9), NewText: "x"}}, Stack: []diag.Frame{{Call: "f()", Span: src.Span(0, 3)}},
		Task: &diag.TaskRef{ID: 3, Codelet: "scal"},
	}
	text, err := json.Marshal(&d)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"code":"E0201","severity":"warning","message":"` + "`y`" + ` is not defined",` +
		`"span":{"file":"a.spu","start":{"offset":8,"line":1,"col":9},"end":{"offset":9,"line":1,"col":10}},"label":"here",` +
		`"labels":[{"span":{"file":"a.spu","start":{"offset":4,"line":1,"col":5},"end":{"offset":5,"line":1,"col":6}},"text":"there"}],` +
		`"notes":["n"],"help":["h"],` +
		`"fixes":[{"span":{"file":"a.spu","start":{"offset":8,"line":1,"col":9},"end":{"offset":9,"line":1,"col":10}},"new_text":"x"}],` +
		`"stack":[{"call":"f()","span":{"file":"a.spu","start":{"offset":0,"line":1,"col":1},"end":{"offset":3,"line":1,"col":4}}}],` +
		`"task":{"id":3,"codelet":"scal"}}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	var back diag.Diagnostic
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if back.Severity != diag.Warning || back.Span.Start != d.Span.Start || back.Labels[0].Text != "there" {
		t.Errorf("read back %+v", back)
	}
	var b strings.Builder
	if err := (diag.Diagnostics{back}).Render(&b, diag.Style{}); err != nil || !strings.Contains(b.String(), "--> a.spu:1:9") {
		t.Errorf("without its source: %v\n%s", err, b.String())
	}
}

func TestErrorAndShort(t *testing.T) {
	src := diag.NewSource("<prompt>", "insert blas.scla(2.0, RW x[0])")
	d := diag.Diagnostic{Code: "E0203", Message: "module `blas` has no codelet `scla`", Span: src.Span(12, 16), Help: []string{"did you mean `scal`?"}}
	if got, want := d.Short(), "error[E0203]: module `blas` has no codelet `scla`; did you mean `scal`?"; got != want {
		t.Errorf("got %s", got)
	}
	if got, want := d.Error(), "<prompt>:1:13: error[E0203]: module `blas` has no codelet `scla`"; got != want {
		t.Errorf("got %s", got)
	}
	var none diag.Diagnostics
	if none.Err() != nil || (diag.Diagnostics{{Severity: diag.Warning}}).Err() != nil {
		t.Error("an error without errors")
	}
	if err := (diag.Diagnostics{d, d}).Err(); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("got %v", err)
	}
}

// TestColumnsOfLongLines holds places in long lines against counting from the beginning.
func TestColumnsOfLongLines(t *testing.T) {
	text := strings.Repeat("a😀é", 5000) + "\n" + strings.Repeat("b\xff", 6000) + "\nshort\n" + strings.Repeat("漢", 3000)
	src := diag.NewSource("a.spu", text)
	line, col := 1, 1
	for i, r := range text {
		if got, want := src.Pos(i), (diag.Pos{i, line, col}); got != want {
			t.Fatalf("offset %d is at %+v, want %+v", i, got, want)
		}
		if col++; r == '\n' {
			line, col = line+1, 1
		}
	}
}

func TestOneLine(t *testing.T) {
	for name, want := range map[string]string{"": "", "größe 1.spu": "größe 1.spu", `a\b.spu`: `a\b.spu`, "a\nb.spu": `a\nb.spu`, "\x1b[1m": `\x1b[1m`} {
		if got := diag.OneLine(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
