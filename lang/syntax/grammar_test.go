package syntax_test

import (
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/diag/diagtest"
	"github.com/starpush/starpush/lang/syntax"
)

// TestByGrammar: what is read by hand is read as the grammar says, and what is wrong
// gets the same messages.
func TestByGrammar(t *testing.T) {
	var texts []string
	for n, file := range specFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
		rnd := rand.New(rand.NewPCG(uint64(n), 13))
		for range 10 {
			p := pieces.FindAllString(string(text), -1)
			for range 3 {
				p[rnd.IntN(len(p))] = junk[rnd.IntN(len(junk))]
			}
			texts = append(texts, strings.Join(p, ""))
		}
	}
	diagtest.Scripts(t, "testdata/*/*.txtar", func(_, text string) { texts = append(texts, text) })
	texts = append(texts, "let a = 1"+strings.Repeat(" + 1", 60_000)+"\nlet b = 2\n", "f("+strings.Repeat("-", 300)+"1)", "x = 1"+strings.Repeat(", 1", 3000))
	for _, text := range texts {
		src := diag.NewSource("a.spu", text)
		f, ds := syntax.Parse(src)
		tree, wantDs := syntax.ParseByGrammar(src)
		if got, want := diagtest.Render(t, ds), diagtest.Render(t, wantDs); got != want {
			t.Errorf("by hand:\n%s\nby the grammar:\n%s", got, want)
		} else if !reflect.DeepEqual(f, tree) {
			t.Errorf("another tree for\n%s", text)
		}
	}
}
