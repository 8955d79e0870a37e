package lang_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/starpush/starpush/lang"
)

// analyzer finds files beside the scripts. It lacks the standard modules, which
// package lang does not know: scripts that import them have errors.
func analyzer() *lang.Compiler {
	return lang.Must(lang.NewCompiler(lang.Config{Loader: lang.FSLoader(os.DirFS("../scripts"))}))
}

func scripts(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../scripts/*.spu")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	out := map[string]string{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(f)] = string(text)
	}
	return out
}

// askAll asks everything about a place.
func askAll(a *lang.Analysis, offset int) {
	n, _ := a.Name(offset)
	a.References(n.Decl)
	a.Definition(offset)
	a.Doc(offset)
	a.Complete(offset)
	a.Renamable(offset)
	a.Call(offset)
}

// TestAnalysisOfBrokenTexts: any text has an analysis, and every question about it an answer.
func TestAnalysisOfBrokenTexts(t *testing.T) {
	comp := analyzer()
	rnd := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"", "(", "}", "{", "\"", "insert ", "😀", ".", " with ", "\x00", "\xff", "[", ", ", "import \"x.spu\"\n", "R ", "f\"{"}
	for name, text := range scripts(t) {
		for range 8 {
			lo := rnd.IntN(len(text))
			hi := min(len(text), lo+rnd.IntN(40))
			broken := text[:lo] + pieces[rnd.IntN(len(pieces))] + text[hi:]
			a := comp.Analyze(context.Background(), name, []byte(broken))
			for _, d := range a.Diagnostics() {
				if d.Code == "E0001" {
					t.Fatalf("%s: %s\n%s", name, d.Message, broken)
				}
			}
			a.Symbols()
			a.Hints()
			a.Imports()
			end := 0
			for _, tok := range a.SyntaxTokens() {
				if tok.Offset < end || tok.Len <= 0 || tok.Offset+tok.Len > len(broken) || tok.Kind == "" {
					t.Fatalf("%s: %+v behind %d\n%s", name, tok, end, broken)
				}
				end = tok.Offset + tok.Len
			}
			for _, offset := range []int{0, lo, lo + 1, min(len(broken), lo+10), rnd.IntN(len(broken) + 1), len(broken), len(broken) + 5, -1} {
				askAll(a, offset)
			}
		}
	}
}

// TestRenamingKeepsTheMeaning gives names of the scripts a new one, everywhere they
// stand: the text means the same. With one place left out it does not.
func TestRenamingKeepsTheMeaning(t *testing.T) {
	comp := analyzer()
	rnd := rand.New(rand.NewPCG(3, 4))
	renamed := 0
	for name, text := range scripts(t) {
		a := comp.Analyze(context.Background(), name, []byte(text))
		for range 12 {
			n, err := a.Renamable(rnd.IntN(len(text)))
			if err != nil {
				continue
			}
			renamed++
			uses := a.References(n.Decl)
			replace := func(uses []lang.Span) *lang.Analysis {
				var b strings.Builder
				from := 0
				for _, at := range uses {
					b.WriteString(text[from:at.Start.Offset] + "fresh_name")
					from = at.End.Offset
				}
				return comp.Analyze(context.Background(), name, []byte(b.String()+text[from:]))
			}
			if err := a.SameMeaning(replace(uses)); err != nil {
				t.Errorf("%s: `%s` of line %d: %v", name, n.Name, n.Decl.Start.Line, err)
			}
			if len(uses) > 1 {
				if err := a.SameMeaning(replace(uses[:len(uses)-1])); err == nil {
					t.Errorf("%s: `%s` of line %d: one place was left out, without a report", name, n.Name, n.Decl.Start.Line)
				}
			}
		}
	}
	if renamed < 20 {
		t.Errorf("renamed %d names only", renamed)
	}
}

// TestArraysOfBodies: an array of a codelet body has a type, and its length as its only field.
func TestArraysOfBodies(t *testing.T) {
	const text = "codelet c(x: RW vector[T]) {\n    let w = array[T](3)\n    w[0] = x[0]\n    x[0] = w[1] + w.\n}\n"
	a := analyzer().Analyze(context.Background(), "x.spu", []byte(text))
	var fields []string
	for _, c := range a.Complete(strings.Index(text, "w.\n") + 2) {
		fields = append(fields, c.Text)
	}
	if !slices.Equal(fields, []string{"n"}) {
		t.Errorf("its fields are %q", fields)
	}
	if doc, _, ok := a.Doc(strings.Index(text, "w[0]")); !ok || !strings.Contains(doc, "w: array[T]") {
		t.Errorf("its documentation is %q", doc)
	}
}
