package engine

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// complexes are complex numbers, with a flag for each that has another size.
type complexes struct {
	Set    []uint8
	Re, Im []float64
	Row    []int32
}

func numbers(n int) complexes {
	z := complexes{make([]uint8, n), make([]float64, n), make([]float64, n), make([]int32, n/2)}
	for i := range n {
		z.Set[i], z.Re[i], z.Im[i] = uint8(i), float64(i), -float64(i)
	}
	return z
}

func (z complexes) scale(re, im float64) {
	for i := range z.Re {
		z.Re[i], z.Im[i] = z.Re[i]*re-z.Im[i]*im, z.Re[i]*im+z.Im[i]*re
	}
}

func (z complexes) equal(o complexes) bool {
	return slices.Equal(z.Set, o.Set) && slices.Equal(z.Re, o.Re) && slices.Equal(z.Im, o.Im) && slices.Equal(z.Row, o.Row)
}

// onArrays calls fn for runtimes in which copies of arrays travel, are evicted, and have to be saved.
func onArrays(t *testing.T, fn func(t *testing.T, rt *Runtime, j *Job, nodes []int)) {
	for name, o := range map[string]func(t *testing.T) Options{
		"sequential": func(*testing.T) Options { return Options{Sequential: true} },
		"workers":    func(*testing.T) Options { return Options{Workers: 3} },
		"verify":     func(*testing.T) Options { return Options{Workers: 2, Verify: true} },
		"device":     func(*testing.T) Options { return Options{Workers: 1, Devices: simulated(1<<20, 2)} },
		"devices":    func(*testing.T) Options { return Options{Workers: 1, Devices: late(1<<13, 2, 3)} },
		"disk":       func(t *testing.T) Options { return onDisk(t, Options{Workers: 2}, 1<<12) },
		"all":        func(t *testing.T) Options { return onDisk(t, Options{Workers: 1, Devices: late(1<<13, 2, 5)}, 1<<12) },
	} {
		t.Run(name, func(t *testing.T) {
			o := o(t)
			rt, j := start(t, o)
			nodes := []int{0}
			for i := range o.Devices {
				nodes = append(nodes, i+1)
			}
			fn(t, rt, j, nodes)
		})
	}
}

func TestArraysModes(t *testing.T) {
	ctx := context.Background()
	const n = 40 // 960 bytes
	sum := ReduceArrays("sum", func(dst complexes) { dst.Set[0] = 7 }, func(into, from complexes) {
		for i := range into.Re {
			into.Re[i] += from.Re[i]
			into.Im[i] += from.Im[i]
		}
	})
	onArrays(t, func(t *testing.T, rt *Runtime, j *Job, nodes []int) {
		var all []Arrays[complexes]
		var want []complexes
		for k := range 12 { // more than fit a device, or main memory
			z := numbers(n)
			z.Row[3] = int32(k)
			want = append(want, z)
			all = append(all, got(NewArrays(rt, z, sum, Name(fmt.Sprint("z", k))))(t))
		}
		copied := got(MakeArrays(rt, numbers(n)))(t)
		for round := range 3 {
			for k, x := range all {
				must(t, j.Go(complexes.scale, RW(x), 0.0, float64(round+1), Node(nodes[(round+k)%len(nodes)])))
				want[k] = cloneArrays(want[k])
				want[k].scale(0, float64(round+1))
			}
			must(t, j.Go(func(a, b complexes) {
				for i := range a.Re {
					a.Re[i] += b.Re[i]
				}
			}, Commute(all[0]), R(all[1]), Node(nodes[round%len(nodes)])))
			for i := range n {
				want[0].Re[i] += want[1].Re[i]
			}
		}
		for i := range 10 {
			must(t, j.Go(func(a, work complexes) {
				work.Re[n-1] = 1
				a.Re[1] += work.Re[n-1]
				a.Im[n-1] += 2
			}, Redux(all[2]), Scratch(all[3]), Node(nodes[i%len(nodes)])))
		}
		want[2].Re[1] += 10
		want[2].Im[n-1] += 20
		for k, x := range all {
			if z := got(x.Value(ctx, j))(t); !z.equal(want[k]) {
				t.Fatalf("%s is %v, want %v", x.Name(), z, want[k])
			}
		}
		got(j.Copy(copied.Handle, all[5].Handle, CopyOptions{}))(t)
		dup := got(As[Arrays[complexes]](got(j.Duplicate(all[5].Handle))(t)))(t)
		a := got(all[5].Acquire(ctx, j, iface.RW))(t)
		a.Data().Im[0] = 1000
		must(t, a.Release())
		for _, x := range []Arrays[complexes]{copied, dup} {
			if z := got(x.Value(ctx, j))(t); !z.equal(want[5]) {
				t.Errorf("the copy is %v, want %v", z, want[5])
			}
		}
		b := got(j.Pack(ctx, all[6].Handle))(t)
		must(t, j.Unpack(ctx, copied.Handle, b))
		if z := got(copied.Value(ctx, j))(t); !z.equal(want[6]) {
			t.Errorf("unpacked: %v, want %v", z, want[6])
		}
		for _, bad := range [][]byte{nil, b[:len(b)-1], append(bytes.Clone(b), 0), b[9:]} {
			if err := j.Unpack(ctx, copied.Handle, bad); err == nil {
				t.Error("bytes that are damaged were unpacked")
			}
		}
		for _, x := range all {
			unregister(t, j, x.Handle)
		}
		unregister(t, j, copied.Handle, dup.Handle)
	})
}

// TestArraysOfDevices: a kernel for a device finds each array by its place.
func TestArraysOfDevices(t *testing.T) {
	rt, j := start(t, Options{Workers: 1, Devices: simulated(1<<20, 1)})
	z := numbers(6)
	x := got(NewArrays(rt, z))(t)
	c := &Codelet{Name: "negate", Modes: []iface.AccessMode{iface.RW}, CPU: []Impl{func(c *TaskContext) error {
		for k, want := range []string{"vector[u8] of 6", "vector[f64] of 6", "vector[f64] of 6", "vector[i32] of 3"} {
			if b := c.Array(0, k); b.Desc.String() != want {
				return fmt.Errorf("array %d is %v", k, &b.Desc)
			}
		}
		for i, v := range iface.Slice[float64](c.Array(0, 2)) {
			iface.Slice[float64](c.Array(0, 2))[i] = -v
		}
		return nil
	}}}
	must(t, j.Run(context.Background(), c, RW(x), Node(1)))
	a := got(j.Acquire(context.Background(), x.Handle, iface.R))(t)
	if im := iface.Slice[float64](a.Array(2)); !slices.Equal(im, []float64{0, 1, 2, 3, 4, 5}) {
		t.Error(im)
	}
	must(t, a.Release())
	if err := j.Run(context.Background(), &Codelet{Name: "far", CPU: []Impl{func(c *TaskContext) error { c.Array(0, 4); return nil }}}, R(x)); err == nil || !strings.Contains(err.Error(), "has no array 4") {
		t.Error(err)
	}
}

func TestArraysErrors(t *testing.T) {
	rt, j := start(t, Options{Workers: 1})
	x := got(NewArrays(rt, numbers(4), Name("x")))(t)
	for _, c := range []struct {
		err  error
		want string
	}{
		{second(NewArrays(rt, struct{ a []float64 }{})), "all of them exported slices of elements"},
		{second(NewArrays(rt, struct{ A []string }{})), "all of them exported slices of elements"},
		{second(NewArrays(rt, 1)), "all of them exported slices of elements"},
		{second(NewArrays(nil, numbers(1))), "the runtime is nil"},
		{second(NewArrays(rt, numbers(1), ReduceSum)), "ReduceArrays"},
		{second(NewArrays(rt, numbers(1), Fill(1))), "other data"},
		{second(As[Arrays[struct{ A []int8 }]](x.Handle)), "`x` (Arrays[engine.complexes]) is no Arrays[struct { A []int8 }]"},
		{second(rt.Partition(x.Handle, filter.Blocks(2))), "have no parts"},
		{second(j.Copy(x.Handle, got(MakeArrays(rt, numbers(5)))(t).Handle, CopyOptions{})), "different lengths"},
		{second(rt.Register(DataSpec{Kind: iface.Arrays, Elem: iface.U8, Dims: []int{8}})), "need a Layout"},
		{j.Go(func(struct{ A []int8 }) {}, R(x)), "takes a Arrays[struct { A []int8 }]"},
		{j.Go(func(*complexes) {}, R(x)), "takes a Value[engine.complexes]: pass such data, or make the parameter *T for a Value[T], T for Arrays[T]"},
		{j.Go(func([]uint8) {}, R(x)), "takes a Vector[uint8]"},
		{j.Submit(&TaskSpec{Codelet: Func("f", func(struct{ A []int8 }) {}), Operands: []Operand{R(x)}}), "must be a Arrays[struct { A []int8 }], and got `x` (Arrays[engine.complexes])"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%v\n\twant: %s", c.err, c.want)
		}
	}
	empty := got(NewArrays(rt, complexes{}))(t)
	must(t, j.Run(context.Background(), complexes.scale, RW(empty), 2.0, 0.0))
}
