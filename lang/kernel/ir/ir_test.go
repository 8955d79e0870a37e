package ir_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/kerneltest"
)

// TestUsedOperands: a run binds only the operands that the body uses, in any construct.
func TestUsedOperands(t *testing.T) {
	for _, c := range []struct {
		body string
		want []int
	}{
		{"", nil},
		{"a[0] = 1.0", []int{0}},
		{"a[0] = b[0]", []int{0, 1}},
		{"a[0] = c.n", []int{0, 2}},
		{"each i in c { a[i] = 1.0 }", []int{0, 2}},
		{"if b[0] > 0.0 { a[0] = 1.0 }", []int{0, 1}},
		{"a[0] = sum i in c { b[i] }", []int{0, 1, 2}},
		{"for i in 0..c.n { a[0] += 1.0 }", []int{0, 2}},
	} {
		t.Run(c.body, func(t *testing.T) {
			fn := kerneltest.Lowered(t, "codelet f(a: RW vector[f64], b: R vector[f64], c: R vector[f64]) { "+c.body+" }", nil)
			if got := fn.UsedOperands(); !reflect.DeepEqual(got, c.want) {
				t.Errorf("uses %v, want %v", got, c.want)
			}
		})
	}
}

// TestHash: the hash depends on what a body computes, and not on its layout.
func TestHash(t *testing.T) {
	hash := func(text string, elem iface.Elem) string {
		t.Helper()
		return kerneltest.Lowered(t, text, map[byte]iface.Elem{'T': elem}).Hash()
	}
	const text = "codelet k(x: RW vector[T]) { each i in x { x[i] *= 2 } }\n"
	want := hash(text, iface.F32)
	if got := hash("## doc\n\ncodelet k(x: RW vector[T]) {\n    each i in x { x[i] *= 2 } # twice\n}\n", iface.F32); got != want {
		t.Errorf("layout changes the hash: %s, %s", got, want)
	}
	for _, other := range []string{hash(text, iface.F64), hash(strings.Replace(text, "2", "3", 1), iface.F32)} {
		if other == want || len(other) != len(want) {
			t.Errorf("another kernel has the hash %s", other)
		}
	}
}
