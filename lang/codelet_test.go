package lang_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/sim"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/perf"
	"github.com/starpush/starpush/lang"
)

// foreign is a device whose kernels are not functions for the CPU.
type foreign struct{ accel.Device }

func (foreign) Arch() string { return "opencl" }

// TestFromMain: operands that scripts keep in main memory reach kernels of devices
// that can take them there, and no others.
func TestFromMain(t *testing.T) {
	d, err := sim.New(sim.Options{Capacity: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	rt := lang.Must(engine.New(engine.Options{Workers: 1, Devices: []accel.Device{foreign{d}}}))
	defer rt.Close()
	on := lang.On("opencl", func(k *lang.Task, _ accel.Stream) error {
		for i := range lang.Buf[float64](k, 1).Slice() { // panics when it is on the device
			lang.Buf[float64](k, 1).Slice()[i]++
		}
		return nil
	})
	const sig = "(x: RW vector[f64], p: RW vector[f64])"
	const src = "register x, p = vector[f64](4, fill = 1.0)\ninsert c(RW x, RW p @ ram)\nacquire R p as ps { assert ps[3] == 2.0 }\n"
	able := lang.Must(lang.NewCodelet("c"+sig, on, lang.FromMain("p")))
	if _, err := compile(t, lang.Config{Codelets: []*lang.Codelet{able}}, src).Run(context.Background(), rt); err != nil {
		t.Error(err)
	}
	unable := lang.Must(lang.NewCodelet("c"+sig, on))
	_, err = compile(t, lang.Config{Codelets: []*lang.Codelet{unable}}, src).Run(context.Background(), rt)
	wantErr(t, err, "E0803", "no worker can run `c`")
	both := lang.Must(lang.NewCodelet("c"+sig, on, lang.CPU(func(k *lang.Task) error {
		if lang.Buf[float64](k, 1).Slice()[0]++; lang.Buf[float64](k, 1).Slice()[0] != 2 {
			return fmt.Errorf("got %v", lang.Buf[float64](k, 1).Slice()[0])
		}
		lang.Buf[float64](k, 1).Slice()[3]++
		return nil
	})))
	if _, err := compile(t, lang.Config{Codelets: []*lang.Codelet{both}}, src).Run(context.Background(), rt); err != nil {
		t.Error(err)
	}
	if _, err := lang.NewCodelet("c"+sig, on, lang.FromMain("q")); err == nil {
		t.Error("an operand that there is not")
	}
}

// Performance models of host codelets and of those written in scripts.

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
