package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// bag is a value of a Go type whose length changes.
type bag struct{ list []int64 }

// grow gives a bag a length before a task uses its elements: a new one where it has no value that counts, and at least three elements where a task
// contributes.
func (b *bag) grow(mode iface.AccessMode, s int64) {
	n := len(b.list)
	switch mode {
	case iface.W, iface.Scratch:
		if n, b.list = int(uint64(s)%5), nil; uint64(s)%11 == 0 {
			n = packedFirst/8 + int(uint64(s)%3) - 1
		}
	case iface.RW:
		n += int(uint64(s)%4) - 1
	case iface.Commute, iface.Redux:
		n = max(3, n)
	default:
		return
	}
	b.list = append(b.list[:min(max(0, n), len(b.list))], make([]int64, max(0, n-len(b.list)))...)
}

func (b *bag) MarshalBinary() (out []byte, err error) {
	for _, x := range b.list {
		if x == unpackable {
			return nil, errors.New("it has what cannot be packed")
		}
		out = binary.LittleEndian.AppendUint64(out, uint64(x))
	}
	return out, nil
}

func (b *bag) UnmarshalBinary(in []byte) error {
	for ; len(in) > 0; in = in[8:] {
		b.list = append(b.list, int64(binary.LittleEndian.Uint64(in)))
		if b.list[0] == notUnpackable {
			return errors.New("it has what cannot be unpacked")
		}
	}
	return nil
}

const unpackable, notUnpackable = -1 << 60, -1<<60 + 1 // elements that bags cannot be sent with

// addBags combines contributions to a bag.
func addBags(into, from *bag) error {
	into.list = append(into.list, make([]int64, max(0, len(from.list)-len(into.list)))...)
	for i, x := range from.list {
		into.list[i] += x
	}
	return nil
}

// lanes are arrays with elements of several types.
type lanes struct {
	A []int64
	B []int32
	C []uint8
}

// words returns the memory of all arrays, which lie one after the other, as words of 8 bytes.
func (l lanes) words() []int64 {
	return unsafe.Slice(&l.A[0], len(l.A)+len(l.B)/2+len(l.C)/8)
}

func addLanes(into, from lanes) {
	for i, x := range from.words() {
		into.words()[i] += x
	}
}

// registerKind registers a bag or arrays, with a value or without.
func registerKind(rt *engine.Runtime, r *rand.Rand, object bool) (*datamgr.Handle, error) {
	valued, n := r.IntN(3) > 0, r.IntN(6)
	var o []engine.DataOption
	if r.IntN(3) == 0 {
		o = append(o, engine.OwnedBy(r.IntN(10)))
	}
	if object {
		o = append(o, engine.ReduceValue("sum", nil, addBags))
		if !valued {
			v, err := engine.MakeValue[bag](rt, o...)
			return v.Handle, err
		}
		v, err := engine.NewValue(rt, bag{make([]int64, n)}, o...)
		return v.Handle, err
	}
	o = append(o, engine.ReduceArrays("sum", nil, addLanes))
	x := lanes{make([]int64, 1+n), make([]int32, 2*r.IntN(3)), make([]uint8, 8*r.IntN(2))}
	if !valued {
		v, err := engine.MakeArrays(rt, x, o...)
		return v.Handle, err
	}
	v, err := engine.NewArrays(rt, x, o...)
	return v.Handle, err
}

// put returns a codelet that makes a bag of n elements, all of them x.
func put(n int, x int64) *engine.Codelet {
	return &engine.Codelet{Name: "put", Modes: []iface.AccessMode{iface.W}, CPU: []engine.Impl{func(c *engine.TaskContext) error {
		b := (*bag)(c.Buffer(0).Ptr)
		for range n {
			b.list = append(b.list, x)
		}
		return nil
	}}}
}

// TestValues: bags of all lengths go from the rank that made them to all others, and the figures have their bytes.
func TestValues(t *testing.T) {
	lengths := []int{0, 1, packedFirst/8 - 1, packedFirst / 8, packedFirst/8 + 1, 100_000}
	const size = 3
	var mu sync.Mutex
	var total Traffic
	for r, err := range onEach(t, size, func(j *Job, _ engine.Operand) error {
		for k, n := range lengths {
			v, err := engine.MakeValue[bag](j.rt)
			if err != nil {
				return err
			}
			if err := j.Submit(&Task{TaskSpec: engine.TaskSpec{Codelet: put(n, int64(k)), Operands: []engine.Operand{{Handle: v.Handle, Mode: iface.W}}}, On: 1 + k%size}); err != nil {
				return err
			}
			a, err := j.Acquire(context.Background(), v.Handle, iface.R, engine.AcquireOptions{})
			if err != nil {
				return err
			}
			if got := (*bag)(a.Buffer().Ptr).list; len(got) != n || n > 0 && (got[0] != int64(k) || got[n-1] != int64(k)) {
				t.Errorf("rank %d has a bag of %d, want %d", j.Rank(), len(got), n)
			}
			if err := a.Release(); err != nil {
				return err
			}
		}
		if err := j.Wait(context.Background()); err != nil {
			return err
		}
		got, err := j.Report(context.Background())
		if err == nil {
			mu.Lock()
			total = got.Sent()
			mu.Unlock()
		}
		return err
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
	want := Traffic{}
	for _, n := range lengths {
		want.add(Traffic{size - 1, int64(8 * n * (size - 1))})
	}
	if total != want {
		t.Errorf("%+v sent, want %+v", total, want)
	}
}

// TestValuesThatCannotBeSent: the error says what the type lacks, on all ranks.
func TestValuesThatCannotBeSent(t *testing.T) {
	type closed struct{ F func() }
	for r, err := range onEach(t, 2, func(j *Job, _ engine.Operand) error {
		v, err := engine.NewValue(j.rt, closed{})
		if err != nil {
			return err
		}
		err = j.Submit(&Task{TaskSpec: engine.TaskSpec{Codelet: &engine.Codelet{Name: "c"}, Operands: []engine.Operand{{Handle: v.Handle, Mode: iface.RW}}}})
		var refused *UnsupportedError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), "cluster.closed") || !strings.Contains(err.Error(), "MarshalBinary and UnmarshalBinary") {
			return fmt.Errorf("Submit: %w", err)
		}
		return j.Wait(context.Background())
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
	for _, test := range []struct {
		x    int64
		want string
	}{{unpackable, "cannot be packed"}, {notUnpackable, "cannot be unpacked"}} {
		for _, size := range []int{2, 5} {
			for r, err := range onEach(t, size, func(j *Job, _ engine.Operand) error {
				v, err := engine.MakeValue[bag](j.rt)
				if err != nil {
					return err
				}
				err = j.Submit(&Task{TaskSpec: engine.TaskSpec{Codelet: put(1, test.x), Operands: []engine.Operand{{Handle: v.Handle, Mode: iface.W}}}, On: size})
				if err == nil {
					_, err = j.Acquire(context.Background(), v.Handle, iface.R, engine.AcquireOptions{})
				}
				if err == nil { // this rank has it
					err = j.Wait(context.Background())
				}
				if err == nil || !strings.Contains(err.Error(), "a value of cluster.bag") || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "Pack and Unpack") {
					return fmt.Errorf("ends with %w, want %s", err, test.want)
				}
				return nil
			}) {
				if err != nil {
					t.Errorf("%d ranks, rank %d: %v", size, r, err)
				}
			}
		}
	}
}

// TestPlanOfValues: a plan counts the messages with values, and notes that it estimates their bytes.
func TestPlanOfValues(t *testing.T) {
	rt, err := engine.Machine{Workers: 1}.Planner(func(*engine.PlannedTask) {})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	v, err := engine.NewValue(rt, bag{})
	if err != nil {
		t.Fatal(err)
	}
	j := NewPlan(t.Context(), rt, 3, Options{})
	if err := errors.Join(submitSome(j, engine.Operand{Handle: v.Handle, Mode: iface.RW}, 5), j.Wait(t.Context())); err != nil {
		t.Fatal(err)
	}
	got, err := j.Report(t.Context())
	if err := errors.Join(err, j.Close()); err != nil {
		t.Fatal(err)
	}
	if want := (Traffic{4, 4 * int64(unsafe.Sizeof(bag{}))}); !got.Estimated || got.Sent() != want {
		t.Errorf("%+v sent, want %+v; estimated: %v", got.Sent(), want, got.Estimated)
	}
}
