package syntax_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
)

// specFiles are the worked examples of the language's specification.
func specFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/spec/*.spu")
	if err != nil || len(files) < 14 {
		t.Fatalf("found %d example scripts (%v), want at least 14", len(files), err)
	}
	return files
}

func source(t testing.TB, file string) *diag.Source {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return diag.NewSource(filepath.Base(file), string(text))
}

// rendered is ds as a person sees it.
func rendered(t testing.TB, ds diag.Diagnostics) string {
	t.Helper()
	var b strings.Builder
	if err := ds.Render(&b, diag.Style{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestParseExamples(t *testing.T) {
	for _, file := range specFiles(t) {
		f, ds := syntax.Parse(source(t, file))
		if len(ds) > 0 {
			t.Errorf("%s:\n%s", file, rendered(t, ds))
		}
		if len(f.Stmts) == 0 || f.Doc == "" {
			t.Errorf("%s: %d statements, doc %q", file, len(f.Stmts), f.Doc)
		}
	}
}
