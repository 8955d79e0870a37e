package syntax_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
)

// seeds are the texts that fuzzing starts from: the examples of the specification,
// and all the mistakes and layouts of testdata.
func seeds(f *testing.F) {
	f.Helper()
	for _, file := range specFiles(f) {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	archives, _ := filepath.Glob("testdata/*/*.txtar")
	for _, file := range archives {
		a, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, x := range a.Files {
			if strings.HasSuffix(x.Name, ".spu") {
				f.Add(string(x.Data))
			}
		}
	}
	f.Add("\ufefflet a = 1\r\nlet b = \"\xff\"\x00")
}

// FuzzParse parses arbitrary text: nothing panics, all ranges are inside the source
// and nested, diagnostics can be shown, and what has no errors is formatted to the
// same program, once and for all.
func FuzzParse(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		src := diag.NewSource("fuzz.spu", text)
		file, ds := syntax.Parse(src)
		checkRanges(t, file, len(text))
		for _, d := range ds {
			checkDiagnostic(t, &d, text)
		}
		if len(ds) == 0 {
			checkFormat(t, "fuzz.spu", text)
		} else if _, err := syntax.Format(src); err == nil {
			t.Fatal("text with errors is formatted")
		}
	})
}

// FuzzPrompt reads arbitrary text as an entry and as signatures.
func FuzzPrompt(f *testing.F) {
	seeds(f)
	f.Add("clip(v: RW vector[f32], lo: f32)")
	f.Add("now() -> float")
	f.Fuzz(func(t *testing.T, text string) {
		file, ds := syntax.ParseEntry(diag.NewSource("fuzz.spu", text))
		checkRanges(t, file, len(text))
		if syntax.Incomplete(text) && len(ds) == 0 && !strings.HasSuffix(strings.TrimSpace(text), ",") {
			t.Fatalf("complete and without errors, and more is wanted: %q", text)
		}
		if c, err := syntax.ParseSignature(text); (c == nil) != (err != nil) {
			t.Fatalf("%v, %v", c, err)
		}
		if c, err := syntax.ParseFuncSignature(text); (c == nil) != (err != nil) {
			t.Fatalf("%v, %v", c, err)
		}
	})
}

// checkDiagnostic holds d against the house rules.
func checkDiagnostic(t testing.TB, d *diag.Diagnostic, text string) {
	t.Helper()
	if _, ok := diag.Explain(d.Code); !ok {
		t.Fatalf("code %q is in no table", d.Code)
	}
	if d.Message == "" || strings.HasSuffix(d.Message, ".") || strings.Contains(d.Message, "%!") {
		t.Fatalf("message %q", d.Message)
	}
	if strings.Contains(d.Message, "<") && strings.Contains(d.Message, ">") && strings.Contains(d.Message, "expected <") {
		t.Fatalf("message %q speaks of the grammar", d.Message)
	}
	spans := []diag.Span{d.Span}
	for _, l := range d.Labels {
		spans = append(spans, l.Span)
	}
	for _, s := range spans {
		if s.Start.Offset < 0 || s.End.Offset > len(text) || s.Start.Offset > s.End.Offset || s.Start.Line < 1 || s.Start.Col < 1 {
			t.Fatalf("%s at %+v", d.Code, s)
		}
	}
}
