package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/enginetest"
	"github.com/starpush/starpush/lang"
)

// TestSamePicture: the points that stay are the same on all kinds of workers.
func TestSamePicture(t *testing.T) {
	picture := func(o engine.Options) string {
		t.Helper()
		var out bytes.Buffer
		if err := draw(t.Context(), o, 64, &out); err != nil {
			t.Fatal(err)
		}
		line, _, _ := strings.Cut(out.String(), "\n")
		return line
	}
	want := picture(engine.Options{Sequential: true})
	if !strings.HasPrefix(want, "points that stay: ") || strings.HasSuffix(want, " 0") {
		t.Fatalf("%q", want)
	}
	if got := picture(engine.Options{Workers: 4}); got != want {
		t.Errorf("4 workers: %q, want %q", got, want)
	}
	devs := enginetest.Devices(t, "opencl", 0)
	for _, policy := range []string{"dmdas", "eager", "random"} {
		if got := picture(engine.Options{Workers: 1, Devices: devs, Policy: policy}); got != want {
			t.Errorf("with devices, %s: %q, want %q", policy, got, want)
		}
	}
}

// TestElementsAreElsewhere: a kernel for a device that follows an operand's address
// fails its task.
func TestElementsAreElsewhere(t *testing.T) {
	devs := enginetest.Devices(t, "opencl", 0)
	wrong := lang.Must(lang.NewCodelet("wrong(x: RW vector[f64])", lang.On("opencl", func(t *lang.Task, _ accel.Stream) error {
		lang.Buf[float64](t, 0).Slice()[0] = 1
		return nil
	})))
	comp := lang.Must(lang.NewCompiler(lang.Config{Codelets: []*lang.Codelet{wrong}}))
	prog, diags := comp.Compile(t.Context(), "wrong.spu", []byte("register x = vector[f64](4, fill = 0)\ninsert wrong(RW x)\nwait"))
	if prog == nil {
		t.Fatal(diags)
	}
	rt := lang.Must(engine.New(engine.Options{Workers: 1, Devices: devs}))
	defer rt.Close()
	inst, err := prog.Run(context.Background(), rt)
	if err == nil {
		err = inst.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "in the memory of a device") {
		t.Errorf("%v", err)
	}
}

func TestOnRefuses(t *testing.T) {
	for arch, fn := range map[string]func(*lang.Task, accel.Stream) error{
		"opencl": nil, "": func(*lang.Task, accel.Stream) error { return nil }, "cpu": func(*lang.Task, accel.Stream) error { return nil },
	} {
		if _, err := lang.NewCodelet("f(x: RW vector[f64])", lang.On(arch, fn)); err == nil {
			t.Errorf("On(%q) was taken", arch)
		}
	}
}
