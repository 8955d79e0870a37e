package lang_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/enginetest"
	"github.com/starpush/starpush/lang"
)

const layoutCodelets = `
codelet turn(a: R matrix[T], b: W matrix[T]) { each i, j in b { b[i, j] = a[j, i] } }
codelet move(p: RW matrix[T], dt: T) with layouts = move_columns(p) {
    each k in 0..p.rows { p[k, 0] += dt * p[k, 1] }
}
codelet move_columns(p: RW matrix[T], dt: T) {
    each k in 0..p.cols { p[0, k] += dt * p[1, k] }
}
codelet add(a: R matrix[T], b: RW matrix[T]) with layouts = add_columns(a, b) {
    each i, j in b { b[i, j] += a[i, j] * (i + 1) }
}
codelet add_columns(a: R matrix[T], b: RW matrix[T]) {
    each j, i in b { b[j, i] += a[j, i] * (i + 1) }
}
codelet raise(m: RW matrix[T]) { each i, j in m { m[i, j] += 10 * i + j } }
register p, q = matrix[f64](5, 2, fill = 1, layout = layout(into = turn, from = turn, sizes = [2, 5]))
register r = matrix[f64](5, 2, fill = 2)
`

// conversions counts those between layouts.
type conversions struct{ atomic.Int64 }

// TaskEvent implements engine.Listener.
func (c *conversions) TaskEvent(e *engine.Event) {
	if e.Kind == engine.TaskDone && e.Internal == "convert" {
		c.Add(1)
	}
}

// TestLayouts runs random tasks with data whose layout on devices is another one, wherever they may run: what the script sees
// is as without devices.
func TestLayouts(t *testing.T) {
	ctx := context.Background()
	for _, machine := range []string{"sim:cpu2gpu1", "sim:cpu8gpu4", "opencl"} {
		t.Run(machine, func(t *testing.T) {
			m := enginetest.Named(t, machine)
			seeds := uint64(30)
			if m.Real {
				seeds = 4 // each compiles its kernels
			}
			all := 0
			for seed := range seeds {
				rng := rand.New(rand.NewPCG(seed, 5))
				var script strings.Builder
				script.WriteString(layoutCodelets)
				pick := func(names ...string) string { return names[rng.IntN(len(names))] }
				for range 20 {
					where := pick("", "", " with where = opencl", " with where = cpu")
					if m.Real && where == " with where = opencl" {
						where = ""
					}
					switch rng.IntN(6) {
					case 0, 1:
						fmt.Fprintf(&script, "insert move(RW %s, %s)%s\n", pick("p", "q", "r"), pick("0.5", "-0.25"), where)
					case 2, 3:
						a := pick("pq", "qp", "pr", "rq", "rp")
						fmt.Fprintf(&script, "insert add(R %c, RW %c)%s\n", a[0], a[1], where)
					case 4:
						fmt.Fprintf(&script, "insert raise(RW %s)%s\n", pick("p", "q", "r"), where)
					default:
						fmt.Fprintf(&script, "print(%s)\n", pick("p", "q"))
					}
				}
				script.WriteString("print(p, q, r)\n")
				run := func(o engine.Options) (out string, converted int) {
					var text bytes.Buffer
					count := &conversions{}
					o.Workers, o.Listener = 2, count
					source := script.String()
					if o.Devices == nil {
						source = strings.ReplaceAll(source, " with where = opencl", "")
					}
					inst, err := compile(t, lang.Config{}, source).Run(ctx, newRuntime(t, o), lang.Stdout(&text))
					if err != nil {
						t.Fatalf("%v\n%s", err, source)
					}
					if err := inst.Close(); err != nil {
						t.Fatal(err)
					}
					return text.String(), int(count.Load())
				}
				want, none := run(engine.Options{})
				got, some := run(engine.Options{Devices: enginetest.Devices(t, machine, 0), Policy: "random"})
				if got != want {
					t.Fatalf("seed %d printed\n%s\nwithout devices\n%s\n%s", seed, got, want, script.String())
				}
				if none != 0 {
					t.Errorf("seed %d: %d conversions without devices", seed, none)
				}
				all += some
			}
			if all == 0 { // in a single program all tasks that convert may happen to run on CPU workers
				t.Error("no program converted data")
			}
		})
	}
}

// TestLayoutsOfTwoElementTypes has devices compute in f32 what main memory has in f64.
func TestLayoutsOfTwoElementTypes(t *testing.T) {
	const script = `
codelet narrow(a: R vector[f64], b: W vector[f32]) { each i in b { b[i] = a[i] } }
codelet widen(a: R vector[f32], b: W vector[f64]) { each i in b { b[i] = a[i] } }
codelet twice(a: RW vector[f64]) with layouts = twice32(a) { each i in a { a[i] *= 2 } }
codelet twice32(a: RW vector[f32]) { each i in a { a[i] *= 2 } }
register x = vector[f64](3, fill = 1.1, layout = layout(into = narrow, from = widen, on = opencl))
insert twice(RW x) with where = cpu
print(x)
insert twice(RW x) with where = opencl
print(x)
let l = layout(narrow, widen, on = [opencl, cuda])
print(l)
register y = vector[f64](3, fill = 1.5, layout = [l])
insert twice(RW y) with where = cuda
print(y)
`
	const want = `vector[f64] 3: 2.2 2.2 2.2
vector[f64] 3: 4.400000095367432 4.400000095367432 4.400000095367432
layout narrow
vector[f64] 3: 3.0 3.0 3.0
`
	var out bytes.Buffer
	inst, err := compile(t, lang.Config{}, script).Run(context.Background(), newRuntime(t, engine.Options{Workers: 1, Devices: enginetest.Devices(t, "sim:cpu2gpu1", 0)}), lang.Stdout(&out))
	if err != nil {
		t.Fatal(err)
	}
	if err := inst.Close(); err != nil {
		t.Fatal(err)
	}
	if out.String() != want {
		t.Errorf("printed\n%s", out.String())
	}
}
