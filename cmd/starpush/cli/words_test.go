package cli

import (
	"testing"

	"github.com/starpush/starpush/lang/syntax"
)

// TestWords: every reserved word has a line, and no other word has one that does not
// begin with an example.
func TestWords(t *testing.T) {
	reserved := map[string]bool{}
	for _, w := range syntax.Keywords() {
		reserved[w] = true
		if words[w][0] == "" || words[w][1] == "" {
			t.Errorf("starpush doc %s has nothing to say", w)
		}
	}
	for w := range words {
		if !reserved[w] {
			t.Errorf("`%s` is no reserved word", w)
		}
	}
}
