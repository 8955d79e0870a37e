package interp

import (
	"testing"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
)

func TestAlias(t *testing.T) {
	x := make([]float64, 64)
	vector := func(from, n int) *Binding {
		return &Binding{Kind: iface.Vector, Elem: iface.F64, Dims: []int{n}, Home: unsafe.Pointer(&x[from])}
	}
	matrix := func(from, rows, cols, ld int) *Binding {
		return &Binding{Kind: iface.Matrix, Elem: iface.F64, Dims: []int{rows, cols}, LD: ld, Home: unsafe.Pointer(&x[from])}
	}
	variable := func(from int) *Binding {
		return &Binding{Kind: iface.Variable, Elem: iface.F64, Home: unsafe.Pointer(&x[from])}
	}
	readOnly := func(b *Binding) *Binding { b.ReadOnly = true; return b }
	for name, c := range map[string]struct {
		a, b *Binding
		bad  bool
	}{
		"the same":                 {vector(0, 8), vector(0, 8), true},
		"one to read":              {vector(0, 8), readOnly(vector(0, 8)), true},
		"both to read":             {readOnly(vector(0, 8)), readOnly(vector(0, 8)), false},
		"beside":                   {vector(0, 8), vector(8, 8), false},
		"the last":                 {vector(0, 8), vector(7, 8), true},
		"nothing":                  {vector(0, 0), vector(0, 8), false},
		"an element":               {variable(3), vector(0, 8), true},
		"an element beside":        {variable(8), vector(0, 8), false},
		"columns":                  {matrix(0, 8, 4, 8), matrix(4, 8, 4, 8), false},
		"columns that meet":        {matrix(0, 8, 5, 8), matrix(4, 8, 4, 8), true},
		"rows":                     {matrix(0, 4, 8, 8), matrix(32, 4, 8, 8), false},
		"a vector between rows":    {matrix(0, 8, 4, 8), vector(12, 4), false},
		"a vector into a row":      {matrix(0, 8, 4, 8), vector(12, 5), true},
		"other distances of rows":  {matrix(0, 4, 2, 8), matrix(4, 8, 2, 4), true},
		"other distances, no meet": {matrix(0, 4, 2, 8), matrix(2, 8, 2, 8), false},
	} {
		for _, bs := range [][]NamedBinding{{{"a", c.a}, {"b", c.b}}, {{"b", c.b}, {"a", c.a}}} {
			if err := checkAlias(bs); (err != nil) != c.bad {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
