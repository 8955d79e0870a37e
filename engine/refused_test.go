package engine

import (
	"context"
	"errors"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
)

// TestRefusedTaskInSequential: a task that is refused may have made a copy
// necessary before that was known; without workers it is made all the same.
func TestRefusedTaskInSequential(t *testing.T) {
	rt, j := start(t, Options{Sequential: true})
	source := ints(t, rt, []int64{1, 2, 3})
	empty, err := rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{3}})
	must(t, err)
	dup, err := j.Duplicate(source)
	must(t, err)
	var none *UninitError
	if _, err := j.Copy(source, empty, CopyOptions{}); !errors.As(err, &none) {
		t.Fatalf("copy of what has no value: %v", err)
	}
	must(t, j.WaitHandles(context.Background(), dup))
}
