package engine

// Go functions as kernels: what their parameters take, and the codelets made of them.

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
)

// FuncParam says what a parameter of a Go function takes when it is a kernel. The zero
// value is that of a parameter that gets nothing of the task's operands and arguments.
type FuncParam struct {
	Kinds KindSet    // of data; 0: it takes a scalar argument
	Elem  iface.Elem // of the data; NoElem for bools and strings
	// Scalar is the kind of a scalar argument: IntScalar, FloatScalar, ComplexScalar,
	// BoolScalar or StringScalar; NoScalar for data.
	Scalar iface.ScalarKind
}

type class uint8

const (
	noClass class = iota
	classContext
	classSlice
	classPointer // of an operand, or the *TaskContext
	classMat
	classBuffer
	classScalar
	classArrays
	classStructs
)

// goParam is a parameter of a goFunc.
type goParam struct {
	FuncParam
	class  class
	kind   reflect.Kind  // of a scalar
	object reflect.Type  // of an object: the type of its value; of a slice of structs: that of a struct
	fields []iface.Field // of a slice of structs, which takes an operand for each
}

// operands is how many operands a parameter for data takes.
func (p *goParam) operands() int { return max(1, len(p.fields)) }

var (
	typeContext     = reflect.TypeFor[context.Context]()
	typeTaskContext = reflect.TypeFor[*TaskContext]()
	typeError       = reflect.TypeFor[error]()
)

// kernelData is implemented by the types of this package that kernels take for data.
type kernelData interface {
	// param describes a parameter; the type tells it from types that embed it.
	param() (goParam, reflect.Type)
}

func (m Mat[T]) param() (goParam, reflect.Type) {
	return goParam{FuncParam: FuncParam{Kinds: Kinds(iface.Matrix), Elem: iface.ElemOf[T]()}, class: classMat}, reflect.TypeFor[Mat[T]]()
}

func (b Buffer[T]) param() (goParam, reflect.Type) {
	all := Kinds(denseKinds...)
	return goParam{FuncParam: FuncParam{Kinds: all, Elem: iface.ElemOf[T]()}, class: classBuffer}, reflect.TypeFor[Buffer[T]]()
}

// isObject reports whether a kernel's *T, with T being t, is a Value: numbers are elements of data, and handles
// and contexts are no values.
func isObject(t reflect.Type) bool {
	switch k := t.Kind(); {
	case k >= reflect.Int && k <= reflect.Float64 && k != reflect.Uintptr:
		return false
	case t == typeTaskContext.Elem() || t == typeContext || t.Implements(reflect.TypeFor[Data]()) || t.Implements(reflect.TypeFor[kernelData]()):
		return false
	}
	return true
}

// isArrays reports whether a kernel's parameter of type t is Arrays: a struct of exported slices of elements.
func isArrays(t reflect.Type) bool {
	if t.Kind() != reflect.Struct || t.NumField() == 0 || t.Implements(reflect.TypeFor[kernelData]()) || t.Implements(reflect.TypeFor[Data]()) {
		return false
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() || f.Type.Kind() != reflect.Slice || iface.ElemOfType(f.Type.Elem()) == iface.NoElem {
			return false
		}
	}
	return true
}

// structParam describes a parameter of type []T, with T being t; false: t is no struct with fields.
func structParam(t reflect.Type) (goParam, bool) {
	if t.Kind() != reflect.Struct || t.Implements(reflect.TypeFor[kernelData]()) || t.Implements(reflect.TypeFor[Data]()) {
		return goParam{}, false
	}
	fields, err := iface.FieldsOf(t)
	if err != nil {
		return goParam{}, false
	}
	return goParam{FuncParam: FuncParam{Kinds: Kinds(iface.Vector), Elem: fields[0].Elem}, class: classStructs, object: t, fields: fields}, true
}

// paramOf returns what a parameter of type t takes; false: no kernel has such a one.
func paramOf(t reflect.Type) (goParam, bool) {
	k := t.Kind()
	elem := func() iface.Elem { return iface.ElemOfType(t.Elem()) }
	scalar := func(s iface.ScalarKind, e iface.Elem) (goParam, bool) {
		return goParam{FuncParam: FuncParam{Elem: e, Scalar: s}, class: classScalar, kind: k}, true
	}
	switch {
	case t == typeContext:
		return goParam{class: classContext}, true
	case t == typeTaskContext:
		return goParam{class: classPointer}, true
	case k == reflect.Slice && elem() != iface.NoElem:
		return goParam{FuncParam: FuncParam{Kinds: Kinds(iface.Vector), Elem: elem()}, class: classSlice}, true
	case k == reflect.Slice:
		return structParam(t.Elem())
	case k == reflect.Pointer && elem() != iface.NoElem:
		return goParam{FuncParam: FuncParam{Kinds: Kinds(iface.Variable), Elem: elem()}, class: classPointer}, true
	case k == reflect.Pointer && isObject(t.Elem()):
		return goParam{FuncParam: FuncParam{Kinds: Kinds(iface.Object)}, class: classPointer, object: t.Elem()}, true
	case k == reflect.Struct:
		if d, ok := reflect.Zero(t).Interface().(kernelData); ok {
			p, is := d.param()
			return p, is == t
		}
		if isArrays(t) {
			return goParam{FuncParam: FuncParam{Kinds: Kinds(iface.Arrays), Elem: iface.U8}, class: classArrays, object: t}, true
		}
	case k == reflect.Bool:
		return scalar(iface.BoolScalar, iface.NoElem)
	case k == reflect.String:
		return scalar(iface.StringScalar, iface.NoElem)
	case k == reflect.Int || k == reflect.Uint:
		e := [2]iface.Elem{iface.I64, iface.U64}
		if t.Size() == 4 {
			e = [2]iface.Elem{iface.I32, iface.U32}
		}
		return scalar(iface.IntScalar, e[(k-reflect.Int)/(reflect.Uint-reflect.Int)])
	}
	switch e := iface.ElemOfType(t); {
	case e.IsFloat():
		return scalar(iface.FloatScalar, e)
	case e.IsInt():
		return scalar(iface.IntScalar, e)
	case e.IsComplex():
		return scalar(iface.ComplexScalar, e)
	}
	return goParam{}, false
}

// FuncParamOf returns what a parameter of type t takes of a task: []T a vector, *T a
// variable, Mat[T] a matrix, Buffer[T] data of any kind, T being a type with the
// underlying type of an element; numbers, bools and strings, and types made of them,
// scalar arguments. ok is false for types that kernels cannot take, for
// context.Context and *TaskContext, which get nothing, and for those that take a Value or Arrays, as
// scripts have no such data.
func FuncParamOf(t reflect.Type) (p FuncParam, ok bool) {
	q, ok := paramOf(t)
	return q.FuncParam, ok && q.FuncParam != FuncParam{} && q.object == nil
}

// goFunc is a Go function, or all functions of a type that are the same code, as a
// kernel.
type goFunc struct {
	name    string
	typ     reflect.Type
	params  []goParam
	first   int    // parameters that get nothing of the task: 0 or 1
	structs bool   // it takes slices of structs
	raw     bool   // its only parameter is the *TaskContext: it takes whatever it is given
	data    uint64 // bit i: argument i of Go, options apart, is data
	end     uint64 // the bit behind those of the arguments
	wide    uint64 // bit i: it is a uint64
	call    caller
	at      [maxParams]uint8
	types   *Types // what a codelet of f declares; nil if it is raw
}

// newGoFunc takes a function type apart; name is what the function is called.
func newGoFunc(name string, t reflect.Type) (*goFunc, error) {
	f := &goFunc{name: name, typ: t}
	fail := func(format string, args ...any) (*goFunc, error) {
		return nil, &TypeError{Operand: -1, Arg: -1, Message: fmt.Sprintf("the kernel %s is of type %v: ", name, t) + fmt.Sprintf(format, args...)}
	}
	switch {
	case t.IsVariadic():
		return fail("a task has a fixed number of arguments, and the function is variadic; take a slice of registered data, or one parameter for each argument")
	case t.NumOut() > 1 || t.NumOut() == 1 && t.Out(0) != typeError:
		return fail("a kernel returns an error or nothing; it gives results by writing data that it gets by W or RW")
	case t.NumIn() > maxParams:
		return fail("it has %d parameters, and a kernel can have %d", t.NumIn(), maxParams)
	}
	ops, args := 0, 0
	for i := range t.NumIn() {
		p, ok := paramOf(t.In(i))
		switch {
		case !ok:
			return fail("parameter %d, %v, is nothing that a task has; %s", i+1, t.In(i), paramHelp(t.In(i)))
		case p.FuncParam == FuncParam{} && i > 0:
			return fail("parameter %d, %v, must be the first", i+1, t.In(i))
		case p.FuncParam == FuncParam{}:
			f.first, f.at[i] = 1, theContext
		case p.Kinds != 0:
			f.data |= 1 << (i - f.first)
			f.at[i] = uint8(ops)
			f.structs = f.structs || p.class == classStructs
			if ops += p.operands(); ops > maxParams {
				return fail("its parameters take more than %d operands, one for each field of structs", maxParams)
			}
		default:
			if p.Elem == iface.U64 {
				f.wide |= 1 << (i - f.first)
			}
			f.at[i] = uint8(args)
			args++
		}
		f.params = append(f.params, p)
	}
	f.end = 1 << (t.NumIn() - f.first)
	f.raw = t.NumIn() == 1 && t.In(0) == typeTaskContext
	f.call = f.caller()
	f.types = f.declare()
	return f, nil
}

// paramHelp says what to write instead of a parameter of type t.
func paramHelp(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice, reflect.Pointer:
		if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct {
			if _, err := iface.FieldsOf(t.Elem()); err != nil {
				return err.Error()
			}
		}
		if k := t.Elem().Kind(); k == reflect.Int || k == reflect.Uint {
			return fmt.Sprintf("elements of data have a size: use %v64", t.Elem())
		}
	case reflect.Struct:
		if d, ok := reflect.Zero(t).Interface().(kernelData); ok {
			_, is := d.param()
			return fmt.Sprintf("use %v itself, without a struct around it", is)
		}
	}
	return "data is []T, *T, engine.Mat[T] or engine.Buffer[T] with elements such as float64, other arguments are numbers, bools and strings; use a closure for the rest"
}

// caller returns how functions of f's type are called.
func (f *goFunc) caller() caller {
	var shape strings.Builder
	var scalars reflect.Kind
	for i := range f.params {
		letter := byte('?')
		switch p := &f.params[i]; p.class {
		case classSlice:
			letter = 'S'
		case classPointer:
			letter = 'P'
		case classMat:
			letter = 'M'
		case classBuffer:
			letter = 'B'
		case classScalar:
			k := p.register()
			if scalars == reflect.Invalid {
				scalars = k
			}
			if scalars == k && k != reflect.Invalid {
				letter = 'Z'
			}
		}
		shape.WriteByte(letter)
	}
	fails := f.typ.NumOut() == 1
	var call caller
	switch scalars {
	case reflect.Float32:
		call = directCaller[float32Arg](shape.String(), fails)
	case reflect.Int64:
		call = directCaller[int64Arg](shape.String(), fails)
	case reflect.Int32:
		call = directCaller[int32Arg](shape.String(), fails)
	default:
		call = directCaller[float64Arg](shape.String(), fails)
	}
	if call == nil {
		return reflectCaller(f)
	}
	return call
}

// register returns the kind of scalar that is passed as a parameter like p is; Invalid:
// it has no class.
func (p *goParam) register() reflect.Kind {
	switch p.Elem {
	case iface.F64:
		return reflect.Float64
	case iface.F32:
		return reflect.Float32
	case iface.I64, iface.U64:
		return reflect.Int64
	case iface.I32, iface.U32:
		return reflect.Int32
	}
	return reflect.Invalid
}

// declare returns what a codelet of f declares.
func (f *goFunc) declare() *Types {
	if f.raw {
		return nil
	}
	ts := &Types{}
	for _, p := range f.params[f.first:] {
		switch {
		case p.class == classStructs:
			for _, field := range p.fields {
				ts.Operands = append(ts.Operands, OperandType{Kinds: p.Kinds, Elem: field.Elem})
			}
		case p.Kinds != 0:
			ts.Operands = append(ts.Operands, OperandType{Kinds: p.Kinds, Elem: p.Elem, Object: p.object})
		case p.Elem != iface.NoElem:
			ts.Args = append(ts.Args, ArgType{Elem: p.Elem})
		default:
			ts.Args = append(ts.Args, ArgType{Kind: p.Scalar})
		}
	}
	return ts
}

// impl returns f with the closure fn as an implementation.
func (f *goFunc) impl(fn unsafe.Pointer) Impl {
	return func(c *TaskContext) error { return f.run(c, fn) }
}

// run calls fn. Unless the codelet declares what f takes, so that the submission was held
// against that, it looks at the operands first: a call with other data could do anything.
func (f *goFunc) run(c *TaskContext, fn unsafe.Pointer) error {
	if c.t.codelet.Types != f.types {
		if err := f.check(c); err != nil {
			return err
		}
	}
	if f.structs {
		if err := f.checkStructs(c); err != nil {
			return err
		}
	}
	return f.call(c, fn, &f.at)
}

// check reports an operand that f cannot take.
func (f *goFunc) check(c *TaskContext) error {
	for i := f.first; i < len(f.params); i++ {
		p, at := &f.params[i], int(f.at[i])
		if p.Kinds == 0 {
			if at >= len(c.Args()) {
				return &TypeError{Codelet: c.Codelet(), Operand: -1, Arg: at, Message: fmt.Sprintf("%s, of type %v, is run without scalar argument %d", f.name, f.typ, at)}
			}
			continue
		}
		if at+p.operands() > c.NumBuffers() {
			return &TypeError{Codelet: c.Codelet(), Operand: at, Arg: -1, Message: fmt.Sprintf("%s, of type %v, is run without operand %d", f.name, f.typ, at)}
		}
		if p.class == classStructs { // checkStructs looks at the rest
			for k, field := range p.fields {
				if b := c.Buffer(at + k); b.Elem != field.Elem || b.Kind != iface.Vector {
					return &TypeError{Codelet: c.Codelet(), Operand: at + k, Arg: -1, Message: fmt.Sprintf("%s, of type %v, is run with a %s as operand %d, and takes the field %s of %v; let the codelet have the Types of Func",
						f.name, f.typ, typeText(b.Kind, b.Elem), at+k, field.Name, p.object)}
				}
			}
			continue
		}
		b := c.Buffer(at)
		if p.object != nil && p.Kinds.Has(b.Kind) && objectType(c.t.operands()[at].Handle) == p.object {
			continue
		}
		if b.Elem != p.Elem || !p.Kinds.Has(b.Kind) || p.object != nil {
			return &TypeError{Codelet: c.Codelet(), Operand: at, Arg: -1, Message: fmt.Sprintf("%s, of type %v, is run with a %s as operand %d, and takes a %s; let the codelet have the Types of Func", f.name, f.typ, typeText(b.Kind, b.Elem), at, p.handles())}
		}
	}
	return nil
}

// checkStructs reports an operand of f that is no slice of structs.
func (f *goFunc) checkStructs(c *TaskContext) error {
	for i := f.first; i < len(f.params); i++ {
		p, at := &f.params[i], int(f.at[i])
		if p.class != classStructs {
			continue
		}
		if _, ok := structsAt(c, p.fields, at); !ok {
			return &TypeError{Codelet: c.Codelet(), Operand: at, Arg: -1, Message: fmt.Sprintf(
				"%s, of type %v, takes operands %d to %d as a slice of structs in memory, and they are other data; give Job.Go the RW() of a Structs[%v]",
				f.name, f.typ, at, at+len(p.fields)-1, p.object)}
		}
	}
	return nil
}

// funcValue is an interface value that holds a function: a pointer to its closure, which
// begins with the address of its code.
type funcValue struct {
	typ     unsafe.Pointer
	closure *uintptr
}

// closureOf returns the closure of fn, which holds a function that is not nil.
func closureOf(fn any) unsafe.Pointer {
	return unsafe.Pointer((*funcValue)(unsafe.Pointer(&fn)).closure)
}

// isFunc reports whether fn holds a function; if not, it says what is wrong.
func isFunc(fn any) error {
	v := reflect.ValueOf(fn)
	switch {
	case v.Kind() == reflect.Func && !v.IsNil():
		return nil
	case v.Kind() == reflect.Func:
		return &TypeError{Operand: -1, Arg: -1, Message: fmt.Sprintf("the kernel is a nil %T; give a function", fn)}
	case fn == nil:
		return &TypeError{Operand: -1, Arg: -1, Message: "the kernel is nil; give a function such as func(x []float64), or a *Codelet"}
	}
	return &TypeError{Operand: -1, Arg: -1, Message: fmt.Sprintf("the kernel is of type %T; give a function such as func(x []float64), or a *Codelet", fn)}
}

// Func makes a codelet of Go functions, which are its implementations for the CPU and
// have parameters of the same types. Their parameters, in order, are the arguments of a
// task: []T is a vector, *T a variable or a Value[T], Mat[T] a matrix, Buffer[T] data with elements, a struct of slices Arrays of it, a slice of structs Structs;
// numbers, bools and strings are scalar arguments. A context.Context or *TaskContext may
// come first, and an error may be returned. A function whose only parameter is a
// *TaskContext accepts any arguments.
//
// The name is used in messages, traces and statistics, and for measured times; "" means
// the function's own name. Other fields of the codelet, such as Model, On or Pure, may be
// set until a task is submitted with it. A mistake in the functions is a *TypeError of
// every submission with the codelet.
func Func(name string, fns ...any) *Codelet {
	c := &Codelet{Name: name}
	for i, fn := range fns {
		if c.bad = isFunc(fn); c.bad != nil {
			break
		}
		own := funcName(*(*funcValue)(unsafe.Pointer(&fn)).closure)
		if c.Name == "" {
			c.Name = own
		}
		var f *goFunc
		if f, c.bad = newGoFunc(own, reflect.TypeOf(fn)); c.bad != nil {
			break
		}
		if i > 0 && !sameParams(c.fn, f) {
			c.bad = &TypeError{Codelet: c, Operand: -1, Arg: -1, Message: fmt.Sprintf("implementations of a codelet take the same, and %s is of type %v, %s of type %v", c.fn.name, c.fn.typ, f.name, f.typ)}
			break
		}
		if i == 0 {
			c.fn, c.Types = f, f.types
		}
		c.CPU = append(c.CPU, f.impl(closureOf(fn)))
	}
	if c.bad != nil {
		c.CPU = nil
	}
	return c
}

// sameParams reports whether two functions take the same of a task.
func sameParams(a, b *goFunc) bool {
	pa, pb := a.params[a.first:], b.params[b.first:]
	if len(pa) != len(pb) || a.raw != b.raw {
		return false
	}
	for i := range pa {
		if pa[i].FuncParam != pb[i].FuncParam || pa[i].object != pb[i].object {
			return false
		}
	}
	return true
}

// FuncImpl makes an implementation of a Go function whose parameters are as Func has
// them: its i-th parameter that takes something of the task gets operand or scalar
// argument at[i]. A task that has no such data there fails.
func FuncImpl(fn any, at []int) (Impl, error) {
	if err := isFunc(fn); err != nil {
		return nil, err
	}
	f, err := newGoFunc(funcName(*(*funcValue)(unsafe.Pointer(&fn)).closure), reflect.TypeOf(fn))
	if err != nil {
		return nil, err
	}
	if len(at) != len(f.params)-f.first {
		return nil, &TypeError{Operand: -1, Arg: -1, Message: fmt.Sprintf("%s has %d parameters for operands and arguments, and %d places are given", f.name, len(f.params)-f.first, len(at))}
	}
	for i, k := range at {
		if k < 0 || k >= theContext {
			return nil, &TypeError{Operand: -1, Arg: -1, Message: fmt.Sprintf("%s: %d is no place of an operand or argument; they are 0 to %d", f.name, k, theContext-1)}
		}
		f.at[f.first+i] = uint8(k)
	}
	return f.impl(closureOf(fn)), nil
}

// funcName is the name of the function with that code: "main.axpy", without the path
// of its package.
func funcName(code uintptr) string {
	name := "function"
	if f := runtime.FuncForPC(code); f != nil {
		name = f.Name()
	}
	return name[strings.LastIndexByte(name, '/')+1:]
}

// goFuncs are the codelets of functions that were given to Go, by their type and code:
// as many as the program has such functions. Closures of one function share a codelet,
// so each task has its own.
var goFuncs struct {
	table atomic.Pointer[[]goFuncEntry] // a hash table, at most half full, never changed
	mu    sync.Mutex                    // one goroutine at a time makes a new table
}

type goFuncEntry struct {
	typ     unsafe.Pointer
	code    uintptr
	codelet *Codelet
}

// codeletOf returns the codelet of functions like fn, which holds one that is not nil.
func codeletOf(fn *funcValue) (*Codelet, error) {
	code := *fn.closure
	if t := goFuncs.table.Load(); t != nil {
		for i := hashFunc(fn.typ, code); ; i++ {
			e := &(*t)[i&(len(*t)-1)]
			if e.code == code && e.typ == fn.typ {
				return e.codelet, nil
			}
			if e.codelet == nil {
				break
			}
		}
	}
	return addGoFunc(fn)
}

func hashFunc(typ unsafe.Pointer, code uintptr) int {
	return int((uint64(code) ^ uint64(uintptr(typ))>>3) * 0x9E3779B97F4A7C15 >> 40)
}

// addGoFunc makes the codelet of functions like fn.
func addGoFunc(fn *funcValue) (*Codelet, error) {
	code := *fn.closure
	f, err := newGoFunc(funcName(code), reflect.TypeOf(*(*any)(unsafe.Pointer(fn))))
	if err != nil {
		return nil, err
	}
	c := &Codelet{Name: f.name, Types: f.types, fn: f}
	c.CPU = []Impl{func(c *TaskContext) error {
		if c.t.marks&hasClosure == 0 { // it was found in an event, say, and submitted
			return fmt.Errorf("engine: the codelet %s is what Job.Go made for a function; give the function to Job.Go, or make a codelet of it by Func", f.name)
		}
		return f.run(c, c.t.closure())
	}}
	goFuncs.mu.Lock()
	defer goFuncs.mu.Unlock()
	old := goFuncs.table.Load()
	n := 1
	if old != nil {
		for _, e := range *old {
			switch {
			case e.code == code && e.typ == fn.typ:
				return e.codelet, nil // another goroutine was faster
			case e.codelet != nil:
				n++
			}
		}
	}
	size := 64
	for size < 2*n {
		size *= 2
	}
	table := make([]goFuncEntry, size)
	put := func(e goFuncEntry) {
		i := hashFunc(e.typ, e.code)
		for table[i&(size-1)].codelet != nil {
			i++
		}
		table[i&(size-1)] = e
	}
	if old != nil {
		for _, e := range *old {
			if e.codelet != nil {
				put(e)
			}
		}
	}
	put(goFuncEntry{fn.typ, code, c})
	goFuncs.table.Store(&table)
	return c, nil
}

// denseKinds are the kinds of data with elements, in the order in which messages have them.
var denseKinds = []iface.Kind{iface.Vector, iface.Matrix, iface.Block, iface.Tensor, iface.Variable,
	iface.Tensor5, iface.Tensor6, iface.Tensor7, iface.Tensor8}

// handles lists the types of handles that p takes: "Vector[float64]".
func (p *goParam) handles() string {
	if p.object != nil {
		if p.class == classStructs {
			return fmt.Sprintf("Structs[%v]", p.object)
		}
		if p.class == classArrays {
			return goTypeText(iface.Arrays, p.object)
		}
		return goTypeText(iface.Object, p.object)
	}
	text := ""
	for _, k := range denseKinds {
		if p.Kinds.Has(k) && k <= iface.Tensor5 { // tensors of more indices have one type
			if text != "" {
				text += " or "
			}
			text += typeText(k, p.Elem)
		}
	}
	return text
}

// help says what to do about data of kind k with elements of type e for p, which has the
// type t in Go.
func (p *goParam) help(t reflect.Type, k iface.Kind, e iface.Elem) string {
	if p.class == classStructs {
		return fmt.Sprintf("the parameter, of type %v, takes a %s: pass the RW() of such data, or make the parameter []%v", t, p.handles(), e.GoType())
	}
	if k == iface.Object || k == iface.Arrays {
		return fmt.Sprintf("the parameter, of type %v, takes a %s: pass such data, or make the parameter *T for a Value[T], T for Arrays[T]", t, p.handles())
	}
	want := map[iface.Kind]string{iface.Vector: "[]%v", iface.Variable: "*%v", iface.Matrix: "engine.Mat[%v]", iface.Block: "engine.Buffer[%v]"}[k]
	if k.IsTensor() {
		want = "engine.Buffer[%v]"
	}
	if want == "" {
		return fmt.Sprintf("the parameter, of type %v, takes a %s", t, p.handles())
	}
	return fmt.Sprintf("the parameter, of type %v, takes a %s: pass such data, or make the parameter "+want, t, p.handles(), e.GoType())
}
