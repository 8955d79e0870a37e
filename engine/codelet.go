package engine

// Codelets describe the work of a task.

import (
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/perf"
)

// Impl is one implementation of a codelet on a CPU. It must not keep the
// context or its buffers after it returns, and must not wait for tasks or
// acquire data (those calls return ErrWouldDeadlock); it may submit tasks. An
// error or a panic fails the task.
type Impl func(*TaskContext) error

// Codelet is a kind of task: a name, its implementations, and what is promised
// about its operands. It is immutable once a task was submitted with it, and
// shared by any number of tasks and runtimes.
type Codelet struct {
	Name      string // in messages, traces and statistics; measured times are kept under it
	Signature string // in the language; "" when the language never sees it
	Doc       string // for those who look it up in a script; the engine does not look at it
	// Modes are the declared modes of the operands; nil: not checked. A
	// declared RW admits RW, Commute and Redux, a declared W also CommuteW, the others only themselves.
	Modes []iface.AccessMode
	// Types declare what the operands and scalar arguments are; nil: not checked, and the
	// implementations see to it. Submission holds every task against them.
	Types *Types
	// Elems lists what the element-type parameter T of the signature may stand
	// for; nil: any element type. The engine does not look at it.
	Elems []iface.Elem
	// CPU holds the implementations. One is used for each task.
	CPU []Impl
	// On holds implementations for devices, by accel.Device.Arch: "opencl", "cuda".
	// They begin their work on TaskContext.Stream and return; the task ends when
	// that has. The pointers of their buffers mean something to the device only.
	// Tasks go to workers for which there is an implementation.
	On map[string][]Impl
	// FromMain lists the operands, counted from 0, that implementations for devices
	// can take in main memory, where tasks pin them (Operand.Pin): they are given the
	// pointer of the host then, and TaskContext.Node says so. Other operands that are
	// pinned there keep tasks on CPU workers. Implementations for the CPU take all.
	FromMain []int
	// Formats lists the operands, counted from 0, that the implementations take in any layout
	// (Runtime.SetFormats): they ask TaskContext.Format which one it is. Other operands have
	// the layout of main memory on devices, too.
	Formats []int
	// FormatTypes declares the operands of Formats in their other layouts, as Types does in main memory, where these
	// differ; nil: Types holds for both.
	FormatTypes *Types
	// Shape checks sizes and scalar arguments; it runs inside Submit, on the
	// submitter's goroutine, before anything else happens. Nil: not checked.
	// It should return a *ShapeError.
	Shape func(ops []iface.Desc, args []iface.Scalar) error
	// Flops estimates the work of one task; nil: unknown. It is called on workers,
	// after the kernel; a panic makes the work unknown.
	Flops func(ops []iface.Desc, args []iface.Scalar) float64
	// Work estimates the operations of one task, and the bytes of operands that its kernel loads and stores. Plans call it, for tasks
	// whose time is not known; a panic makes the work unknown. Nil: what Flops and the operands say.
	Work func(ops []iface.Desc, args []iface.Scalar) (operations, bytes float64)
	// Bounded says that Flops and Work return soon, or panic, and do not end their goroutine: they need none of their own, which would take
	// longer than they do.
	Bounded bool
	Color   int // in traces
	// Pure says that the implementations depend on nothing but operands and
	// arguments and do nothing but write operands, so that they may be run
	// again. Options.Verify does that, and is exact for pure codelets only; what a
	// device did not carry out (accel.KernelError) is run again elsewhere if it is
	// pure; and when a device is lost, only pure ones that it ran as functions of this
	// process are.
	Pure bool
	// Fold is the reduction that kernels apply to the operands that they declare RW:
	// "sum", "prod", "min" or "max"; "" for none. The engine does not use it.
	Fold string
	// Bodies are codelets in the language that compute the same, for devices that On has
	// nothing for, or for CPU workers. A compiler of scripts makes implementations of them; the engine does not
	// look at them. Nil: there are none.
	Bodies *Bodies
	// Traits are uncommon properties; nil: none.
	Traits *Traits
	// Model predicts times; nil: the history of the codelet's tasks.
	Model *perf.Model
	// Kernel tells versions of the implementations from each other, by a hash, say:
	// measurements of one tell nothing of another. It is called once in a while,
	// and only where models are used. Nil: the name is enough.
	Kernel func() string
	// Variants are the ways in which the implementations in CPU run, where they have several;
	// nil: they have one.
	Variants *Variants

	fn  *goFunc // of a codelet of Go functions; else nil
	bad error   // what is wrong with these, if they are no kernels
}

// impls are the implementations for an architecture.
func (c *Codelet) impls(arch string) []Impl {
	if arch == cpuArch {
		return c.CPU
	}
	return c.On[arch]
}

// Variants are several ways in which an implementation runs, such as an interpreter and
// machine code. It chooses one for each task, and says by TaskContext.SetVariant which one
// that was: measurements of each are kept apart.
type Variants struct {
	Names []string // in files and tables of performance models
	// Next is the place in Names of the one in which a task would run now, by which its time
	// is predicted. It may change at any time.
	Next *atomic.Int32
}

// next returns the place of the variant in which a task would run now.
func (v *Variants) next() int32 {
	if v == nil || v.Next == nil {
		return 0
	}
	return v.Next.Load()
}

// name returns the name of variant i; "" if there is none.
func (v *Variants) name(i int32) string {
	if v == nil || i < 0 || int(i) >= len(v.Names) {
		return ""
	}
	return v.Names[i]
}

// Bodies are codelets in the language that compute what a codelet of Go functions does.
type Bodies struct {
	// CPU says that the bodies are for CPU workers, where their machine code is faster than the functions, instead of for devices.
	// Their results must be those of the functions, bit for bit.
	CPU bool
	// Source is the text of a file of scripts, which declares the codelets.
	Source string
	// Names are those of the codelets. The first runs whose operands have the kinds of those of
	// a task, and that can be compiled for their elements.
	Names []string
	// Args returns the scalars for the bodies of a task; nil: they are those of the task.
	Args func(ops []iface.Desc, args []iface.Scalar) []iface.Scalar
}

// A Module is codelets that scripts import under one name, as in import "std/blas". Each
// has a Signature. The engine does not look at modules.
type Module struct {
	Doc      string // what it is for, for those who look it up in a script
	Codelets []*Codelet
}

// Site is a place in a program; see datamgr.Site.
type Site = datamgr.Site

// Operand is one piece of data that a task uses, and how.
type Operand = datamgr.Operand

// PinTo returns the Operand.Pin for a memory node, an index of Runtime.Nodes: the
// operand stays there while the task runs. In main memory any worker can use it
// whose implementation can (see Codelet.FromMain), elsewhere only workers of that
// node. Without a pin it goes where the task runs.
func PinTo(node int) datamgr.Pin { return datamgr.PinTo(node) }

// Types of operands and arguments: what a codelet declares, and how Submit holds a
// task against that.

// Types declare what the kernels of a codelet can be given. A task that has something
// else is a *TypeError of its submission.
type Types struct {
	Operands []OperandType // one for each operand
	Args     []ArgType     // one for each scalar argument
}

// OperandType declares an operand.
type OperandType struct {
	Name  string     // in messages; "": it is called by its number
	Kinds KindSet    // 0: any
	Elem  iface.Elem // NoElem: any
	// Param is a letter for the element type: operands with the same letter have the
	// same element type, and arguments with it fit into that. 0: none.
	Param byte
	// Object is the Go type of the value of an operand of kind Object, or of the struct of one of kind Arrays; nil: any.
	Object reflect.Type
}

// ArgType declares a scalar argument.
type ArgType struct {
	Name string // in messages; "": it is called by its number
	// Kind is the kind that the argument must have. An IntScalar is accepted for a
	// FloatScalar. NoScalar: a number of the type Elem, or of that of the operands with
	// the letter Param; without either, anything.
	Kind  iface.ScalarKind
	Elem  iface.Elem
	Param byte
}

// KindSet is a set of kinds of data. The zero value stands for all kinds.
type KindSet uint16

// Kinds returns the set of the given kinds.
func Kinds(ks ...iface.Kind) KindSet {
	var s KindSet
	for _, k := range ks {
		s |= 1 << k
	}
	return s
}

// Has reports whether k is in the set.
func (s KindSet) Has(k iface.Kind) bool { return s == 0 || s>>k&1 != 0 }

// String lists the kinds: "vector or matrix".
func (s KindSet) String() string {
	var names []string
	for k := iface.Variable; s>>k != 0; k++ {
		if s>>k&1 != 0 {
			names = append(names, k.String())
		}
	}
	if names == nil {
		return "data"
	}
	return strings.Join(names, " or ")
}

// TypeError says that a task was given data or arguments that its codelet cannot take.
// Nothing was submitted.
type TypeError struct {
	Codelet *Codelet
	Operand int             // place in TaskSpec.Operands; -1: it is not about an operand
	Handle  *datamgr.Handle // of that operand
	Arg     int             // place in TaskSpec.Args; -1: it is not about one argument
	Message string          // the whole error
}

func (e *TypeError) Error() string { return e.Message }

// elemParams are the element types that the letters of a declaration stand for.
type elemParams [26]iface.Elem

// checkTypes holds the operands and arguments of a task against c.Types, which is not nil.
func (c *Codelet) checkTypes(ops []Operand, args []iface.Scalar) error {
	ts := c.Types
	if len(ops) != len(ts.Operands) || len(args) != len(ts.Args) {
		return c.countError(len(ops), len(args))
	}
	var params elemParams
	for i := range ops {
		k, e := ops[i].Handle.Type()
		if !ts.Operands[i].admits(k, e, &params) || (k == iface.Object || k == iface.Arrays) && !ts.Operands[i].takesObject(ops[i].Handle) {
			return c.operandError(i, ops[i].Handle, k, e, &params)
		}
	}
	return c.checkArgs(args, &params)
}

// checkBuffers is checkTypes for a call without a task.
func (c *Codelet) checkBuffers(bufs []*iface.Buffer, args []iface.Scalar) error {
	ts := c.Types
	if len(bufs) != len(ts.Operands) || len(args) != len(ts.Args) {
		return c.countError(len(bufs), len(args))
	}
	var params elemParams
	for i, b := range bufs {
		if !ts.Operands[i].admits(b.Kind, b.Elem, &params) || ts.Operands[i].Object != nil { // without a handle the type is not known
			return c.operandError(i, nil, b.Kind, b.Elem, &params)
		}
	}
	return c.checkArgs(args, &params)
}

// admits reports whether the operand may be data of kind k with elements of type e. It
// notes what the letter of the operand stands for.
func (d *OperandType) admits(k iface.Kind, e iface.Elem, params *elemParams) bool {
	if !d.Kinds.Has(k) || d.Elem != e && d.Elem != iface.NoElem {
		return false
	}
	if d.Param != 0 {
		p := params.at(d.Param)
		if *p == iface.NoElem {
			*p = e
		}
		return *p == e
	}
	return true
}

// takesObject reports whether the operand may be h, an object.
func (d *OperandType) takesObject(h *datamgr.Handle) bool {
	return d.Object == nil || d.Object == objectType(h)
}

// at returns the place of a letter; all that are no letters from A to Z share one.
func (p *elemParams) at(letter byte) *iface.Elem { return &p[min(letter-'A', 25)] }

func (c *Codelet) checkArgs(args []iface.Scalar, params *elemParams) error {
	for i := range args {
		d, k := &c.Types.Args[i], args[i].Kind()
		e := d.Elem
		if d.Param != 0 {
			e = *params.at(d.Param)
		}
		switch {
		case d.Kind == iface.FloatScalar && k == iface.IntScalar:
		case d.Kind == iface.ComplexScalar && (k == iface.IntScalar || k == iface.FloatScalar):
		case d.Kind == iface.ComplexScalar && k == iface.BoolScalar && e == iface.B8:
		case d.Kind != iface.NoScalar && d.Kind != k, d.Kind == iface.NoScalar && e != iface.NoElem && !fitsElem(args[i], e):
			return c.argError(i, args[i], e)
		}
	}
	return nil
}

// fitsElem reports whether s is a number that elements of type e can hold, up to
// rounding.
func fitsElem(s iface.Scalar, e iface.Elem) bool {
	v := s.Int()
	switch k := s.Kind(); {
	case k == iface.ComplexScalar:
		z := s.Complex()
		return e == iface.C128 || e == iface.C64 && !e.Overflows(real(z)) && !e.Overflows(imag(z))
	case k == iface.FloatScalar:
		return (e.IsFloat() || e.IsComplex()) && !e.Overflows(s.Float())
	case k == iface.BoolScalar:
		return e == iface.B8
	case k != iface.IntScalar || e == iface.B8:
		return false
	case e.Is16():
		return !e.Overflows(float64(v))
	}
	switch e {
	case iface.I8:
		return v == int64(int8(v))
	case iface.I16:
		return v == int64(int16(v))
	case iface.I32:
		return v == int64(int32(v))
	case iface.U8:
		return v == int64(uint8(v))
	case iface.U16:
		return v == int64(uint16(v))
	case iface.U32:
		return v == int64(uint32(v))
	}
	return true // a u64 above the largest int64 is passed as the int64 with its bits
}

// is returns what c is called in messages, with what it declares.
func (c *Codelet) is() string {
	if c.Signature != "" {
		return fmt.Sprintf("%s, declared as %q,", c.Name, c.Signature)
	}
	return c.Name
}

func (c *Codelet) countError(ops, args int) error {
	count := func(n int, what string) string {
		if n == 1 {
			return "1 " + what
		}
		return fmt.Sprintf("%d %ss", n, what)
	}
	return &TypeError{Codelet: c, Operand: -1, Arg: -1, Message: fmt.Sprintf("codelet %s takes %s and %s, and got %d and %d; give each one it declares, those with a default too",
		c.is(), count(len(c.Types.Operands), "operand"), count(len(c.Types.Args), "scalar argument"), ops, args)}
}

func (c *Codelet) operandError(i int, h *datamgr.Handle, k iface.Kind, e iface.Elem, params *elemParams) error {
	d := &c.Types.Operands[i]
	want := d.Elem
	if d.Param != 0 && want == iface.NoElem && d.Kinds.Has(k) {
		want = *params.at(d.Param)
	}
	text := d.Kinds.String()
	switch {
	case d.Object != nil:
		for _, kind := range []iface.Kind{iface.Object, iface.Arrays} {
			if d.Kinds.Has(kind) {
				text = goTypeText(kind, d.Object)
				break
			}
		}
	case want == iface.NoElem:
	case d.Kinds != 0 && d.Kinds&(d.Kinds-1) == 0: // one kind
		text = fmt.Sprintf("%v[%v]", d.Kinds, want)
	default:
		text = fmt.Sprintf("%v of %v elements", d.Kinds, want)
	}
	if d.Kinds != 0 {
		text = "a " + text
	}
	got := fmt.Sprintf("%v[%v]", k, e)
	switch {
	case h != nil:
		got = describe(h)
	case k == iface.Void:
		got = "void"
	}
	return &TypeError{Codelet: c, Operand: i, Handle: h, Arg: -1,
		Message: fmt.Sprintf("operand %s of codelet %s must be %s, and got %s", label(i, d.Name), c.is(), text, got)}
}

func (c *Codelet) argError(i int, s iface.Scalar, e iface.Elem) error {
	d := &c.Types.Args[i]
	want := scalarNames[d.Kind]
	if e == iface.B8 {
		want = "a bool"
	} else if d.Kind == iface.NoScalar {
		want = "a number that fits " + e.String()
		if e.IsInt() {
			want = "an integer that fits " + e.String()
		}
	}
	return &TypeError{Codelet: c, Operand: -1, Arg: i,
		Message: fmt.Sprintf("scalar argument %s of codelet %s must be %s, and got %s", label(i, d.Name), c.is(), want, describeScalar(s))}
}

// describe names a handle for messages.
func describe(h *datamgr.Handle) string {
	if h == nil {
		return "data"
	}
	d := h.Desc()
	text := d.String()
	if t := objectType(h); t != nil {
		text = goTypeText(d.Kind, t)
	}
	if n := h.Name(); n != "" {
		return fmt.Sprintf("`%s` (%s)", n, text)
	}
	return text
}

// objectType is the Go type of the value of h, or of its arrays; nil if it has elements.
func objectType(h *datamgr.Handle) reflect.Type {
	switch {
	case h == nil:
		return nil
	case isObjectHandle(h):
		return managed(h).Object().Type
	case managed(h).Layout() != nil:
		return managed(h).Layout().Type
	}
	return nil
}

// goTypeText is the type of a handle of kind k with the Go type t: "Value[main.tree]".
func goTypeText(k iface.Kind, t reflect.Type) string {
	if k == iface.Arrays {
		return fmt.Sprintf("Arrays[%v]", t)
	}
	return fmt.Sprintf("Value[%v]", t)
}

// isObjectHandle reports whether h is the handle of an object.
func isObjectHandle(h *datamgr.Handle) bool {
	k, _ := h.Type()
	return k == iface.Object
}

var scalarNames = [...]string{iface.NoScalar: "no value", iface.IntScalar: "an integer", iface.FloatScalar: "a number", iface.BoolScalar: "a truth value", iface.StringScalar: "a string",
	iface.ComplexScalar: "a complex number"}

func describeScalar(s iface.Scalar) string {
	switch s.Kind() {
	case iface.IntScalar:
		return fmt.Sprintf("the integer %d", s.Int())
	case iface.FloatScalar:
		return fmt.Sprintf("the float %v", s.Float())
	case iface.ComplexScalar:
		return fmt.Sprintf("the complex number %v", s.Complex())
	case iface.BoolScalar:
		return fmt.Sprint(s.Bool())
	case iface.StringScalar:
		return fmt.Sprintf("the string %q", s.Str())
	}
	return "a Scalar without a value; make it by iface.Int, Float, Complex, Bool or Str"
}

// label is what operand or argument i is called in messages.
func label(i int, name string) string {
	if name == "" {
		return fmt.Sprint(i)
	}
	return fmt.Sprintf("%d, `%s`,", i, name)
}

// Format is a layout that data has on devices of some kinds, beside the one in main memory: an array of
// structures there, say, and a structure of arrays on GPUs. See Runtime.SetFormats.
type Format struct {
	Name string // in messages, traces and TaskContext.Format
	// On lists kinds of devices, by accel.Device.Name or Arch; "gpu" stands for all devices. NUMA nodes
	// are CPUs, which have the layout of the registration.
	On []string
	// Kind, Elem and Dims are as in DataSpec: what kernels for these devices are given. With Kind 0
	// all three are those of the data.
	Kind iface.Kind
	Elem iface.Elem
	Dims []int
	// To makes the layout from that of main memory, and From the reverse. Both have two operands: the
	// value, R, and what becomes of it, W. A conversion for a device runs there if To has an
	// implementation for it, and both layouts fit into its memory, and else in main memory; From runs
	// in main memory.
	To, From *Codelet
}
