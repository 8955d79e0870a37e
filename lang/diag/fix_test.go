package diag_test

import (
	"testing"

	"github.com/starpush/starpush/lang/diag"
)

func TestApply(t *testing.T) {
	src := diag.NewSource("a.spu", "let ü = alhpa\nrelease x\nimport \"std/blass\"\n")
	at := func(lo, hi int) diag.Span { return src.Span(lo, hi) }
	d := diag.Diagnostic{Span: at(9, 14)}
	d.Meant("alhpa", "alpha", "param, line 3")
	d.Meant("alhpa", "alba", "") // overlaps: the first holds
	d.Edit(d.Span.After(), ")")
	d.Edit(d.Span.Before(), "f(")
	d.Edit(diag.Span{File: "a.spu"}, "nowhere")
	if len(d.Help) != 2 || d.Help[0] != "did you mean `alpha` (param, line 3)?" || d.Help[1] != "did you mean `alba`?" {
		t.Errorf("help %q", d.Help)
	}
	line, ok := at(23, 24).OwnLine("release x")
	if !ok {
		t.Fatal("`release x` is alone on its line")
	}
	loop := diag.NewSource("c.spu", "a\n  each i in x {\n    x[i] = 0\n  }\nb\n")
	if line, ok := loop.Span(4, 34).OwnLine(loop.Text[4:34]); !ok || line.Text() != loop.Text[2:35] {
		t.Errorf("the lines of the loop are %q", line.Text())
	}
	d.Edit(line, "")
	if _, ok := at(9, 14).OwnLine("alhpa"); ok {
		t.Error("`alhpa` is not alone on its line")
	}
	module := diag.Diagnostic{Span: at(32, 43)}
	module.Meant("std/blass", "std/blas", "")
	d.Fixes = append(d.Fixes, module.Fixes...)
	other := diag.Diagnostic{Span: at(0, 3)} // does not point at the word
	other.Meant("alhpa", "alpha", "")
	if len(other.Fixes) > 0 || len(other.Help) != 1 {
		t.Errorf("fixes %v, help %q", other.Fixes, other.Help)
	}
	d.Fixes = append(d.Fixes, diag.Fix{Span: diag.NewSource("b.spu", "x").Span(0, 1), NewText: "elsewhere"}, diag.Fix{Span: at(40, 99), NewText: "end"})
	if got, want := diag.Apply("a.spu", src.Text, d.Fixes), "let ü = f(alpha)\nimport \"std/blas\"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := diag.Apply("a.spu", "short", d.Fixes); got != "short" {
		t.Errorf("another text became %q", got)
	}
}
