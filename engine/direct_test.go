package engine_test

import (
	"context"
	"errors"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

func TestCodeletCall(t *testing.T) {
	v := []float64{1, 2, 3}
	b := &iface.Buffer{Ptr: unsafe.Pointer(&v[0])}
	b.Kind, b.Elem, b.Rank, b.Dim[0], b.Stride[0] = iface.Vector, iface.F64, 1, 3, 1
	type key struct{}
	c := &engine.Codelet{Name: "scale", Modes: []iface.AccessMode{iface.RW}, CPU: []engine.Impl{func(c *engine.TaskContext) error {
		if c.Context().Value(key{}) != "here" || c.Worker() != 0 || c.NumBuffers() != 1 || c.Mode(0) != iface.RW || c.Codelet().Name != "scale" {
			return errors.New("the context is not what was given")
		}
		if c.Arg(0).Float() < 0 {
			panic("negative")
		}
		for i, x := range iface.Slice[float64](c.Buffer(0)) {
			iface.Slice[float64](c.Buffer(0))[i] = x * c.Arg(0).Float()
		}
		return nil
	}}}
	ctx := context.WithValue(context.Background(), key{}, "here")
	if err := c.Call(ctx, []*iface.Buffer{b}, []iface.Scalar{iface.Float(2)}); err != nil || v[2] != 6 {
		t.Errorf("Call: %v, data %v", err, v)
	}
	var p *engine.PanicError
	if err := c.Call(ctx, []*iface.Buffer{b}, []iface.Scalar{iface.Float(-1)}); !errors.As(err, &p) {
		t.Errorf("a panic came out as %v", err)
	}
	if err := c.Call(ctx, nil, nil); err == nil {
		t.Error("a call without buffers succeeded")
	}
	if err := (&engine.Codelet{Name: "none"}).Call(ctx, nil, nil); err == nil {
		t.Error("a codelet without implementation ran")
	}
}
