package cli

import (
	"slices"
	"testing"

	"github.com/starpush/starpush/lang/syntax"
)

// TestWords: starpush doc lists every reserved word, and no other.
func TestWords(t *testing.T) {
	for _, s := range docSections() {
		if s.title == "words" && !slices.Equal(s.names, syntax.Keywords()) {
			t.Errorf("starpush doc lists %q, want %q", s.names, syntax.Keywords())
		}
	}
}
