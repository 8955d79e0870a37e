package interp

// Codelets of the script as the engine runs them.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sort"
	"strings"
	"unsafe"

	"github.com/starpush/starpush/accel/opencl"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel"
	"github.com/starpush/starpush/lang/kernel/elementary"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// codeletKey names one codelet for certain element types.
type codeletKey struct {
	obj  *types.Object
	args string
}

// codelet returns the engine's codelet for an insert: the host's, or one whose
// kernel is compiled for the element types of the insert.
func (c *compiler) codelet(e *syntax.Insert, o *types.Object) *engine.Codelet {
	if k, ok := o.Host.(*engine.Codelet); ok {
		return k
	}
	node, ok := o.Node.(*syntax.Codelet)
	if !ok {
		c.bug(e, "codelet %s", o.Name)
	}
	if node.Body == nil { // the host has none of that name: Start reports it
		return &engine.Codelet{Name: o.Name, CPU: []engine.Impl{func(*engine.TaskContext) error {
			return fmt.Errorf("the host has no codelet %s", o.Name)
		}}}
	}
	k, err := c.prog.kernel(o, e.TypeArgs)
	if err != nil {
		c.bug(e, "codelet %s: %v", o.Name, err)
	}
	return k
}

// kernel returns the engine's codelet for a codelet of the script.
func (p *Program) kernel(o *types.Object, targs map[byte]iface.Elem) (*engine.Codelet, error) {
	p.codelets.Lock()
	defer p.codelets.Unlock()
	return p.kernelLocked(o, targs)
}

func (p *Program) kernelLocked(o *types.Object, targs map[byte]iface.Elem) (*engine.Codelet, error) {
	var names []string
	for t, el := range targs {
		names = append(names, fmt.Sprintf("%c=%v", t, el))
	}
	sort.Strings(names)
	key := codeletKey{o, strings.Join(names, ",")}
	if k := p.codelets.made[key]; k != nil {
		return k, nil
	}
	node, file := o.Node.(*syntax.Codelet), fileOf(o)
	code, err := kernel.Compile(file, node, o.Sig, targs, p.kernels)
	if err != nil {
		return nil, err
	}
	k := &engine.Codelet{Name: o.Name, Signature: o.Sig.Text, Doc: o.Doc, Pure: true, Types: Types(o.Sig, targs),
		CPU: []engine.Impl{runKernel(code)}, Kernel: code.Version, Work: code.Work, Bounded: true, Variants: &engine.Variants{Names: kernel.Variants, Next: code.Next()}}
	k.On = map[string][]engine.Impl{}
	d, err := kernel.OpenCL(code)
	if err == nil {
		k.On["opencl"] = []engine.Impl{runOpenCL(d)}
	}
	if run, err := kernel.CUDA(code); err == nil {
		k.On["cuda"] = []engine.Impl{func(c *engine.TaskContext) error { return run(c.Stream(), c) }}
	}
	if len(k.On) == 0 {
		p.codelets.home[k] = err
	}
	for _, q := range o.Sig.Flat().Params {
		if q.Mode != iface.NoMode {
			k.Modes = append(k.Modes, q.Mode)
		}
	}
	var layouts *syntax.Option
	if node.With != nil {
		for _, opt := range node.With.Options {
			switch opt.Name.Name {
			case "layouts":
				layouts = opt
			case "flops":
				k.Flops = flopsRule(o.Sig.Flat(), opt.Value)
			case "retry":
				if v, err := literal(opt.Value); err == nil {
					n, _ := v.(int64)
					k.Traits = &engine.Traits{Retry: max(0, clampInt(n))}
				}
			case "color":
				if v, err := literal(opt.Value); err == nil {
					n, _ := v.(int64)
					k.Color = clampInt(n)
				}
			case "name":
				if v, err := literal(opt.Value); err == nil {
					if s, ok := v.(string); ok {
						k.Name = s
					}
				}
			}
		}
	}
	p.codelets.code[k] = code
	if layouts != nil {
		if k, err = p.withLayoutsLocked(k, o, layouts, targs); err != nil {
			return nil, err
		}
	}
	p.codelets.made[key] = k
	return k, nil
}

// prepare compiles the body of k, if it has one that tasks run as machine code from the first on.
func (p *Program) prepare(k *engine.Codelet) {
	p.codelets.Lock()
	code, also := p.codelets.code[k], p.codelets.also[k]
	p.codelets.Unlock()
	for _, c := range []*kernel.Program{code, also} {
		if c != nil {
			c.Prepare()
		}
	}
}

// Types returns what a codelet with signature sig declares to the engine, which holds
// tasks that Go submits against it, too. targs are the element types that its letters
// stand for; a letter that is left out stands for any.
func Types(sig *types.Signature, targs map[byte]iface.Elem) *engine.Types {
	ts := &engine.Types{}
	sig = sig.Flat()
	for i := range sig.Params {
		q := &sig.Params[i]
		elem, param := q.Type.Elem, q.Type.Param
		if e := targs[param]; param != 0 && e != iface.NoElem {
			elem, param = e, 0
		}
		if q.Mode != iface.NoMode {
			kinds := engine.Kinds(q.Type.Admitted()...)
			ts.Operands = append(ts.Operands, engine.OperandType{Name: q.Name, Kinds: kinds, Elem: elem, Param: param})
			continue
		}
		a := engine.ArgType{Name: q.Name, Elem: elem, Param: param}
		switch q.Type.Kind {
		case types.Int:
			a.Kind = iface.IntScalar
		case types.Float:
			a.Kind = iface.FloatScalar
		case types.Complex:
			a.Kind = iface.ComplexScalar
		case types.Bool:
			a.Kind = iface.BoolScalar
		case types.String:
			a.Kind = iface.StringScalar
		}
		ts.Args = append(ts.Args, a)
	}
	return ts
}

// BodyKinds returns the kinds of workers that can run a codelet of the script, and why
// there are no others. Of element-type parameters it takes the first of f64, i64 and
// c128 that the body can be compiled for.
func BodyKinds(o *types.Object) (kinds []string, why error) {
	code, why := compiled(o)
	kinds = []string{"cpu"}
	if code == nil {
		return kinds, why
	}
	if _, why = kernel.OpenCL(code); why == nil {
		kinds = append(kinds, "opencl")
	}
	if kernel.HasCUDA(code) == nil {
		kinds = append(kinds, "cuda")
	}
	return kinds, why
}

// SlowLoops lists the loops of a codelet of the script that a CPU runs one round at a
// time, for the element types of BodyKinds.
func SlowLoops(o *types.Object) []kernel.SlowLoop {
	code, err := compiled(o)
	if err != nil {
		return nil
	}
	return code.SlowLoops()
}

// CodeNotes returns how the loops of a codelet of the script run as machine code, for the element
// types of BodyKinds; a single note without a place if it has none.
func CodeNotes(o *types.Object) []kernel.CodeNote {
	code, err := compiled(o)
	if err != nil {
		return nil
	}
	notes, err := code.CodeNotes()
	if err != nil {
		return []kernel.CodeNote{{Text: err.Error()}}
	}
	return notes
}

// compiled is a codelet of the script for the first of f64, i64 and c128 that fits.
func compiled(o *types.Object) (code *kernel.Program, err error) {
	node := o.Node.(*syntax.Codelet)
	for _, e := range []iface.Elem{iface.F64, iface.I64, iface.C128, iface.B8} {
		targs := map[byte]iface.Elem{}
		for _, q := range o.Sig.Params {
			if q.Type != nil && q.Type.Param != 0 {
				targs[q.Type.Param] = e
			}
		}
		if code, err = kernel.Compile(fileOf(o), node, o.Sig, targs, kernel.Options{Mode: kernel.Strips}); err == nil {
			return code, nil
		}
	}
	return nil, err
}

// stays says why the body of k runs on CPU workers only; nil: it does not, or has
// no body.
func (p *Program) stays(k *engine.Codelet) error {
	p.codelets.Lock()
	defer p.codelets.Unlock()
	return p.codelets.home[k]
}

func fileOf(o *types.Object) *syntax.File {
	if u, ok := o.Unit.(*check.Unit); ok {
		return u.File
	}
	return nil
}

// runKernel adapts a kernel to the engine.
func runKernel(code *kernel.Program) engine.Impl {
	if len(code.Sizes()) > 0 {
		return func(c *engine.TaskContext) error { return runResizing(code, c) }
	}
	return func(c *engine.TaskContext) error {
		v, err := code.RunTask(c, c.Keep())
		c.SetVariant(int(v))
		return err
	}
}

// mayResize reports whether tasks of k may set the size of an operand. Of codelets of the host
// nothing is known.
func (p *Program) mayResize(k *engine.Codelet, operand int) bool {
	p.codelets.Lock()
	defer p.codelets.Unlock()
	code := p.codelets.code[k]
	return code == nil || code.IR().Sets(operand)
}

// resizing is a task whose body sets sizes of operands: it shows those with the sizes of their
// capacity, and behind the operands the variables with their lengths.
type resizing struct {
	*engine.TaskContext
	sizes   []kernel.Size
	room    []iface.Buffer // of the operands of sizes
	lengths []int64
	vars    []iface.Buffer // of lengths
}

func (t *resizing) NumBuffers() int { return t.TaskContext.NumBuffers() + len(t.sizes) }

func (t *resizing) Buffer(i int) *iface.Buffer {
	for k := range t.sizes {
		switch i {
		case t.sizes[k].Operand:
			return &t.room[k]
		case t.sizes[k].Variable:
			return &t.vars[k]
		}
	}
	return t.TaskContext.Buffer(i)
}

// runResizing runs a body that sets sizes of operands, and has the engine set them when it has
// returned.
func runResizing(code *kernel.Program, c *engine.TaskContext) error {
	sizes := code.Sizes()
	t := &resizing{TaskContext: c, sizes: sizes, lengths: make([]int64, len(sizes))}
	for k, s := range sizes {
		t.room = append(t.room, c.Room(s.Operand))
		t.lengths[k] = int64(c.Buffer(s.Operand).Dim[0])
		t.vars = append(t.vars, iface.Buffer{Desc: iface.Desc{Kind: iface.Variable, Elem: iface.I64}, Ptr: unsafe.Pointer(&t.lengths[k])})
	}
	v, err := code.RunTask(t, c.Keep())
	c.SetVariant(int(v))
	for k, s := range sizes {
		dims := c.Buffer(s.Operand).Shape()
		n := int(t.lengths[k])
		if err != nil || n == dims[0] {
			continue
		}
		if room := t.room[k].Dim[0]; n < 0 || n > room {
			return fmt.Errorf("`%s` is set to %d, and its capacity is %d", code.IR().Operands[s.Variable].Name, n, room)
		}
		dims[0] = n
		err = c.Resize(s.Operand, dims...)
	}
	return err
}

// runOpenCL adapts the kernels of a body to the engine.
func runOpenCL(d *kernel.Kernels) engine.Impl {
	return func(c *engine.TaskContext) error {
		s, ok := c.Stream().(*opencl.Stream)
		if !ok {
			return fmt.Errorf("a device of the kind opencl has a stream of type %T", c.Stream())
		}
		return d.Run(s, c)
	}
}

// flopsRule evaluates the flops option of a codelet, which may use operands.
func flopsRule(sig *types.Signature, e syntax.Expr) func([]iface.Desc, []iface.Scalar) float64 {
	return func(ops []iface.Desc, args []iface.Scalar) float64 {
		v := estimate(sig, e, ops, args)
		if v < 0 || v != v {
			return 0
		}
		return v
	}
}

// estimate computes an expression over the sizes of operands in floating point.
func estimate(sig *types.Signature, e syntax.Expr, ops []iface.Desc, args []iface.Scalar) float64 {
	of := func(x syntax.Expr) float64 { return estimate(sig, x, ops, args) }
	switch e := unparen(e).(type) {
	case *syntax.IntLit:
		return float64(e.Value)
	case *syntax.FloatLit:
		return e.Value
	case *syntax.Unary:
		if e.Op == "~" {
			return float64(^int64(of(e.X)))
		}
		return -of(e.X)
	case *syntax.Binary:
		a, b := of(e.X), of(e.Y)
		switch e.Op {
		case "+":
			return a + b
		case "-":
			return a - b
		case "*":
			return a * b
		case "/":
			return a / b
		case "//":
			return math.Floor(a / b)
		case "%":
			return floorModFloat(a, b)
		case "**":
			return elementary.Pow(a, b)
		case "&", "|", "^", "<<", ">>":
			return float64(bitOp(e.Op, int64(a), int64(b)))
		}
	case *syntax.Ident:
		k := 0
		for _, p := range sig.Params {
			if p.Mode != iface.NoMode {
				continue
			}
			if p.Name == e.Name && k < len(args) {
				return args[k].Float()
			}
			k++
		}
	case *syntax.Selector:
		id, ok := unparen(e.X).(*syntax.Ident)
		k, n := 0, 0
		for _, p := range sig.Params {
			if p.Mode == iface.NoMode {
				if ok && p.Name == id.Name+".cols" && e.Name.Name == "cols" && n < len(args) {
					return args[n].Float()
				}
				n++
				continue
			}
			if ok && p.Name == id.Name && k < len(ops) {
				return float64(field(&ops[k], ops[k].Dim[1], e.Name.Name))
			}
			if ok && p.Name == id.Name+".ptr" && e.Name.Name == "rows" {
				return float64(ops[k].Dim[0] - 1)
			}
			if ok && p.Name == id.Name+".val" && e.Name.Name == "nnz" {
				return float64(ops[k].Dim[0])
			}
			k++
		}
	case *syntax.Call:
		if id, ok := e.Fn.(*syntax.Ident); ok && len(e.Args) == 1 {
			if fn := mathOne[id.Name]; fn != nil {
				return fn(of(e.Args[0].Value))
			}
			if id.Name == "float" || id.Name == "int" {
				return of(e.Args[0].Value)
			}
		}
	}
	return 0
}

// Codelets with the option layouts.

// layoutChoice is what a codelet with the option layouts has besides its own kernel.
type layoutChoice struct {
	plain    *engine.Codelet // the codelet itself, for data without layouts
	other    *types.Object
	operands []int // those that other takes in the layout of devices
}

// layoutChoice returns how tasks of k choose the layout of their operands, nil if there is nothing to choose.
func (p *Program) layoutChoice(k *engine.Codelet) *layoutChoice {
	p.codelets.Lock()
	defer p.codelets.Unlock()
	return p.codelets.choice[k]
}

// withLayoutsLocked returns the codelet plain as tasks use it whose operands have layouts: on devices which have these, other runs
// instead, for the element types targs. The caller holds p.codelets.
func (p *Program) withLayoutsLocked(plain *engine.Codelet, o *types.Object, opt *syntax.Option, targs map[byte]iface.Elem) (*engine.Codelet, error) {
	call, ok := unparen(opt.Value).(*syntax.Call)
	if !ok {
		return nil, fmt.Errorf("layouts is %T", opt.Value)
	}
	choice := &layoutChoice{plain: plain, other: codeletOf(call.Fn)}
	for _, a := range call.Args {
		id, ok := unparen(a.Value).(*syntax.Ident)
		if !ok {
			return nil, fmt.Errorf("layouts has an operand %T", a.Value)
		}
		k := 0
		for _, q := range o.Sig.Params {
			if q.Name == id.Name {
				choice.operands = append(choice.operands, k)
			}
			if q.Mode != iface.NoMode {
				k += max(1, arraysOf(q.Type))
			}
		}
	}
	other, isHost := choice.other.Host.(*engine.Codelet)
	if !isHost {
		var err error
		if other, err = p.kernelLocked(choice.other, targs); err != nil {
			return nil, err
		}
	}
	both := *plain
	both.Formats = choice.operands
	both.FormatTypes = Types(choice.other.Sig, targs)
	both.CPU = oneOf(plain.CPU, other.CPU, choice.operands)
	both.On = map[string][]engine.Impl{}
	for arch, impls := range plain.On {
		if len(other.On[arch]) > 0 {
			both.On[arch] = oneOf(impls, other.On[arch], choice.operands)
		}
	}
	if plain.Kernel != nil && other.Kernel != nil {
		both.Kernel = func() string { return plain.Kernel() + " " + other.Kernel() }
	}
	k := &both
	p.codelets.code[k], p.codelets.also[k] = p.codelets.code[plain], p.codelets.code[other]
	if len(k.On) == 0 {
		p.codelets.home[k] = p.codelets.home[plain]
		if len(plain.On) > 0 {
			p.codelets.home[k] = p.codelets.home[other]
		}
	}
	p.codelets.choice[k] = choice
	return k, nil
}

// arraysOf returns of how many arrays data of type t is, 0 if it is a single one.
func arraysOf(t *types.Type) int {
	if f := t.Sparse(); f != nil {
		return len(f.Arrays)
	}
	return 0
}

// oneOf returns an implementation that is the first of far where the operands have the layout of devices, and else the first of main.
func oneOf(main, far []engine.Impl, operands []int) []engine.Impl {
	if len(main) == 0 {
		return nil
	}
	if len(far) == 0 { // CPU workers have the layout of main memory; simulated devices run the same functions
		far = []engine.Impl{func(c *engine.TaskContext) error {
			return fmt.Errorf("the codelet for the layout %q has no implementation for the CPU, which a simulated device runs", c.Format(operands[0]))
		}}
	}
	return []engine.Impl{func(c *engine.TaskContext) error {
		if c.Format(operands[0]) != "" {
			return far[0](c)
		}
		return main[0](c)
	}}
}

// Reductions: sum, prod, min, max, and reducer(init = i, combine = c).

func namedReducer(name string) *Reducer {
	r := &Reducer{name: name}
	switch name {
	case "sum":
		r.r = datamgr.SumReduction()
	case "prod":
		r.r = datamgr.ProdReduction()
	case "min":
		r.r = datamgr.MinReduction()
	case "max":
		r.r = datamgr.MaxReduction()
	}
	return r
}

// reducer compiles reducer(init = i, combine = c). The codelets are compiled for
// the element type of the data when it is registered.
func (c *compiler) reducer(e *syntax.Call) refFn {
	r := &Reducer{name: c.positionOf(e).source()}
	for _, a := range e.Args {
		if a.Name == nil {
			continue
		}
		o := codeletOf(a.Value)
		if o == nil {
			c.bug(a.Value, "reducer without codelet")
		}
		if a.Name.Name == "init" {
			r.init = o
		} else {
			r.combine = o
		}
	}
	return func(*frame) any { return r }
}

func codeletOf(e syntax.Expr) *types.Object {
	switch e := unparen(e).(type) {
	case *syntax.Ident:
		return e.Obj
	case *syntax.Selector:
		return e.Name.Obj
	}
	return nil
}

// scriptReducer is the name of reductions that reducer(…) makes.
const scriptReducer = "reducer"

// reduction returns what the data manager needs of r for data of type t.
func (m *Machine) reduction(r *Reducer, t *types.Type, at position) *datamgr.Reduction {
	if r.r != nil {
		return r.r
	}
	out := &datamgr.Reduction{Name: scriptReducer, Kind: t.Data()}
	if r.init != nil {
		run := m.direct(r.init, t, at)
		out.Init = func(dst *iface.Buffer) error { return run(dst) }
	}
	if r.combine != nil {
		run := m.direct(r.combine, t, at)
		out.Combine = func(into, from *iface.Buffer) error { return run(into, from) }
	}
	return out
}

// direct returns a codelet as a function of its buffers.
func (m *Machine) direct(o *types.Object, t *types.Type, at position) func(bufs ...*iface.Buffer) error {
	targs := map[byte]iface.Elem{}
	for _, p := range o.Sig.Params {
		if p.Mode != iface.NoMode && p.Type.Param != 0 {
			targs[p.Type.Param] = t.Elem
		}
	}
	args := make([]iface.Scalar, 0)
	for i := range o.Sig.Params {
		p := &o.Sig.Params[i]
		if p.Mode == iface.NoMode {
			v, err := constant(p)
			if err != nil {
				m.fail("E0705", at, "`%s` of `%s` needs a value, and a reducer gives none", p.Name, o.Name)
			}
			args = append(args, scalarOf(v, p.Type))
		}
	}
	k, ok := o.Host.(*engine.Codelet)
	if !ok {
		node, ok := o.Node.(*syntax.Codelet)
		if !ok || node.Body == nil {
			m.fail("E0904", at, "the host has no codelet `%s`", o.Name)
		}
		var err error
		if k, err = m.prog.kernel(o, targs); err != nil {
			m.fail("E0705", at, "`%s` cannot be used in this reducer: %v", o.Name, err)
		}
	}
	return func(bufs ...*iface.Buffer) error {
		err := m.rt.Call(context.Background(), k, bufs, args)
		var breach *engine.VerifyError
		if errors.As(err, &breach) {
			return &reducerBreach{o.Sig, k, breach}
		}
		return err
	}
}

// reducerBreach is a codelet of a reducer that broke its modes.
type reducerBreach struct {
	sig     *types.Signature
	codelet *engine.Codelet
	breach  *engine.VerifyError
}

func (e *reducerBreach) Error() string { return e.breach.Error() }

func (e *reducerBreach) Unwrap() error { return e.breach }

// operand is the name of operand i in the signature, and where that declares it.
func (e *reducerBreach) operand(i int) (name string, at diag.Span) {
	for k := range e.sig.Params {
		p := &e.sig.Params[k]
		if p.Mode == iface.NoMode {
			continue
		}
		if i == 0 {
			return "`" + p.Name + "`", p.Span
		}
		i--
	}
	return "", diag.Span{}
}
