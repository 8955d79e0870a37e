package lang

// Host codelets: Go kernels with a signature in the language.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"

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
	b := &codeletBuild{sig: sig}
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
	e := &engine.Codelet{Name: sig.Name, Signature: signature, Doc: b.doc, Modes: operandModes(sig), Types: interp.Types(sig, nil), CPU: b.impls, On: b.on, Pure: b.pure, FromMain: b.main}
	e.Model = b.model
	if b.version != "" {
		e.Kernel = func() string { return b.version }
	}
	if b.shape != nil {
		e.Shape = shapeRule(sig, b.shape)
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

// Shapes is what a ShapeRule sees: sizes and scalar arguments, by name. A name
// that the signature lacks is a mistake of the host and panics, which the insert
// reports.
type Shapes struct {
	sig  *types.Signature
	ops  []iface.Desc
	args []iface.Scalar
}

// Of returns the sizes of an operand, one for each index.
func (s Shapes) Of(operand string) []int {
	i, _ := place(s.sig, operand, true)
	return s.ops[i].Shape()
}

// Int returns an integer argument.
func (s Shapes) Int(name string) int64 { i, _ := place(s.sig, name, false); return s.args[i].Int() }

// Float returns a floating-point argument.
func (s Shapes) Float(name string) float64 {
	i, _ := place(s.sig, name, false)
	return s.args[i].Float()
}

// Str returns a string argument.
func (s Shapes) Str(name string) string { i, _ := place(s.sig, name, false); return s.args[i].Str() }

// place finds the operand or the scalar called name, counted among its like.
func place(sig *types.Signature, name string, operand bool) (int, *types.Param) {
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

// Task is what an implementation sees: operands and arguments. It is valid
// until the implementation returns.
type Task struct {
	ctx *engine.TaskContext
	sig *types.Signature
}

var taskPool = sync.Pool{New: func() any { return new(Task) }}

// Context ends when the run is cancelled; kernels that take long should look at it.
func (t *Task) Context() context.Context { return t.ctx.Context() }

// Worker returns the number of the worker that runs the task.
func (t *Task) Worker() int { return t.ctx.Worker() }

// Scalar lists the Go types of scalar arguments.
type Scalar interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64 | ~bool | ~string
}

// Arg returns the scalar argument of that name, converted to T as Go converts
// numbers. A wrong name, or a T of another sort (a string for a number), panics,
// which fails the task with a message.
func Arg[T Scalar](t *Task, name string) T {
	i, p := place(t.sig, name, false)
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
		if c.Modes != nil && !slices.Equal(c.Modes, operandModes(sig)) {
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
