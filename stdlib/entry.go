package stdlib

// From a line of the table to a codelet: the signature is taken apart once, and
// every task's operands are held against it before its own rule runs.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

type module struct {
	name, doc string
	codelets  []entry
}

// entry is one codelet.
type entry struct {
	signature string
	doc       string
	elems     []iface.Elem           // what T may stand for; nil: anything
	shape     func(s shapes) error   // nil: nothing besides kinds and elements
	kernel    func(k operands) error // one task
	flops     func(s shapes) float64
	fold      string // what it does to RW operands; see engine.Codelet
	bodies    *engine.Bodies

	name string
	ops  []operand
	args []string // names of the scalars, in order

	declared []engine.ArgType // the scalars as the engine checks them

	flagArg [numFlags]int8 // place of each flag in args, -1 without
}

// operands is what a kernel sees: *engine.TaskContext, or a test.
type operands interface {
	Buffer(i int) *iface.Buffer
	Arg(i int) iface.Scalar
}

// operand is a handle of a signature.
type operand struct {
	name  string
	mode  iface.AccessMode
	kind  string     // "variable", "vector", "matrix", "dense", "any"
	param byte       // 'T'; 0 when elem is fixed
	elem  iface.Elem // fixed element type
	// member is "ptr", "col" or "val" for an array of a sparse matrix, which is three operands.
	member string
}

func (o *operand) admits(k iface.Kind) bool {
	return o.kind == k.String() || o.kind == "any" && iface.KindOf(k.Rank()) == k || o.kind == "dense" && (k == iface.Vector || k == iface.Matrix)
}

var kindPhrase = map[string]string{
	"variable": "a variable", "vector": "a vector", "matrix": "a matrix", "dense": "a vector or a matrix", "any": "data with elements",
}

// scalarKinds are the types of scalars in signatures. Kernels convert numbers to T.
var scalarKinds = map[string]iface.ScalarKind{
	"T": iface.FloatScalar, "int": iface.IntScalar, "float": iface.FloatScalar, "string": iface.StringScalar,
}

// parse reads the signature. It is text of this package: a mistake in it is a
// panic in every test.
func (e *entry) parse() {
	name, list, ok := strings.Cut(strings.TrimSuffix(e.signature, ")"), "(")
	if !ok {
		panic("stdlib: signature " + e.signature)
	}
	e.name = name
	for f := range e.flagArg {
		e.flagArg[f] = -1
	}
	for _, p := range strings.Split(list, ", ") {
		name, typ, _ := strings.Cut(p, ": ")
		mode, typ2, ok := strings.Cut(typ, " ")
		m, isMode := iface.ModeByName(mode)
		if !ok || !isMode {
			for f := range flagInfo {
				if flagInfo[f].name == name {
					e.flagArg[f] = int8(len(e.args))
				}
			}
			e.args = append(e.args, name)
			typ, _, _ = strings.Cut(typ, " = ")
			kind, ok := scalarKinds[typ]
			if !ok {
				panic("stdlib: scalar type " + typ + " in " + e.signature)
			}
			if typ == "T" && slices.Contains(e.elems, iface.C128) {
				kind = iface.ComplexScalar
			}
			e.declared = append(e.declared, engine.ArgType{Name: name, Kind: kind})
			continue
		}
		o := operand{name: name, mode: m}
		var elem string
		o.kind, elem, _ = strings.Cut(strings.TrimSuffix(typ2, "]"), "[")
		if len(elem) == 1 {
			o.param = elem[0]
		} else if o.elem, ok = iface.ElemByName(elem); !ok {
			panic("stdlib: element type " + elem + " in " + e.signature)
		}
		if o.kind == "csr" {
			e.sparse(o)
			continue
		}
		e.ops = append(e.ops, o)
	}
}

// sparse adds the operands of a sparse matrix: its arrays, and the scalar with its columns.
func (e *entry) sparse(o operand) {
	array := func(member string, mode iface.AccessMode, param byte, elem iface.Elem) {
		e.ops = append(e.ops, operand{name: o.name + "." + member, mode: mode, kind: "vector", param: param, elem: elem, member: member})
	}
	array("ptr", iface.R, 0, iface.I64)
	array("col", iface.R, 0, iface.I32)
	array("val", o.mode, o.param, o.elem)
	e.args = append(e.args, o.name+".cols")
	e.declared = append(e.declared, engine.ArgType{Name: o.name + ".cols", Kind: iface.IntScalar})
}

func (e entry) build() *engine.Codelet {
	e.parse()
	if e.elems == nil {
		e.elems = iface.RealElems
	}
	c := &engine.Codelet{
		Name: e.name, Signature: e.signature, Doc: e.doc, Elems: slices.Clone(e.elems), Pure: true, Fold: e.fold,
		CPU:    []engine.Impl{func(c *engine.TaskContext) error { return e.kernel(c) }},
		Bodies: e.bodies,
		Shape:  func(ops []iface.Desc, args []iface.Scalar) error { return e.check(ops, args) },
	}
	// Shape checks the operands, and names them in its errors and for the tests of kernels.
	c.Types = &engine.Types{Operands: make([]engine.OperandType, len(e.ops)), Args: e.declared}
	for i := range e.ops {
		c.Modes = append(c.Modes, e.ops[i].mode)
	}
	if !slices.ContainsFunc(e.ops, func(o operand) bool { return o.member != "" }) { // codelets of std/sparse have names of dense ones
		c.On = deviceImpls(e.name)
	}
	if c.Bounded = e.flops != nil; c.Bounded {
		c.Flops = func(ops []iface.Desc, args []iface.Scalar) float64 {
			n := e.flops(shapes{e: &e, ops: ops, args: args})
			if ops[0].Elem.IsComplex() {
				n *= 4 // a product of complex numbers and a sum are 8 operations on floats
			}
			return n
		}
	}
	return c
}

// check is the codelet's Shape.
func (e *entry) check(ops []iface.Desc, args []iface.Scalar) error {
	if len(ops) != len(e.ops) || len(args) != len(e.args) {
		return &engine.ShapeError{Message: fmt.Sprintf("`%s` takes %d operands and %d scalars, and got %d and %d",
			e.name, len(e.ops), len(e.args), len(ops), len(args)), Help: "codelet " + e.signature}
	}
	first := -1 // the operand that decided T
	for i := range ops {
		o, d := &e.ops[i], &ops[i]
		if !o.admits(d.Kind) {
			return &engine.ShapeError{Message: fmt.Sprintf("`%s` of `%s` is %s, and got a %v", o.name, e.name, kindPhrase[o.kind], d.Kind),
				Operands: []int{i}, Details: []string{typeOf(d)}, Help: "codelet " + e.signature}
		}
		switch {
		case o.param == 0 && d.Elem != o.elem:
			return &engine.ShapeError{Message: fmt.Sprintf("`%s` of `%s` has elements of type %v, and got %v", o.name, e.name, o.elem, d.Elem),
				Operands: []int{i}, Details: []string{typeOf(d)}, Help: "codelet " + e.signature}
		case o.param != 'T':
		case first < 0:
			first = i
			if e.elems != nil && !slices.Contains(e.elems, d.Elem) {
				return &engine.ShapeError{Message: fmt.Sprintf("`%s` computes with %s, and `%s` has elements of type %v", e.name, oneOf(e.elems), o.name, d.Elem),
					Operands: []int{i}, Details: []string{typeOf(d)}}
			}
		case d.Elem != ops[first].Elem:
			return &engine.ShapeError{Message: fmt.Sprintf("`%s` needs one element type, and got %v and %v", e.name, ops[first].Elem, d.Elem),
				Operands: []int{first, i}, Details: []string{fmt.Sprintf("%s, so T is %v", typeOf(&ops[first]), ops[first].Elem), typeOf(d)},
				Help: "codelet " + e.signature}
		}
	}
	s := shapes{e: e, ops: ops, args: args}
	if first >= 0 && !ops[first].Elem.IsComplex() {
		for i := range args {
			if args[i].Kind() == iface.ComplexScalar {
				return s.badArg(e.args[i], "computes with elements of type %v, and `%s` is a complex number", ops[first].Elem, e.args[i])
			}
		}
	}
	if e.shape == nil {
		return nil
	}
	return e.shape(s)
}

func typeOf(d *iface.Desc) string { return d.Kind.Type(d.Elem.String()) }

func oneOf(elems []iface.Elem) string {
	if slices.Equal(elems, iface.RealElems) {
		return "real numbers"
	}
	var names []string
	for _, e := range elems {
		names = append(names, e.String())
	}
	return strings.Join(names, " or ")
}
