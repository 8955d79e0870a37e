package interp

// Values between Go and the language.

import (
	"fmt"
	"math"
	"reflect"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// toHost returns v as Go code gets it: lists of numbers as []int64 and []float64,
// other lists as []any. Lists that share items become copies, which may be much larger.
func (m *Machine) toHost(v any, at place) any {
	copied := int64(0)
	return m.copyOut(v, at, &copied)
}

// copyOut is toHost; copied counts bytes.
func (m *Machine) copyOut(v any, at place, copied *int64) any {
	l, ok := v.(*List)
	if !ok {
		return v
	}
	m.spend(at)
	*copied += listBytes + int64(l.Len())*itemBytes(l.kind)
	m.fits(*copied, at)
	switch l.kind {
	case rInt:
		return append([]int64{}, l.i...)
	case rFloat:
		return append([]float64{}, l.f...)
	}
	out := make([]any, l.Len())
	for k := range out {
		out[k] = m.copyOut(l.at(k), at, copied)
	}
	return out
}

// fromHost returns a Go value as a value of type t.
func fromHost(v any, t *types.Type) (any, error) {
	if t == nil || t.Kind == types.None {
		if v != nil {
			return nil, fmt.Errorf("%T where no value belongs", v)
		}
		return nil, nil
	}
	wrong := func() (any, error) {
		if v == nil {
			return nil, fmt.Errorf("nil where %s belongs", article(t.String()))
		}
		switch x := v.(type) {
		case *Handle:
			if !x.Exists() {
				return nil, fmt.Errorf("a handle of no run where %s belongs", article(t.String()))
			}
			return nil, fmt.Errorf("%s where %s belongs", article(x.typ.String()), article(t.String()))
		case *View:
			return nil, fmt.Errorf("a view where %s belongs", article(t.String()))
		}
		return nil, fmt.Errorf("%T where %s belongs", v, article(t.String()))
	}
	r := reflect.ValueOf(v)
	if !r.IsValid() {
		return wrong()
	}
	switch t.Kind {
	case types.Int:
		switch {
		case r.CanInt():
			return r.Int(), nil
		case r.CanUint():
			if u := r.Uint(); u <= math.MaxInt64 {
				return int64(u), nil
			}
			return nil, fmt.Errorf("%d does not fit an int", v)
		}
	case types.Float:
		switch {
		case r.CanFloat():
			return r.Float(), nil
		case r.CanInt():
			return float64(r.Int()), nil
		case r.CanUint():
			return float64(r.Uint()), nil
		}
	case types.Bool:
		if r.Kind() == reflect.Bool {
			return r.Bool(), nil
		}
	case types.String:
		if r.Kind() == reflect.String {
			return r.String(), nil
		}
	case types.List:
		if l, ok := v.(*List); ok {
			return l.as(listKind(t)), nil
		}
		if r.Kind() != reflect.Slice && r.Kind() != reflect.Array {
			return wrong()
		}
		l := emptied(listKind(t), r.Len())
		for k := 0; k < r.Len(); k++ {
			x, err := fromHost(r.Index(k).Interface(), t.Of)
			if err != nil {
				return nil, fmt.Errorf("item %d: %w", k, err)
			}
			l.push(x)
		}
		return l, nil
	default:
		if fits(v, t) {
			return v, nil
		}
	}
	return wrong()
}

// fits reports whether an opaque value has type t.
func fits(v any, t *types.Type) bool {
	switch x := v.(type) {
	case *Handle:
		return x.Exists() && t.IsHandle() && types.Same(t, x.typ)
	case *View:
		return x != nil && x.v != nil && t.Kind == types.View && (t.Of == nil || types.Same(t.Of, x.partType))
	case Range:
		return t.Kind == types.Range
	case *Task:
		return t.Kind == types.Task
	case *Gate:
		return t.Kind == types.Gate || t.Kind == types.Task
	case Node:
		return t.Kind == types.Node
	case Worker:
		return t.Kind == types.Worker
	case DeviceKind:
		return t.Kind == types.DeviceKind
	}
	return false
}

// Constant returns the value of a default in a host signature: a literal, or one
// with a minus.
func Constant(p *types.Param) (any, error) { return constant(p) }

func constant(p *types.Param) (any, error) {
	e, ok := p.Default.(syntax.Expr)
	if !ok {
		if p.HasDefault {
			return nil, nil
		}
		return nil, fmt.Errorf("there is none")
	}
	v, err := literal(e)
	if err != nil {
		return nil, err
	}
	t := p.Type
	if t.Kind == types.Elem {
		t = types.TFloat
		if _, isInt := v.(int64); isInt {
			t = types.TInt
		} else if p.Type.Elem.IsInt() {
			return nil, fmt.Errorf("%v where %s belongs", v, article(p.Type.String()))
		}
	}
	return fromHost(v, t)
}

func literal(e syntax.Expr) (any, error) {
	switch e := unparen(e).(type) {
	case *syntax.IntLit:
		return e.Value, nil
	case *syntax.FloatLit:
		return e.Value, nil
	case *syntax.StringLit:
		return e.Value, nil
	case *syntax.BoolLit:
		return e.Value, nil
	case *syntax.Unary:
		v, err := literal(e.X)
		if err != nil {
			return nil, err
		}
		switch x := v.(type) {
		case int64:
			if e.Op == "-" && x != math.MinInt64 {
				return -x, nil
			}
		case float64:
			if e.Op == "-" {
				return -x, nil
			}
		}
	case *syntax.Ident:
		switch e.Name {
		case "inf":
			return math.Inf(1), nil
		case "pi":
			return math.Pi, nil
		}
	}
	return nil, fmt.Errorf("the default must be a literal")
}

// ---- numbers to elements --------------------------------------------------------------

var elemRange = map[iface.Elem][2]int64{
	iface.I8: {math.MinInt8, math.MaxInt8}, iface.I16: {math.MinInt16, math.MaxInt16}, iface.I32: {math.MinInt32, math.MaxInt32},
	iface.I64: {math.MinInt64, math.MaxInt64}, iface.U8: {0, math.MaxUint8}, iface.U16: {0, math.MaxUint16},
	iface.U32: {0, math.MaxUint32}, iface.U64: {0, math.MaxInt64},
}

// intFits reports whether the integer v is in the range of element type e.
func intFits(e iface.Elem, v int64) bool {
	if e == iface.I64 || e.IsFloat() {
		return true
	}
	r := elemRange[e]
	return v >= r[0] && v <= r[1]
}

// floatFits reports whether v is in the range of element type e, a float.
func floatFits(e iface.Elem, v float64) bool {
	return e != iface.F32 || math.IsInf(v, 0) || v != v || !math.IsInf(float64(float32(v)), 0)
}

// outOfRange raises E0705 for a number that element type e cannot hold.
func (m *Machine) outOfRange(e iface.Elem, v any, at place) {
	x := ""
	switch n := v.(type) {
	case int64:
		x = fmt.Sprint(n)
	case float64:
		x = formatFloat(n, 64)
	}
	d := m.diagnostic("E0705", at, fmt.Sprintf("%s does not fit %s", x, article(e.String())))
	if r, ok := elemRange[e]; ok {
		d.Label = fmt.Sprintf("%v holds %d to %d", e, r[0], r[1])
		if e == iface.U64 {
			d.Label = "u64 holds nothing below 0"
		}
	} else {
		d.Label = "f32 holds up to 3.4e+38"
	}
	m.raise(d)
}
