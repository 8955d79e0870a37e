package lang_test

// Performance models of host codelets and of those written in scripts.

import (
	"bytes"
	"context"
	"testing"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/perf"
	"github.com/starpush/starpush/lang"
)

func TestPerfModel(t *testing.T) {
	half, err := lang.NewCodelet("half(x: RW vector[f32])", lang.CPUFunc(func(x []float32) {
		for i := range x {
			x[i] /= 2
		}
	}), lang.PerfModel(&perf.Model{Kind: perf.Regression}, "2"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = lang.NewCodelet("odd(x: RW vector[f32])", lang.CPUFunc(func(x []float32) {}), lang.PerfModel(&perf.Model{Kind: perf.Common}, ""))
	wantErr(t, err, "codelet odd", "PerfModel", "Cost")

	p := compile(t, lang.Config{Codelets: []*lang.Codelet{half}}, `
codelet twice(x: RW vector[T]) { each i in x { x[i] *= 2 } }
register x = vector[f32](8, fill = 1)
register y = vector[f64](8, fill = 1)
for _ in 0..3 {
    insert twice(RW x)
    insert half(RW x)
}
insert twice(RW y)
wait
`)
	dir := t.TempDir()
	rt, err := engine.New(engine.Options{Workers: 2, Calibrate: 1, PerfDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	inst, err := p.Run(context.Background(), rt, lang.Stdout(&bytes.Buffer{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := inst.Close(); err != nil {
		t.Fatal(err)
	}
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	store, err := perf.NewStore(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	files, bad := store.List()
	if len(bad) > 0 || len(files) != 3 {
		t.Fatalf("%d files of 3, %v", len(files), bad)
	}
	// half, and twice for each element type, with a hash of the body
	if f := files[0]; f.Codelet != "half" || f.Kernel != "2" || f.Kind != perf.Regression || f.Samples() != 3 {
		t.Errorf("%+v", f)
	}
	a, b := files[1], files[2]
	if a.Codelet != "twice" || b.Codelet != "twice" || a.Kernel == "" || a.Kernel == b.Kernel || a.Samples()+b.Samples() != 4 {
		t.Errorf("%+v, %+v", a, b)
	}
}
