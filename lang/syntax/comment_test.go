package syntax_test

import (
	"strings"
	"testing"
	"time"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/syntax/printer"
)

func coveredBy(t *testing.T, text string) string {
	t.Helper()
	f, ds := syntax.Parse(diag.NewSource("x.spu", text))
	if ds.Err() != nil {
		t.Fatal(ds)
	}
	var b strings.Builder
	for _, a := range syntax.Allowances(f) {
		covered := text[a.Covers.Lo:a.Covers.Hi]
		if i := strings.IndexByte(covered, '#'); i >= 0 { // without the comment itself
			covered = covered[:i]
		}
		b.WriteString(a.Code + ": " + strings.Join(strings.Fields(covered), " ") + "\n")
	}
	return b.String()
}

// A comment covers the same statement before and after its lines are broken anew.
func TestAllowancesSurviveFormat(t *testing.T) {
	long := strings.Repeat("a_name + ", 14) + "a_name"
	for _, tt := range []struct{ text, want string }{
		{"let a = " + long + " # allow W0201\n", "W0201: let a = " + long + "\n"},
		{"# allow W0201: because\nlet a = " + long + "\n", "W0201: let a = " + long + "\n"},
		{"for i in 0..3 { let a = 1; print(a); print(" + long + ") } # allow W0201, w0401\n", "*"},
		{"for i in 0..3 {let a = 1\n} # allow W0201\n", "*"},
		{"f(1,\n 2) # allow W0201\n", "W0201: f(1, 2)\n"},
		{"func f() { # allow W0201\n let a=1\n}\n", "*"},
	} {
		out, err := printer.Format(diag.NewSource("x.spu", tt.text))
		if err != nil {
			t.Fatal(err)
		}
		before, after := coveredBy(t, tt.text), coveredBy(t, string(out))
		if tt.want != "*" && before != tt.want {
			t.Errorf("%q covers %q, want %q", tt.text, before, tt.want)
		}
		layout := strings.NewReplacer(" ", "", ";", "", ",", "")
		if before == "" || layout.Replace(before) != layout.Replace(after) {
			t.Errorf("%q covers %q, and as\n%s%q", tt.text, before, out, after)
		}
	}
}

// A comment that allows something does not part a declaration from its documentation.
func TestAllowanceInDocumentation(t *testing.T) {
	f, _ := syntax.Parse(diag.NewSource("x.spu", "let a = 1\n## What it does,\n# allow W0608\n## and how.\nfunc f() { }\n"))
	if got := f.Stmts[1].(*syntax.Func).Doc; got != "What it does,\nand how." {
		t.Errorf("the documentation is %q", got)
	}
}

// Many comments, and many statements on one line, take time in proportion to their number.
func TestAllowancesOfLongTexts(t *testing.T) {
	const n = 20_000
	for name, text := range map[string]string{
		"comments above one line": strings.Repeat("# allow W0201\n", n) + "let a = 1\n",
		"one long line":           strings.Repeat("f(); ", n) + "f() # allow " + strings.Repeat("W0201, ", n) + "W0201\n",
		"lines":                   strings.Repeat("let a = 1 # allow W0201\n", n),
	} {
		f, _ := syntax.Parse(diag.NewSource("x.spu", text))
		began := time.Now()
		if got := len(syntax.Allowances(f)); got < n {
			t.Errorf("%s: %d codes", name, got)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
}
