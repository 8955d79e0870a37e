package lang_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/starpush/starpush/lang"
)

func TestExpectations(t *testing.T) {
	src := `
codelet set(x: W vector[f64]) { each i in x { x[i] = 1.0 } }
register x = vector[f64](1024)
partition x by blocks(4)
for b in 0..4 { insert set(W x[b]) }
`
	for _, c := range []struct{ comment, code, label string }{
		{"# expect tasks == 4", "", ""},
		{"# expect tasks < 4", "R0102", "tasks is 4"},
		{"    # expect length <= 1", "", ""},
		{"# expect width >= 5", "R0102", "width is 4"},
		{"# expect transfers <= 0", "", ""},
		{"# expect bytes > 0", "R0102", "bytes is 0"},
		{"# expect peak(ram) <= 8Ki", "", ""},
		{"# expect peak(ram) <= 8_191", "R0102", "peak(ram) is 8192"},
		{"# expect peak(gpu(0)) <= 1", "", ""}, // there is none
		{"# expect seconds <= 0", "", ""},      // nobody knows
		{"# expect peak(moon) <= 1", "E0105", ""},
		{"# expect nothing", "E0105", ""},
		{"# expect tasks <= many", "E0105", ""},
		{"# we expect tasks <= 1", "", ""},
		{"# expectations are low", "", ""},
	} {
		p, _, err := planOf(t, c.comment+src)
		if err != nil {
			t.Fatal(err)
		}
		err = p.Expectations()
		var ds lang.Diagnostics
		if !errors.As(err, &ds) {
			if c.code != "" || err != nil {
				t.Errorf("%s: %v, want %s", c.comment, err, c.code)
			}
			continue
		}
		if len(ds) != 1 || ds[0].Code != c.code || ds[0].Label != c.label || ds[0].Span.Start.Line != 1 || !strings.Contains(c.comment, "expect") {
			t.Errorf("%s: %+v, want %s %q", c.comment, ds, c.code, c.label)
		}
	}
}
