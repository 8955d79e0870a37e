package check

// What a misspelt or shortened name probably means.

import (
	"strings"

	"github.com/starpush/starpush/lang/diag"
)

// near returns the candidate that name most likely means: a misspelling, or an
// abbreviation of three letters or more.
func near(name string, candidates []string) (string, bool) {
	for _, c := range candidates {
		if c != name && strings.EqualFold(c, name) {
			return c, true
		}
	}
	if best, ok := diag.Nearest(name, candidates); ok {
		return best, true
	}
	best := ""
	for _, c := range candidates {
		if len(name) >= 3 && len(c) > len(name) && strings.HasPrefix(c, name) && (best == "" || len(c) < len(best)) {
			best = c
		}
	}
	return best, best != ""
}
