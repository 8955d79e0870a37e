package lang_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
)

// TestCancelledDataNamed reads what a cancelled task was to write: the message
// names the task that failed and the data that is lost because of it.
func TestCancelledDataNamed(t *testing.T) {
	prog, diags := lang.Must(lang.NewCompiler(lang.Config{})).Compile(context.Background(), "f.spu", []byte(`
codelet bad(v: RW vector[f64], k: int) { each i in v { v[i] = float(1 // (k - k)) } }
codelet add(a: R vector[f64], b: RW vector[f64]) { each i in b { b[i] += a[i] } }
register y = vector[f64](8, fill = 0)
partition p = y by blocks(2)
insert bad(RW p[0], 3)
insert add(R p[0], RW p[1])
print(p[1])
`))
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
	rt := lang.Must(engine.New(engine.Options{Workers: 2}))
	defer rt.Close()
	_, err := prog.Run(context.Background(), rt)
	var d *lang.Diagnostic
	if !errors.As(err, &d) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{
		"1 task that depends on it was cancelled",
		"`p[0]` has no valid value until a task writes it again (W)",
		"`p[1]` has no valid value either: a task that was cancelled was to write it",
	} {
		if !slices.Contains(d.Notes, want) {
			t.Errorf("no note %q in %q", want, d.Notes)
		}
	}
}
