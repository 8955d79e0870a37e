package lang

// Host codelets: Go kernels with a signature in the language.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/perf"
	"github.com/starpush/starpush/lang/interp"
	"github.com/starpush/starpush/lang/types"
)

// A Codelet is a kernel that scripts may insert. It is immutable and may be
// given to any number of compilers.
type Codelet struct {
	sig *types.Signature
	eng *engine.Codelet
}

// Name returns the name in the language.
func (c *Codelet) Name() string {
	if c == nil || c.sig == nil {
		return ""
	}
	return c.sig.Name
}

// Signature returns the signature as given to NewCodelet.
func (c *Codelet) Signature() string {
	if c == nil || c.sig == nil {
		return ""
	}
	return c.sig.Text
}

// Engine returns the codelet as the engine sees it, for tasks submitted from Go. The
// engine holds those against the signature: other kinds, element types, modes or scalars
// are an error of the submission, a *engine.TypeError or *engine.ModeError.
func (c *Codelet) Engine() *engine.Codelet {
	if c == nil {
		return nil
	}
	return c.eng
}

// codeletBuild collects what the options of NewCodelet say.
type codeletBuild struct {
	sig     *types.Signature
	impls   []engine.Impl
	on      map[string][]engine.Impl // by the Arch of devices
	shape   func(Shapes) error
	doc     string
	model   *perf.Model
	version string // of the kernels
	pure    bool
	main    []int // operands that on can take in main memory
}

// A CodeletOption describes a codelet further.
type CodeletOption func(*codeletBuild) error

// NewCodelet declares a codelet with a signature in the language, so script and
// host cannot disagree: "clip(v: RW vector[f32], lo: f32, hi: f32)". At least one
// implementation must be given.
func NewCodelet(signature string, opts ...CodeletOption) (*Codelet, error) {
	sig, err := codeletSignature(signature)
	if err != nil {
		return nil, err
	}
	b := &codeletBuild{sig: sig.Flat()}
	for _, o := range opts {
		if o == nil {
			continue
		}
		if err := o(b); err != nil {
			return nil, fmt.Errorf("lang: codelet %s: %w", sig.Name, err)
		}
	}
	if len(b.impls) == 0 && len(b.on) == 0 {
		return nil, fmt.Errorf("lang: codelet %s has no implementation; give CPU, CPUFunc or On", sig.Name)
	}
	e := &engine.Codelet{Name: sig.Name, Signature: signature, Doc: b.doc, Modes: operandModes(b.sig), Types: interp.Types(sig, nil), CPU: b.impls, On: b.on, Pure: b.pure, FromMain: b.main}
	e.Model = b.model
	if b.version != "" {
		e.Kernel = func() string { return b.version }
	}
	if b.shape != nil {
		e.Shape = shapeRule(b.sig, b.shape)
	}
	return &Codelet{sig: sig, eng: e}, nil
}

func operandModes(sig *types.Signature) []iface.AccessMode {
	modes := []iface.AccessMode{}
	for _, p := range sig.Params {
		if p.Mode != iface.NoMode {
			modes = append(modes, p.Mode)
		}
	}
	return modes
}

// CPU gives one implementation; several may be given. fn must not keep the Task
// or what it returns, and cannot use the Instance or Session whose task it is: their
// methods return an error there. A panic in fn fails the task, as an error does: the
// error has a *PanicError with the stack, which %+v of it writes. A panic on a goroutine
// that fn started ends the process, as Go has it.
func CPU(fn func(*Task) error) CodeletOption {
	return func(b *codeletBuild) error {
		if fn == nil {
			return fmt.Errorf("CPU: the function is nil")
		}
		sig := b.sig
		b.impls = append(b.impls, func(c *engine.TaskContext) error {
			t := taskPool.Get().(*Task)
			t.ctx, t.sig = c, sig
			err := fn(t)
			t.ctx, t.sig = nil, nil
			taskPool.Put(t)
			return err
		})
		return nil
	}
}

// Doc gives the documentation that :doc and editors show.
func Doc(text string) CodeletOption {
	return func(b *codeletBuild) error { b.doc = text; return nil }
}

// PerfModel says how the time of a task is predicted; nil: from the history of
// such tasks. version tells the implementations from earlier ones of the same
// name, whose times say nothing of these; "" if the name is enough.
func PerfModel(m *perf.Model, version string) CodeletOption {
	return func(b *codeletBuild) error {
		if m != nil {
			if err := m.Check(); err != nil {
				return fmt.Errorf("PerfModel: %w", err)
			}
		}
		b.model, b.version = m, version
		return nil
	}
}

// Pure says that the implementations depend on nothing but operands and scalars
// and do nothing but write operands, so that they may be run again: verification
// (engine.Options.Verify) is exact for such codelets only.
func Pure() CodeletOption {
	return func(b *codeletBuild) error { b.pure = true; return nil }
}

// ShapeRule gives a check of sizes that runs at every insert, before the task
// exists. Its error is reported with the insert (E0702).
func ShapeRule(fn func(Shapes) error) CodeletOption {
	return func(b *codeletBuild) error {
		if fn == nil {
			return fmt.Errorf("ShapeRule: the function is nil")
		}
		b.shape = fn
		return nil
	}
}

func shapeRule(sig *types.Signature, fn func(Shapes) error) func([]iface.Desc, []iface.Scalar) error {
	return func(ops []iface.Desc, args []iface.Scalar) (err error) {
		defer func() {
			if r := recover(); r != nil {
				err = &engine.ShapeError{Message: fmt.Sprintf("the shape rule of `%s` panicked: %v", sig.Name, r),
					Cause: &engine.PanicError{Value: r, Stack: string(debug.Stack())}}
			}
		}()
		if err := fn(Shapes{sig: sig, ops: ops, args: args}); err != nil {
			return &engine.ShapeError{Message: err.Error(), Cause: err}
		}
		return nil
	}
}

// Shapes gives a ShapeRule the sizes and scalar arguments, by name. A name that the
// signature lacks is a mistake of the host and panics, which the insert reports.
type Shapes struct {
	sig  *types.Signature
	ops  []iface.Desc
	args []iface.Scalar
}

// Of returns the sizes of an operand, one for each index.
func (s Shapes) Of(operand string) []int {
	i, _ := findParam(s.sig, operand, true)
	return s.ops[i].Shape()
}

// Int returns an integer argument.
func (s Shapes) Int(name string) int64 { i, _ := findParam(s.sig, name, false); return s.args[i].Int() }

// Float returns a floating-point argument.
func (s Shapes) Float(name string) float64 {
	i, _ := findParam(s.sig, name, false)
	return s.args[i].Float()
}

// Str returns a string argument.
func (s Shapes) Str(name string) string {
	i, _ := findParam(s.sig, name, false)
	return s.args[i].Str()
}

// findParam finds the operand or the scalar called name, counted among its like.
func findParam(sig *types.Signature, name string, operand bool) (int, *types.Param) {
	n := 0
	for i := range sig.Params {
		p := &sig.Params[i]
		if (p.Mode != iface.NoMode) != operand {
			continue
		}
		if p.Name == name {
			return n, p
		}
		n++
	}
	what := "scalar"
	if operand {
		what = "operand"
	}
	panic(fmt.Sprintf("codelet %s has no %s named %s", sig.Name, what, name))
}

// Task gives an implementation its operands and arguments. It is valid until the
// implementation returns.
type Task struct {
	ctx *engine.TaskContext
	sig *types.Signature
}

var taskPool = sync.Pool{New: func() any { return new(Task) }}

// Context ends when the run is cancelled; kernels that take long should look at it.
func (t *Task) Context() context.Context { return t.ctx.Context() }

// GiveWay lets tasks of other runs on the runtime run, where those had less than their
// share of the workers (Limits.Weight), before it returns. An implementation that takes
// long should call it now and then, every 0.1 ms or so, where it holds nothing that other
// implementations wait for. On devices it does nothing.
func (t *Task) GiveWay() { t.ctx.GiveWay() }

// Worker returns the number of the worker that runs the task.
func (t *Task) Worker() int { return t.ctx.Worker() }

// Scalar lists the Go types of scalar arguments.
type Scalar interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64 | ~complex64 | ~complex128 | ~bool | ~string
}

// Arg returns the scalar argument of that name, converted to T as Go converts
// numbers. A wrong name, or a T of another sort (a string for a number), panics,
// which fails the task with a message.
func Arg[T Scalar](t *Task, name string) T {
	i, p := findParam(t.sig, name, false)
	v := t.ctx.Arg(i)
	var out T
	ok := setScalar(&out, v)
	if !ok {
		panic(fmt.Sprintf("codelet %s: argument %s is a %v, asked for as %T", t.sig.Name, name, p.Type, out))
	}
	return out
}

// Buffer is an operand inside a kernel: typed access to its memory, without a copy.
// It is valid until the kernel returns.
type Buffer[T Elem] = engine.Buffer[T]

// Buf returns operand i, counted among the handles of the signature from 0. A
// wrong place or element type panics, which fails the task with a message.
func Buf[T Elem](t *Task, i int) Buffer[T] { return engine.Buf[T](t.ctx, i) }

// Module is a host module, as in import "std/blas": codelets that carry a signature, and
// what the module is for. It must not be changed after NewCompiler.
type Module = engine.Module

// ModuleOf makes a module of codelets that carry a signature. Two of one name, or one
// without a signature, are an error; NewCompiler finds those in any module.
func ModuleOf(cs ...*engine.Codelet) (*Module, error) {
	m := &Module{Codelets: cs}
	if _, err := moduleMembers(m); err != nil {
		return nil, fmt.Errorf("lang: ModuleOf: %w", err)
	}
	return m, nil
}

// moduleMembers are the codelets of a module as scripts see them, by name.
func moduleMembers(m *Module) (map[string]*types.Object, error) {
	members := map[string]*types.Object{}
	for _, c := range m.Codelets {
		if c == nil || c.Signature == "" {
			return nil, errors.New("a codelet without a signature cannot be used by scripts")
		}
		sig, err := codeletSignature(c.Signature)
		if err != nil {
			return nil, err
		}
		if members[sig.Name] != nil {
			return nil, fmt.Errorf("two codelets are named %s", sig.Name)
		}
		if c.Modes != nil && !slices.Equal(c.Modes, operandModes(sig.Flat())) {
			return nil, fmt.Errorf("%s: its Modes %v are not those of its signature %q", sig.Name, c.Modes, c.Signature)
		}
		if c.Elems != nil {
			sig.Elems = map[byte][]iface.Elem{'T': c.Elems}
		}
		members[sig.Name] = codeletObject(sig, c)
	}
	return members, nil
}

func codeletObject(sig *types.Signature, c *engine.Codelet) *types.Object {
	return &types.Object{Name: sig.Name, Kind: types.CodeletObject, Doc: c.Doc, Sig: sig, Host: c, Kinds: kindsOf(c), Fold: c.Fold}
}

// kindsOf lists the kinds of devices that c has implementations for.
func kindsOf(c *engine.Codelet) []string {
	kinds := slices.Sorted(maps.Keys(c.On))
	if len(c.CPU) > 0 || len(kinds) == 0 {
		kinds = append([]string{"cpu"}, kinds...)
	}
	return kinds
}

// CPUFunc: plain Go functions as kernels. The parameters are held against the signature
// here; package engine calls the function.

// CPUFunc gives an implementation as a plain Go function with one parameter for
// each of the signature, in its order: a vector is []T, a variable *T, a matrix
// engine.Mat[T], a block or tensor Buffer[T], which does for all data; an element-typed scalar is T
// itself, int is int64 or int, float is float64, bool and string themselves; void operands
// are left out. The function may take a context.Context first, and may return an error.
// Types are checked here. Signatures with type parameters need CPU instead.
func CPUFunc(fn any) CodeletOption {
	return func(b *codeletBuild) error {
		impl, err := adaptFunc(b.sig, fn)
		if err != nil {
			return err
		}
		b.impls = append(b.impls, impl)
		return nil
	}
}

var (
	ctxType = reflect.TypeFor[context.Context]()
	errType = reflect.TypeFor[error]()
)

// adaptFunc checks fn against sig and makes an implementation of it.
func adaptFunc(sig *types.Signature, fn any) (engine.Impl, error) {
	v := reflect.ValueOf(fn)
	if v.IsValid() && v.Kind() == reflect.Func && v.IsNil() {
		return nil, fmt.Errorf("CPUFunc: the function is nil")
	}
	if !v.IsValid() || v.Kind() != reflect.Func {
		return nil, fmt.Errorf("CPUFunc wants a Go function, got %T", fn)
	}
	t := v.Type()
	if t.IsVariadic() {
		return nil, fmt.Errorf("CPUFunc: a variadic function does not fit a signature")
	}
	if t.NumOut() > 1 || (t.NumOut() == 1 && t.Out(0) != errType) {
		return nil, fmt.Errorf("CPUFunc: the function may return an error and nothing else, and this is a %v", t)
	}
	first := 0
	if t.NumIn() > 0 && t.In(0) == ctxType {
		first = 1
	}
	var want []string
	var at []int // which operand or scalar each parameter gets
	in, op, sc := first, 0, 0
	for i := range sig.Params {
		p := &sig.Params[i]
		if p.Type.Param != 0 {
			return nil, fmt.Errorf("CPUFunc: %s is %v: a signature with type parameters needs CPU and Buf", p.Name, p.Type)
		}
		if p.Type.Kind == types.Void {
			op++
			continue
		}
		if in >= t.NumIn() {
			return nil, fmt.Errorf("CPUFunc: %v has too few parameters: `%s` comes next and wants %s", t, p.Name, goTypeName(p))
		}
		if !fitsParam(p, t.In(in)) {
			return nil, fmt.Errorf("CPUFunc: `%s` is %v, so the Go parameter must be %s, not %v", p.Name, p.Type, goTypeName(p), t.In(in))
		}
		want = append(want, goTypeName(p))
		in++
		if p.Mode != iface.NoMode {
			at = append(at, op)
			op++
		} else {
			at = append(at, sc)
			sc++
		}
	}
	if in != t.NumIn() {
		return nil, fmt.Errorf("CPUFunc: %v has %d parameters, the signature wants %d: %v", t, t.NumIn()-first, len(want), want)
	}
	impl, err := engine.FuncImpl(fn, at)
	if err != nil {
		return nil, fmt.Errorf("CPUFunc: %w", err)
	}
	return impl, nil
}

// goTypeName names the Go type that a parameter wants.
func goTypeName(p *types.Param) string {
	e := p.Type.Elem.GoType()
	switch p.Type.Kind {
	case types.Vector:
		return fmt.Sprintf("[]%v", e)
	case types.Variable:
		return fmt.Sprintf("*%v", e)
	case types.Matrix:
		return fmt.Sprintf("engine.Mat[%v] or lang.Buffer[%v]", e, e)
	case types.Block, types.Tensor, types.Dense, types.Any:
		return fmt.Sprintf("lang.Buffer[%v]", e)
	case types.Elem:
		return e.String()
	case types.Int:
		return "int64 or int"
	case types.Float:
		return "float64"
	case types.Complex:
		return "complex128"
	}
	return p.Type.String()
}

// fitsParam reports whether a Go parameter of type t can be given what p is.
func fitsParam(p *types.Param, t reflect.Type) bool {
	switch p.Type.Kind {
	case types.Elem:
		return iface.ElemOfType(t) == p.Type.Elem
	case types.Int:
		return t.Kind() == reflect.Int64 || t.Kind() == reflect.Int
	case types.Float:
		return t.Kind() == reflect.Float64
	case types.Complex:
		return t.Kind() == reflect.Complex128
	case types.Bool:
		return t.Kind() == reflect.Bool
	case types.String:
		return t.Kind() == reflect.String
	}
	kinds := p.Type.Admitted()
	q, ok := engine.FuncParamOf(t)
	for _, k := range kinds {
		ok = ok && q.Kinds != 0 && q.Kinds.Has(k) && q.Elem == p.Type.Elem
	}
	return ok
}

// setScalar stores a into *p as p's type; false when the sorts differ.
func setScalar[T Scalar](p *T, a iface.Scalar) bool {
	v := reflect.ValueOf(p).Elem()
	number := a.Kind() == iface.IntScalar || a.Kind() == iface.FloatScalar
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(a.Bool())
		return a.Kind() == iface.BoolScalar
	case reflect.String:
		v.SetString(a.Str())
		return a.Kind() == iface.StringScalar
	case reflect.Complex64, reflect.Complex128:
		v.SetComplex(a.Complex())
		return number || a.Kind() == iface.ComplexScalar
	case reflect.Float32, reflect.Float64:
		v.SetFloat(a.Float())
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(a.Int()))
	default:
		v.SetInt(a.Int())
	}
	return number
}

// Kernels of host codelets for devices.

// On gives an implementation for devices whose Arch is arch: "opencl", "cuda". fn
// begins its work on the stream and returns; the task ends when that work has. The
// stream is of the driver's own type, such as *opencl.Stream, which launches kernels.
// Operands are in the memory of the device: Buffer.Ptr is for the driver, and Slice
// and Row panic. A codelet may have implementations for the CPU and for several
// devices; the policy chooses.
func On(arch string, fn func(*Task, accel.Stream) error) CodeletOption {
	return func(b *codeletBuild) error {
		switch {
		case fn == nil:
			return fmt.Errorf("On(%q): the function is nil", arch)
		case arch == "" || arch == "cpu":
			return fmt.Errorf("On(%q): functions for the CPU are given by CPU", arch)
		}
		sig := b.sig
		if b.on == nil {
			b.on = map[string][]engine.Impl{}
		}
		b.on[arch] = append(b.on[arch], func(c *engine.TaskContext) error {
			return fn(&Task{ctx: c, sig: sig}, c.Stream())
		})
		return nil
	}
}

// CUDA gives an implementation for NVIDIA devices: On("cuda", fn). The stream is a
// *cuda.Stream of package accel/cuda, in programs built with the tag cuda.
func CUDA(fn func(*Task, accel.Stream) error) CodeletOption { return On("cuda", fn) }

// OpenCL gives an implementation for OpenCL devices: On("opencl", fn). The stream is
// an *opencl.Stream of package accel/opencl.
func OpenCL(fn func(*Task, accel.Stream) error) CodeletOption { return On("opencl", fn) }

// FromMain names operands that the implementations given by On can take in main
// memory, where scripts may keep them: insert c(RW x @ ram). Then Slice and Row serve
// them as on a CPU worker. Without it such tasks run on CPU workers.
func FromMain(names ...string) CodeletOption {
	return func(b *codeletBuild) error {
		for _, name := range names {
			k, ok := operandIndex(b.sig, name)
			if !ok {
				return fmt.Errorf("FromMain: it has no operand %q", name)
			}
			b.main = append(b.main, k)
		}
		return nil
	}
}

// operandIndex is the place of an operand among those of the signature.
func operandIndex(sig *types.Signature, name string) (int, bool) {
	k := 0
	for _, p := range sig.Params {
		if p.Mode == iface.NoMode {
			continue
		}
		if p.Name == name {
			return k, true
		}
		k++
	}
	return 0, false
}
