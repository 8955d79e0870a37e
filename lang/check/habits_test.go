package check

import (
	"testing"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/diag/diagtest"
)

// TestReducerWords: only where a reducer is wanted does `add` stand for `sum`, which
// nothing calls.
func TestReducerWords(t *testing.T) {
	for src, sure := range map[string]bool{
		"register m = variable[f64](reduce = add)\nprint(m)\n":     true,
		"register m = variable[f64](reduce = \"+\")\nprint(m)\n":   true,
		"register m = variable[f64](reduce = average)\nprint(m)\n": false,
		"print(add(1, 2))\n":     false,
		"print(plus)\n":          false,
		"print(maximum(1, 2))\n": true,
	} {
		_, ds := Check(testEnv(t, "testdata/modules"), diag.NewSource("case.spu", src))
		if len(ds) != 1 || ds[0].IsSure() != sure {
			t.Errorf("%s: an edit without a doubt: %v, want %v\n%s", src, !sure, sure, diagtest.Render(t, ds))
		}
	}
}
