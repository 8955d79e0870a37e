package kernel

import (
	"reflect"
	"testing"
)

// A run takes only the operands that the body looks at; whatever way it looks.
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
			p := compileOne(t, "codelet f(a: RW vector[f64], b: R vector[f64], c: R vector[f64]) { "+c.body+" }", nil)
			if !reflect.DeepEqual(p.used, c.want) {
				t.Errorf("takes %v, want %v", p.used, c.want)
			}
		})
	}
}
