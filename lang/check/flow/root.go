package flow

// The data that an expression names.

import (
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// RootOf returns the registered name x of the data e: x, x[i], v, or v[i, j] where v is a
// named view of x. It returns nil if the name is not known.
func RootOf(e syntax.Expr) *types.Object {
	for {
		switch x := syntax.Unparen(e).(type) {
		case *syntax.Index:
			e = x.X
		case *syntax.Ident:
			if x.Obj == nil {
				return nil
			}
			switch x.Obj.Kind {
			case types.HandleObject:
				if x.Obj.Type.IsHandle() {
					return x.Obj
				}
				return nil
			case types.ViewObject:
				part := PartitionOf(x.Obj)
				if part == nil || len(part.Of) == 0 {
					return nil
				}
				e = part.Of[0]
				continue
			}
			return nil
		default:
			return nil
		}
	}
}

// constructorOf returns the call that registers the data o, or nil for other objects.
func constructorOf(o *types.Object) *syntax.Call {
	r, ok := o.Node.(*syntax.Register)
	if !ok {
		return nil
	}
	call, _ := syntax.Unparen(r.Value).(*syntax.Call)
	return call
}

// isExtern reports whether o is data that the host binds.
func isExtern(o *types.Object) bool {
	_, ok := o.Node.(*syntax.ExternData)
	return ok
}

func isKind(e syntax.Expr, k types.Kind) bool {
	t := e.Type()
	return t != nil && t.Kind == k
}

// PartitionOf returns the statement that declares the view o, or nil for other objects.
func PartitionOf(o *types.Object) *syntax.Partition {
	p, _ := o.Node.(*syntax.Partition)
	return p
}

// SameElements reports whether a and b share elements for all values of the names in them:
// they are the same data, whole or at equal indices.
func SameElements(a, b syntax.Expr) bool {
	a, b = syntax.Unparen(a), syntax.Unparen(b)
	if equal(a, b) {
		return true
	}
	// The whole of a registered name shares elements with all of its parts.
	ra, rb := RootOf(a), RootOf(b)
	if ra == nil || ra != rb {
		return false
	}
	return isWhole(a, ra) || isWhole(b, rb)
}

func isWhole(e syntax.Expr, root *types.Object) bool {
	id, ok := e.(*syntax.Ident)
	return ok && id.Obj == root
}

// equal reports whether a and b, evaluated one after the other, have the same value for
// sure. They are names, literals and arithmetic on them.
func equal(a, b syntax.Expr) bool {
	switch x := syntax.Unparen(a).(type) {
	case *syntax.Ident:
		y, ok := syntax.Unparen(b).(*syntax.Ident)
		return ok && x.Obj != nil && x.Obj == y.Obj
	case *syntax.IntLit:
		y, ok := syntax.Unparen(b).(*syntax.IntLit)
		return ok && x.Value == y.Value
	case *syntax.Unary:
		y, ok := syntax.Unparen(b).(*syntax.Unary)
		return ok && x.Op == y.Op && equal(x.X, y.X)
	case *syntax.Binary:
		y, ok := syntax.Unparen(b).(*syntax.Binary)
		return ok && x.Op == y.Op && equal(x.X, y.X) && equal(x.Y, y.Y)
	case *syntax.Selector:
		y, ok := syntax.Unparen(b).(*syntax.Selector)
		return ok && x.Name != nil && y.Name != nil && x.Name.Name == y.Name.Name && equal(x.X, y.X)
	case *syntax.Index:
		y, ok := syntax.Unparen(b).(*syntax.Index)
		if !ok || len(x.Args) != len(y.Args) || !equal(x.X, y.X) {
			return false
		}
		for i := range x.Args {
			if !equal(x.Args[i], y.Args[i]) {
				return false
			}
		}
		return true
	}
	return false
}
