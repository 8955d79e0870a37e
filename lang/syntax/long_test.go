package syntax

import (
	"strings"
	"testing"

	"github.com/starpush/starpush/lang/diag"
)

// TestLongLines: what is wrong with a line of many thousand words is found without
// looking at all of it again for every word; else these take minutes.
func TestLongLines(t *testing.T) {
	for _, word := range []string{"f() ", "wait ", "let x = 1 ", "if a { } ", "codelet f(x: R vector[f64]) { } ", "} ", ") ", "f(a] ", "x++ ", "else ", "a ? b : ", "1.2.3 "} {
		if _, ds := Parse(diag.NewSource("long.spu", strings.Repeat(word, 100_000))); ds.Err() == nil {
			t.Errorf("%q a hundred thousand times is no script", word)
		}
	}
}
