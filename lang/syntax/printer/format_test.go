package printer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/diag/diagtest"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/syntax/printer"
)

// examples are the worked examples of the language's specification.
func examples(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("../testdata/spec/*.spu")
	if err != nil || len(files) < 14 {
		t.Fatalf("found %d example scripts (%v), want at least 14", len(files), err)
	}
	return files
}

// checkFormat formats text, which has no syntax errors, and holds the result
// against what Format promises.
func checkFormat(t testing.TB, name, text string) string {
	t.Helper()
	out, problem := format(name, text)
	if problem != "" {
		t.Fatalf("%s: %s\n%s", name, problem, text)
	}
	return out
}

// format formats text; problem says which promise of Format is broken.
func format(name, text string) (formatted, problem string) {
	out, err := printer.Format(diag.NewSource(name, text))
	if err != nil {
		f, _ := syntax.Parse(diag.NewSource(name, text))
		raw, _ := printer.Print(f)
		return "", fmt.Sprintf("%v; printed:\n%s", err, raw)
	}
	again, err := printer.Format(diag.NewSource(name, string(out)))
	if err != nil {
		return "", fmt.Sprintf("the second time: %v", err)
	}
	if string(again) != string(out) {
		return "", fmt.Sprintf("not idempotent:\n%s\nthen\n%s", out, again)
	}
	f, ds := syntax.Parse(diag.NewSource(name, text))
	g, ds2 := syntax.Parse(diag.NewSource(name, string(out)))
	if len(ds)+len(ds2) > 0 || !syntax.Equal(f, g) {
		return "", fmt.Sprintf("another program:\n%s", out)
	}
	return string(out), ""
}

// TestFormatExamples: the examples of the specification are canonical but for the
// few lines noted in ../testdata/spec.
func TestFormatExamples(t *testing.T) {
	for _, file := range examples(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out := checkFormat(t, file, string(text))
		for i, line := range strings.Split(out, "\n") {
			if len([]rune(line)) > 100 && !strings.Contains(line, `"`) {
				t.Errorf("%s:%d: %d columns", file, i+1, len([]rune(line)))
			}
		}
	}
}

// TestFormat formats every x.spu of testdata/format and compares with x.want.
// STARPUSH_UPDATE=1 writes what comes out.
func TestFormat(t *testing.T) {
	diagtest.Compare(t, "testdata/format/*.txtar", func(t *testing.T, name, text string) string { return checkFormat(t, name, text) })
}
