package engine

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/disk"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/enginetest"
)

// particle has fields of several sizes, padding, and fields that are no data.
type particle struct {
	X     float64
	Alive bool
	ID    int32
	note  *string
	Hits  uint8
	Half  iface.Float16
	_     int8
	Z     complex64
}

// padding returns the bytes of ps that are in no field, but for note.
func padding(ps []particle) []byte {
	var p particle
	used := make([]bool, unsafe.Sizeof(p))
	for _, f := range [][2]uintptr{{unsafe.Offsetof(p.X), 8}, {unsafe.Offsetof(p.Alive), 1}, {unsafe.Offsetof(p.ID), 4}, {unsafe.Offsetof(p.note), unsafe.Sizeof(p.note)},
		{unsafe.Offsetof(p.Hits), 1}, {unsafe.Offsetof(p.Half), 2}, {unsafe.Offsetof(p.Z), 8}} {
		for i := range f[1] {
			used[f[0]+i] = true
		}
	}
	var out []byte
	for i := range ps {
		for k, b := range unsafe.Slice((*byte)(unsafe.Pointer(&ps[i])), len(used)) {
			if !used[k] {
				out = append(out, b)
			}
		}
	}
	return out
}

// TestStructs compares tasks on a slice of structs, its fields and parts, anywhere, with the same done at once. Padding
// keeps its bytes.
func TestStructs(t *testing.T) {
	for name, o := range map[string]func(t *testing.T) Options{
		"cpu":    func(*testing.T) Options { return Options{Workers: 3} },
		"verify": func(*testing.T) Options { return Options{Workers: 2, Verify: true} },
		"device": func(*testing.T) Options { return Options{Workers: 2, Devices: simulated(1<<12, 2), Poison: true} },
		"late":   func(*testing.T) Options { return Options{Workers: 2, Devices: late(1<<12, 1, 3)} },
		"disk": func(t *testing.T) Options {
			dk, err := disk.Open(t.TempDir())
			must(t, err)
			t.Cleanup(func() { enginetest.Close(t, []accel.Device{dk}) })
			return Options{Workers: 2, Devices: simulated(1<<12, 1), RAM: 300, Disk: dk}
		},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(6) {
				r := rand.New(rand.NewPCG(seed, 5))
				rt, err := New(o(t))
				must(t, err)
				j := rt.NewJob(context.Background(), JobOptions{DetectStuck: true})
				ps := make([]particle, 12)
				note := "kept"
				mem := unsafe.Slice((*byte)(unsafe.Pointer(&ps[0])), len(ps)*int(unsafe.Sizeof(ps[0])))
				for i := range mem {
					mem[i] = 0xAA
				}
				for i := range ps {
					ps[i].X, ps[i].Alive, ps[i].ID, ps[i].note, ps[i].Hits, ps[i].Half, ps[i].Z = float64(i), i%2 == 0, int32(i), &note, uint8(i), iface.ToFloat16(float32(i)), complex(float32(i), 1)
				}
				want, pad := slices.Clone(ps), padding(ps)
				x, err := NewStructs(rt, ps, Name("ps"))
				must(t, err)
				if x.Len() != 12 || fmt.Sprint(x.Names()) != "[X Alive ID Hits Half Z]" || x.Field("X").Name() != "ps.X" || x.Field("note") != nil {
					t.Fatal(x.Len(), x.Names())
				}
				parts, err := x.Partition(filter.Blocks(3))
				must(t, err)
				move := anywhere("move", func(c *TaskContext) error {
					xs, ids := iface.Slice[float64](c.Buffer(0)), iface.Slice[int32](c.Buffer(1))
					for i := range xs {
						xs[i] += float64(ids[i])
					}
					return nil
				})
				turn := anywhere("turn", func(c *TaskContext) error {
					on := iface.Slice[bool](c.Buffer(0))
					for i := range on {
						on[i] = !on[i]
					}
					return nil
				})
				for range 40 {
					part, meant := x, want
					if r.IntN(2) == 0 {
						k := r.IntN(3)
						part, meant = parts[k], want[4*k:4*k+4]
					}
					switch r.IntN(5) {
					case 0:
						must(t, j.Go(move, RW(part.Field("X")), R(part.Field("ID"))))
						for i := range meant {
							meant[i].X += float64(meant[i].ID)
						}
					case 1:
						must(t, j.Go(turn, RW(part.Field("Alive"))))
						for i := range meant {
							meant[i].Alive = !meant[i].Alive
						}
					case 2:
						must(t, j.Go(func(p []particle, by int32) {
							for i := range p {
								p[i].ID += by
								p[i].Z *= 2
							}
						}, part.RW(), 3))
						for i := range meant {
							meant[i].ID += 3
							meant[i].Z *= 2
						}
					case 3:
						must(t, j.Go(func(p []particle) {
							for i := range p {
								p[i].X, p[i].Alive, p[i].ID, p[i].Hits, p[i].Half, p[i].Z = 1, true, int32(i), 2, iface.ToFloat16(3), 4
							}
						}, part.W()))
						for i := range meant {
							m := &meant[i]
							m.X, m.Alive, m.ID, m.Hits, m.Half, m.Z = 1, true, int32(i), 2, iface.ToFloat16(3), 4
						}
					default:
						if seed%2 == 0 {
							continue
						}
						now := slices.Clone(meant)
						must(t, j.Run(context.Background(), func(p []particle) error {
							if !slices.Equal(p, now) {
								return fmt.Errorf("%v, want %v", p, now)
							}
							return nil
						}, part.R()))
					}
				}
				held, err := (must1(As[Vector[float64]](x.Field("X")))(t)).Value(context.Background(), j)
				must(t, err)
				for i := range held {
					if held[i] != want[i].X {
						t.Errorf("X of %d is %v, want %v", i, held[i], want[i].X)
					}
				}
				must(t, x.Unregister(j))
				must(t, j.Close())
				must(t, rt.Close())
				if !slices.Equal(ps, want) || !bytes.Equal(padding(ps), pad) {
					t.Fatalf("seed %d: %v, want %v; padding % x, was % x", seed, ps, want, padding(ps), pad)
				}
			}
		})
	}
}

// TestStructsSideBySide: tasks that write different fields, and different parts, run at once.
func TestStructsSideBySide(t *testing.T) {
	rt, j := start(t, Options{Workers: 3})
	ps := make([]particle, 1000)
	x, err := NewStructs(rt, ps)
	must(t, err)
	parts, err := x.Partition(filter.Blocks(2))
	must(t, err)
	here := make(chan struct{})
	there := make(chan struct{})
	must(t, j.Go(func(v []float64) {
		close(here)
		<-there
		for i := range v {
			v[i] = 1
		}
	}, RW(x.Field("X"))))
	must(t, j.Go(func(v []int32) {
		close(there)
		<-here
		for i := range v {
			v[i] = 2
		}
	}, RW(x.Field("ID"))))
	for k, p := range parts {
		must(t, j.Go(func(p []particle) {
			for i := range p {
				p[i].ID += int32(k)
				p[i].Hits++
			}
		}, p.RW()))
	}
	must(t, x.Unregister(j))
	must(t, j.Wait(context.Background()))
	for i, p := range ps {
		if p.X != 1 || p.ID != 2+int32(i/500) || p.Hits != 1 {
			t.Fatalf("%d is %+v", i, p)
		}
	}
}

// TestStructsLost: fields that only a lost device had have lost their values, and no others.
func TestStructsLost(t *testing.T) {
	d := simulated(1<<12, 1)
	rt, err := New(Options{Workers: 1, Devices: d})
	must(t, err)
	j := rt.NewJob(context.Background(), JobOptions{})
	ps := make([]particle, 6)
	x, err := NewStructs(rt, ps)
	must(t, err)
	inc := anywhere("inc", func(c *TaskContext) error {
		for i := range iface.Slice[int32](c.Buffer(0)) {
			iface.Slice[int32](c.Buffer(0))[i]++
		}
		return nil
	})
	must(t, j.Go(inc, RW(x.Field("ID")), Node(1)))
	must(t, j.Go(func(v []float64) { v[3] = 5 }, RW(x.Field("X"))))
	must(t, j.Wait(context.Background()))
	simDevice(d[0]).Lose()
	must(t, j.Run(context.Background(), func(v []float64) { v[2] = 4 }, RW(x.Field("X"))))
	if err := j.Run(context.Background(), func(v []int32) {}, R(x.Field("ID"))); err == nil {
		t.Error("a field that a lost device had has a value")
	}
	if err := j.Run(context.Background(), func(p []particle) {
		for i := range p {
			p[i] = particle{ID: 7}
		}
	}, x.W()); err != nil {
		t.Error(err)
	}
	must(t, x.Unregister(j))
	_ = j.Close()
	_ = rt.Close()
	if ps[3].ID != 7 || ps[3].X != 0 {
		t.Errorf("%+v", ps)
	}
}

// TestStructsMistakes: what cannot be data, and wrong arguments, are errors that say what to do.
func TestStructsMistakes(t *testing.T) {
	rt, j := start(t, Options{Workers: 1})
	type plain struct{ X, Y float64 }
	ps := make([]plain, 4)
	x := must1(NewStructs(rt, ps))(t)
	v := must1(MakeVector[float64](rt, 4, Fill(1)))(t)
	empty := must1(NewStructs[plain](rt, nil))(t)
	takes := func([]plain) {}
	err := func(_ any, err error) error { return err }
	type inner struct{ A float64 }
	for _, c := range []struct {
		err  error
		want string
	}{
		{err(NewStructs[plain](nil, nil)), "the runtime is nil"},
		{err(NewStructs(rt, []float64{1})), "float64 is no struct"},
		{err(NewStructs(rt, []struct{ x float64 }{{1}})), "no exported field"},
		{err(NewStructs(rt, []struct{ Name string }{})), "field Name of struct { Name string } is a string, and fields are numbers of a fixed size or bools: put it into a slice of its own"},
		{err(NewStructs(rt, []struct{ N int }{})), "use int64"},
		{err(NewStructs(rt, []struct{ P *float64 }{})), "field P"},
		{err(NewStructs(rt, []struct{ P inner }{})), "put its fields into the outer struct"},
		{err(NewStructs(rt, []struct{ P [3]float64 }{})), "make each of its elements a field"},
		{err(NewStructs(rt, []struct {
			Z complex64
			N int32
		}{})), "add a field `_ [4]byte` at its end"},
		{err(NewStructs(rt, make([]plain, 1), Fill(1))), "the options of structs are Name and ReadOnly"},
		{err(NewStructs(rt, ps)), "shares memory"},
		{j.Go(takes, x), "without its access mode: write x.R()"},
		{j.Go(takes, ps), "engine.NewStructs"},
		{j.Go(takes, R(v)), "takes a Structs[engine.plain]"},
		{j.Go(takes, Structs[plain]{}.R()), "never registered"},
		{j.Go(takes), "such as x.R()"},
		{j.Go(func([]float64) {}, x.R()), "make the parameter []engine.plain, or pass a field"},
		{j.Go(func(float64) {}, x.R()), "pass a value"},
		{j.Go(func([]inner) {}, x.R()), "takes a Structs[engine.inner]"},
		{j.Go(func([]struct{ S string }) {}), "field S"},
		{j.Go(func([]float64) {}, R(x.Field("Z"))), "is no data"},
		{j.Run(context.Background(), takes, R(x.Field("X")), R(x.Field("Y"))), "pass the RW() of such data"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%v, want %q", c.err, c.want)
		}
	}
	must(t, j.Run(context.Background(), func(p []plain) error {
		if len(p) != 0 {
			return fmt.Errorf("%d structs", len(p))
		}
		return nil
	}, empty.RW()))
	read := must1(NewStructs(rt, make([]plain, 3), ReadOnly()))(t)
	if err := j.Go(takes, read.RW()); err == nil {
		t.Error("data that is read only was written")
	}
	// operands of a codelet that lie elsewhere
	c := Func("", takes)
	task, e := j.SubmitTask(&TaskSpec{Codelet: c, Operands: []Operand{R(x.Field("X")), R(v)}})
	must(t, e)
	must(t, task.Wait(context.Background()))
	if e := task.Err(); e == nil || !strings.Contains(e.Error(), "RW() of a Structs[engine.plain]") {
		t.Error(e)
	}
}
