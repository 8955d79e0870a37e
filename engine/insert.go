package engine

// Tasks made of Go functions and typed data: Go, GoTask and Run.

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
)

// R passes x to a task that reads it.
func R(x Data) Operand { return operand(x, iface.R) }

// W passes x to a task that overwrites all of it, and finds nothing in it.
func W(x Data) Operand { return operand(x, iface.W) }

// RW passes x to a task that reads and writes it.
func RW(x Data) Operand { return operand(x, iface.RW) }

// Commute passes x to a task that reads and writes it, in any order with other tasks
// that have it by Commute, one at a time.
func Commute(x Data) Operand { return operand(x, iface.Commute) }

// CommuteW passes x to a task that overwrites all of it, in any order with other tasks
// that have it by CommuteW, one at a time. Afterwards x has the value of the one that ran last.
func CommuteW(x Data) Operand { return operand(x, iface.CommuteW) }

// Redux passes to a task a private copy of x, which begins neutral, to add to. The copies
// are combined, as x was registered with ReduceSum and the like, when x is used otherwise.
func Redux(x Data) Operand { return operand(x, iface.Redux) }

// Scratch passes to a task memory of the kind and sizes of x, whose content means nothing
// before and after.
func Scratch(x Data) Operand { return operand(x, iface.Scratch) }

func operand(x Data, m iface.AccessMode) Operand {
	if x == nil {
		return Operand{Mode: m}
	}
	return Operand{Handle: x.Untyped(), Mode: m}
}

// The options of a task stand among the arguments of Job.Go, in any place: Name,
// Priority, After, Workers, Node and TaskOptions.
type (
	// Priority of a task: higher runs earlier, where the policy looks at priorities.
	Priority int
	// After lists tasks, gates and tags that a task waits for, besides the order that
	// its data gives.
	After []Dependency
	// Workers lists the workers that may run a task.
	Workers []int
	// Node is the memory node, an index of Runtime.Nodes, whose workers may run a task;
	// 0 is main memory.
	Node int
)

// Go inserts a task that calls a function, which is its kernel, and forgets it, as Submit
// does: it returns without waiting.
//
// fn is the function, or a *Codelet, such as one made by Func. args are its arguments, in
// the order of its parameters: data with its access mode, R(x) or RW(y), and numbers,
// bools and strings as they are. A vector arrives as []T, a variable as *T, a matrix as
// Mat[T], and all of them as Buffer[T] where the parameter is that; a Value[T] arrives as *T,
// and Arrays[T] as T; the R(), W() or RW() of a Structs[T] arrive as []T. An int is fine for a
// float64, as is any number for a parameter whose type can hold it. A context.Context or
// a *TaskContext may be the function's first parameter, for which nothing is given; a
// function with no other parameter than the *TaskContext is given anything. An error that
// the function returns, or a panic, fails the task. Between the arguments or after them
// there may be options, such as Priority(1).
//
// A mistake in the arguments is a *TypeError, and no task is submitted. Other errors are
// those of Submit. The kernel owns its arguments until it returns; the program must
// synchronise all other variables that a closure uses.
//
// Go takes some 20 ns more than Submit with the same codelet, and allocates nothing
// itself for functions with common parameters, up to five, with scalars of one type.
// Other functions, and those with a Context, are called by package reflect, which takes
// 0.3 µs more.
func (j *Job) Go(fn any, args ...any) error {
	f, err := kernelOf(fn)
	if err != nil {
		return err
	}
	if c := f.codelet; c.Traits != nil || c.Shape != nil || len(c.CPU) != 1 {
		return j.goAny(f, args)
	}
	done, err := j.goPlain(f, args)
	if !done {
		return j.goAny(f, args)
	}
	if j.rt.opt.Sequential {
		j.rt.drain()
	}
	return err
}

// goPlain is Go for arguments of the most common types, and no other option than a
// priority. They are copied under the submission lock to a TaskSpec of the job: a spec of
// the caller's would have to be on the heap, with all that it points to. done is false
// when nothing has happened, as there is an argument of another type, or a mistake.
func (j *Job) goPlain(f goKernel, args []any) (done bool, err error) {
	rt := j.rt
	sub := rt.reg.Lock()
	defer sub.Unlock()
	if j.submitted >= j.look {
		if sub, err = j.keepPace(sub); err != nil {
			return true, err
		}
	}
	s := &j.spec
	ops, scalars, priority := s.Operands[:0], s.Args[:0], 0
	bit, data, negative := uint64(1), uint64(0), uint64(0) // as in givenArgs
	for _, a := range args {
		switch a := a.(type) {
		case Operand:
			ops = append(ops, a)
			data |= bit
		case float64:
			scalars = append(scalars, iface.Float(a))
		case int:
			scalars = append(scalars, iface.Int(int64(a)))
			if a < 0 {
				negative |= bit
			}
		case float32:
			scalars = append(scalars, iface.Float(float64(a)))
		case bool:
			scalars = append(scalars, iface.Bool(a))
		case string:
			scalars = append(scalars, iface.Str(a))
		case Priority:
			priority = int(a)
			continue
		default:
			return false, nil
		}
		bit <<= 1
	}
	s.Operands, s.Args = ops, scalars
	if k := f.codelet.fn; k != nil && !k.raw && (bit != k.end || data != k.data || negative&k.wide != 0) {
		return false, nil
	}
	s.Codelet, s.Priority, s.closure = f.codelet, priority, f.closure
	if err = j.checkSpec(s); err == nil { // no shape function is called under the lock: Go has checked that there is none
		err = j.insert(sub, s, nil)
	}
	s.closure = nil
	return !wrongType(err), err
}

// goAny is Go for any arguments.
func (j *Job) goAny(f goKernel, args []any) error {
	_, err := f.submit(args, func(ops []Operand, scalars []iface.Scalar, o *goOptions) (*Task, error) {
		return j.submitMore(f, ops, scalars, o, false)
	})
	return err
}

// GoTask is Go for a task to keep: to wait for, to name in After, or to ask how it
// ended.
func (j *Job) GoTask(fn any, args ...any) (*Task, error) {
	f, err := kernelOf(fn)
	if err != nil {
		return nil, err
	}
	return f.submit(args, func(ops []Operand, scalars []iface.Scalar, o *goOptions) (*Task, error) {
		return j.submitMore(f, ops, scalars, o, true)
	})
}

// Run inserts a task as Go does, waits for it, and returns what went wrong: the error of
// the submission, of the wait (see Task.Wait), or of the task (see Task.Err).
func (j *Job) Run(ctx context.Context, fn any, args ...any) error {
	t, err := j.GoTask(fn, args...)
	if err != nil {
		return err
	}
	if err := t.Wait(ctx); err != nil {
		return err
	}
	return t.Err()
}

// Go submits a task of the sub-graph as Job.Go does. Its data is that of the owner, or
// parts of it, as of the views that Partition declares; see ViewOf.
func (g *Subgraph) Go(fn any, args ...any) error {
	_, err := g.GoTask(fn, args...)
	return err
}

// GoTask is Go for a task to keep.
func (g *Subgraph) GoTask(fn any, args ...any) (*Task, error) {
	f, err := kernelOf(fn)
	if err != nil {
		return nil, err
	}
	return f.submit(args, func(ops []Operand, scalars []iface.Scalar, o *goOptions) (*Task, error) {
		s, err := o.specFor(g.owner.job.rt, f, ops, scalars)
		if err != nil {
			return nil, err
		}
		return g.SubmitWith(s, o.taskOptions())
	})
}

// submit has do submit a task with what args are.
func (f goKernel) submit(args []any, do func([]Operand, []iface.Scalar, *goOptions) (*Task, error)) (*Task, error) {
	ops, scalars, given, o := collect(args)
	if !f.takes(given) {
		return nil, f.mistake(args, ops, scalars)
	}
	t, err := do(ops, scalars, o)
	if wrongType(err) {
		if m := f.mistake(args, ops, scalars); m != nil {
			err = m
		}
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// submitMore submits a task of f; keep says that it returns the task.
func (j *Job) submitMore(f goKernel, ops []Operand, scalars []iface.Scalar, o *goOptions, keep bool) (*Task, error) {
	s, err := o.specFor(j.rt, f, ops, scalars)
	switch {
	case err != nil:
		return nil, err
	case o != nil && o.special:
		return j.SubmitWith(s, o.options)
	case keep:
		return j.SubmitTask(s)
	}
	return nil, j.Submit(s)
}

// goKernel is the function that Go was given.
type goKernel struct {
	codelet *Codelet
	closure unsafe.Pointer // of a function; nil: the codelet has its own
}

// kernelOf returns what fn stands for.
func kernelOf(fn any) (goKernel, error) {
	if c, ok := fn.(*Codelet); ok && c != nil {
		return goKernel{codelet: c}, c.bad
	}
	v := (*funcValue)(unsafe.Pointer(&fn))
	if reflect.ValueOf(fn).Kind() != reflect.Func || v.closure == nil {
		return goKernel{}, isFunc(fn)
	}
	c, err := codeletOf(v)
	return goKernel{c, unsafe.Pointer(v.closure)}, err
}

// givenArgs is what collect found in the arguments of Go.
type givenArgs struct {
	n        int    // arguments, without options
	data     uint64 // bit i: argument i is data
	negative uint64 // it is a number below 0
	huge     uint64 // it is a uint64 above the largest int64
	unknown  bool   // one is nothing that a task can be given
}

// goOptions is what options of Go say, besides operands and arguments.
type goOptions struct {
	spec    TaskSpec
	nodes   []Node
	options TaskOptions
	special bool // there are options
}

// collect takes the arguments of Go apart.
//
// No argument escapes, here or in what else Go calls: the compiler has them on the stack
// of Go's caller then, which saves an allocation for each. So nothing is done with one but
// to look at its type and to copy the value.
func collect(args []any) (ops []Operand, scalars []iface.Scalar, g givenArgs, o *goOptions) {
	option := func() *goOptions {
		if o == nil {
			o = &goOptions{}
		}
		return o
	}
	for _, a := range args {
		bit := uint64(1) << g.n
		switch a := a.(type) {
		case Operand:
			ops = append(ops, a)
			g.data |= bit
			g.n++
		case StructsOperand:
			ops = a.operands(ops)
			g.unknown = g.unknown || len(a.data) == 0
			g.data |= bit
			g.n++
		case Name:
			option().spec.Name = string(a)
		case Priority:
			option().spec.Priority = int(a)
		case After:
			option().spec.After = append(option().spec.After, a...)
		case Workers:
			option().spec.Workers = append([]int{}, a...)
		case Node:
			option().nodes = append(option().nodes, a)
		case TaskOptions:
			option().options, option().special = a, true
		default:
			s, ok := scalarOf(reflect.ValueOf(a))
			if !ok {
				g.unknown = true
			}
			scalars = append(scalars, s.Scalar)
			if s.huge {
				g.huge |= bit
			} else if s.Kind() == iface.IntScalar && s.Int() < 0 {
				g.negative |= bit
			}
			g.n++
		}
	}
	return ops, scalars, g, o
}

func (o *goOptions) taskOptions() TaskOptions {
	if o == nil {
		return TaskOptions{}
	}
	return o.options
}

// specFor makes the TaskSpec of a task; o may be nil.
func (o *goOptions) specFor(rt *Runtime, f goKernel, ops []Operand, scalars []iface.Scalar) (*TaskSpec, error) {
	s := &TaskSpec{}
	if o != nil {
		s = &o.spec
		for _, n := range o.nodes {
			if err := rt.checkNode(int(n)); err != nil {
				return nil, err
			}
			ws := []int{}
			for w := range rt.workers {
				if rt.workers[w].node == int(n) && (s.Workers == nil || slices.Contains(s.Workers, w)) {
					ws = append(ws, w)
				}
			}
			s.Workers = ws
		}
	}
	s.Codelet, s.Operands, s.Args, s.closure = f.codelet, ops, scalars, f.closure
	return s, nil
}

// takes reports whether there are as many arguments as f has parameters, data and scalars
// at their places, and none that Types would let pass although it is another number.
func (f goKernel) takes(g givenArgs) bool {
	k := f.codelet.fn
	if g.unknown {
		return false
	}
	if k == nil || k.raw {
		return true
	}
	return g.n == len(k.params)-k.first && g.data == k.data && g.negative&k.wide == 0 && g.huge&^k.wide == 0
}

// wrongType reports whether mistake may have more to say about err, of a submission.
func wrongType(err error) bool {
	switch err := err.(type) {
	case *TypeError:
		return true
	case *ModeError:
		return err.Handle == nil
	}
	return false
}

var (
	typeData    = reflect.TypeFor[Data]()
	typeStructs = reflect.TypeFor[interface {
		operand(m iface.AccessMode) StructsOperand
	}]()
)

// mistake returns the first mistake in the arguments of Go, or nil if it finds none.
// collect made ops and scalars from args.
func (f goKernel) mistake(args []any, ops []Operand, scalars []iface.Scalar) error {
	c := f.codelet
	e := &TypeError{Codelet: c, Operand: -1, Arg: -1}
	takes := fmt.Sprintf("%s takes", c.Name)
	var params []goParam
	if c.fn != nil && !c.fn.raw {
		params = c.fn.params[c.fn.first:]
		takes = fmt.Sprintf("%s, of type %v, takes", c.Name, c.fn.typ)
	}
	n, op, scalar := 0, 0, 0
	for _, a := range args {
		switch a.(type) {
		case Name, Priority, After, Workers, Node, TaskOptions:
			continue
		}
		t := reflect.TypeOf(a)
		var p *goParam
		if n < len(params) {
			p = &params[n]
		}
		n++
		fail := func(format string, args ...any) error {
			e.Message = fmt.Sprintf("argument %d of %s ", n, c.Name) + fmt.Sprintf(format, args...)
			return e
		}
		if s, ok := a.(StructsOperand); ok {
			e.Operand, e.Handle = op, nil
			op += len(s.data)
			switch {
			case len(s.data) == 0:
				return fail("is no data: Structs that were never registered")
			case p == nil:
			case p.Kinds == 0:
				return fail("is data, and the parameter is of type %v: pass a value", c.fn.typ.In(n-1+c.fn.first))
			case p.class != classStructs || p.object != s.of:
				return fail("is a Structs[%v], and the parameter, of type %v, takes a %s: make the parameter []%v, or pass a field, engine.R(x.Field(name))",
					s.of, c.fn.typ.In(n-1+c.fn.first), p.handles(), s.of)
			}
			continue
		}
		if _, ok := a.(Operand); ok {
			h := ops[op].Handle
			op++
			e.Operand, e.Handle = op-1, h
			switch {
			case h == nil:
				return fail("is no data: a handle that was never registered, or a part that its view does not have")
			case p == nil:
			case p.Kinds == 0:
				return fail("is data, and the parameter is of type %v: pass a value", c.fn.typ.In(n-1+c.fn.first))
			default:
				if k, el := h.Type(); !p.Kinds.Has(k) || el != p.Elem || p.object != objectType(h) {
					if k == iface.Object || k == iface.Arrays {
						return fail("is %s; %s", describe(h), p.help(c.fn.typ.In(n-1+c.fn.first), k, el))
					}
					return fail("is %s, a %s; %s", describe(h), typeText(k, el), p.help(c.fn.typ.In(n-1+c.fn.first), k, el))
				}
			}
			continue
		}
		scalar++
		e.Operand, e.Handle, e.Arg = -1, nil, scalar-1
		switch {
		case t == nil:
			return fail("is nil; a task takes data, as by engine.R(x), numbers, bools and strings")
		case t.Implements(typeStructs):
			return fail("is data, of type %v, without its access mode: write x.R(), x.W() or x.RW()", t)
		case t.Implements(typeData):
			return fail("is data, of type %v, without its access mode: write engine.R(x), engine.W(x), engine.RW(x) or another mode", t)
		case !isScalar(t):
			if d, ok := paramOf(t); ok && d.Kinds != 0 && (d.object == nil || p != nil && p.object == d.object) {
				if d.class == classStructs {
					return fail("is memory, of type %v, that is not registered: register it once, as by engine.NewStructs(rt, s), and pass it with its mode, x.RW()", t)
				}
				if d.object != nil {
					return fail("is a pointer, of type %v, to a value that is not registered: register the value once, as by engine.NewValue(rt, v), and pass the handle with its mode, engine.RW(x)", t)
				}
				return fail("is memory, of type %v, that is not registered: register it once, as by engine.NewVector(rt, s), and pass the handle with its mode, engine.RW(x)", t)
			}
			return fail("is of type %v; a task takes data, as by engine.R(x), numbers, bools and strings; a kernel that is a closure can use anything else", t)
		case p == nil:
		case p.Kinds != 0:
			return fail("is %s, and the parameter, of type %v, takes data: engine.R(x) or another mode, where x is a %s",
				describeScalar(scalars[scalar-1]), c.fn.typ.In(n-1+c.fn.first), p.handles())
		default:
			s := goScalar{scalars[scalar-1], t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uint64 && scalars[scalar-1].Int() < 0}
			switch {
			case p.Elem == iface.NoElem && s.Kind() == p.Scalar, p.Elem != iface.NoElem && s.fits(p.Elem):
			case s.huge:
				return fail("is the integer %d, which does not fit the parameter, of type %v", uint64(s.Int()), c.fn.typ.In(n-1+c.fn.first))
			default:
				return fail("is %s, which does not fit the parameter, of type %v", describeScalar(s.Scalar), c.fn.typ.In(n-1+c.fn.first))
			}
		}
	}
	if params == nil && (c.fn == nil || c.fn.raw) || n == len(params) {
		return nil
	}
	e.Operand, e.Handle, e.Arg = -1, nil, -1
	what := "arguments"
	if len(params) == 1 {
		what = "argument"
	}
	e.Message = fmt.Sprintf("%s %d %s, and %d are given", takes, len(params), what, n)
	if n < len(params) {
		p := &params[n]
		e.Message += fmt.Sprintf(": the next is for the parameter of type %v", c.fn.typ.In(n+c.fn.first))
		switch {
		case p.class == classStructs:
			e.Message += fmt.Sprintf(", a %s with its mode, such as x.R()", p.handles())
		case p.Kinds != 0:
			e.Message += fmt.Sprintf(", a %s with its mode, such as engine.R(x)", p.handles())
		}
	}
	return e
}

func isScalar(t reflect.Type) bool {
	p, ok := paramOf(t)
	return ok && p.Scalar != iface.NoScalar
}
