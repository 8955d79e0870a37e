package kernel

// The exported face: Check, Compile, Program and Fault.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// Check finds what is wrong in the body of one codelet, with element-type
// parameters left open: codes E0601 to E0607, W0606 and W0608, names (E0201, E0202,
// E0204, W0201) and types (E0105, E0703, E0705). It sets Ident.Obj and the
// types of expressions in the body, and Operand.Obj where it is nil; nothing
// else of the tree changes. A codelet without body has nothing to check.
func Check(f *syntax.File, c *syntax.Codelet, sig *types.Signature) diag.Diagnostics {
	return CheckIn(f, c, sig, nil)
}

// CheckIn is Check for a codelet whose surroundings declare more names than f
// does, such as earlier entries of a prompt. outer finds those, so that E0604
// can say what they are; nil: there are none.
func CheckIn(f *syntax.File, c *syntax.Codelet, sig *types.Signature, outer func(name string) *types.Object) diag.Diagnostics {
	if c.Body == nil {
		return nil
	}
	return checkBody(f, c, sig, outer)
}

func checkBody(f *syntax.File, c *syntax.Codelet, sig *types.Signature, outer func(name string) *types.Object) diag.Diagnostics {
	l := newLowerer(f, sig, nil, true, outer)
	l.body(c, sig)
	l.analyse(c, sig)
	return l.diags
}

// CheckElems finds the type errors that a body has for concrete element types
// and not for all: `x[i] = 0.5` where T stands for an integer type. It changes
// nothing in the tree. Compile reports the same as its error.
func CheckElems(f *syntax.File, c *syntax.Codelet, sig *types.Signature, targs map[byte]iface.Elem) diag.Diagnostics {
	if c.Body == nil {
		return nil
	}
	l := newLowerer(f, sig, targs, false, nil)
	l.body(c, sig)
	for k := range l.diags {
		l.diags[k].Notes = append(l.diags[k].Notes, elemNote(sig, targs)...)
	}
	return l.diags
}

// elemNote says what the type parameters of sig stand for.
func elemNote(sig *types.Signature, targs map[byte]iface.Elem) []string {
	var notes []string
	seen := map[byte]bool{}
	for _, p := range sig.Params {
		if p.Type == nil || p.Type.Param == 0 || seen[p.Type.Param] {
			continue
		}
		seen[p.Type.Param] = true
		if e, ok := targs[p.Type.Param]; ok {
			notes = append(notes, fmt.Sprintf("`%c` stands for %v here", p.Type.Param, e))
		}
	}
	return notes
}

// Program is a body compiled for concrete element types. It is immutable and
// safe for concurrent use; a run takes its scratch memory from a pool, or from
// where its caller keeps it.
type Program struct {
	fn    *Func
	code  []stmtFn
	used  []int // operands that code looks at
	temps int   // strips of scratch memory that a run needs
	pool  sync.Pool
}

// Hash tells programs that compute differently, or with other element types, from
// each other. Layout and comments of the source do not matter.
func (p *Program) Hash() string {
	sum := sha256.Sum256([]byte(p.fn.String()))
	return hex.EncodeToString(sum[:6])
}

// Compile makes the body of c executable for concrete element types: targs
// says what each type parameter of sig stands for. The tree must have passed
// Check and is not changed. What Check could not see because it depends on the
// element types (E0703: a float stored into integers) is the error, a
// diag.Diagnostics.
func Compile(f *syntax.File, c *syntax.Codelet, sig *types.Signature, targs map[byte]iface.Elem) (*Program, error) {
	if c.Body == nil {
		return nil, fmt.Errorf("kernel: codelet %s has no body", sig.Name)
	}
	for _, p := range sig.Params {
		if !known(p.Type) {
			return nil, fmt.Errorf("kernel: operand %s of codelet %s has no type", p.Name, sig.Name)
		}
		if p.Type.Param != 0 {
			if e, ok := targs[p.Type.Param]; !ok || !e.IsInt() && !e.IsFloat() {
				return nil, fmt.Errorf("kernel: codelet %s: nothing says what %c stands for", sig.Name, p.Type.Param)
			}
		}
	}
	if ds := CheckElems(f, c, sig, targs); ds.Err() != nil {
		return nil, ds
	}
	return compile(Lower(f, c, sig, targs), cheapest), nil
}

// known reports whether t says all about an operand but what its type parameter
// stands for.
func known(t *types.Type) bool {
	switch {
	case t == nil:
		return false
	case t.IsScalar() || t.Kind == types.Void:
		return true
	case t.Kind == types.Elem || t.Data() != iface.NoKind:
		return t.Param != 0 || t.Elem != iface.NoElem
	}
	return false
}

// Lower returns the intermediate representation of a body that CheckElems
// finds nothing wrong with, for back ends.
func Lower(f *syntax.File, c *syntax.Codelet, sig *types.Signature, targs map[byte]iface.Elem) *Func {
	l := newLowerer(f, sig, targs, false, nil)
	l.body(c, sig)
	return l.fn
}

// Run executes the body. bufs are the data operands and args the scalar
// operands, both in the order of the signature; the memory of bufs must stay
// valid until Run returns. Loops look at ctx now and then, and its cause is
// returned when it has ended. An index outside and an integer division by zero
// are a *Fault. After an error the written operands hold anything.
func (p *Program) Run(ctx context.Context, bufs []*iface.Buffer, args []iface.Scalar) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return p.RunTask(&call{ctx, bufs, args}, nil)
}

// call is a run without a task.
type call struct {
	ctx  context.Context
	bufs []*iface.Buffer
	args []iface.Scalar
}

func (c *call) NumBuffers() int            { return len(c.bufs) }
func (c *call) Buffer(i int) *iface.Buffer { return c.bufs[i] }
func (c *call) Args() []iface.Scalar       { return c.args }
func (c *call) Context() context.Context   { return c.ctx }

// Task is what a body runs on: operands in the order of the signature, and a
// context, which only long runs look at.
type Task interface {
	NumBuffers() int
	Buffer(i int) *iface.Buffer
	Args() []iface.Scalar
	Context() context.Context
}

// RunTask is Run for a task, without copying its operands. keep is where one
// goroutine at a time keeps the scratch memory of a run for the next, of this
// program or another; nil: it comes from a pool.
func (p *Program) RunTask(t Task, keep *any) (err error) {
	if len(p.code) == 0 {
		return nil
	}
	var m *machine
	if keep != nil {
		if m, _ = (*keep).(*machine); m != nil {
			*keep = nil // a run within this one finds none
			if m.p != p {
				m.fit(p)
			}
		}
	}
	if m == nil {
		if m, _ = p.pool.Get().(*machine); m == nil {
			m = newMachine(p)
		}
	}
	defer func() {
		m.reset()
		if keep != nil {
			*keep = m
		} else {
			p.pool.Put(m)
		}
		switch r := recover().(type) {
		case nil:
		case *Fault:
			err = r
		case stopped:
			err = r.cause
		default:
			panic(r)
		}
	}()
	if err := m.bind(t); err != nil {
		return err
	}
	for _, s := range p.code {
		s(m)
	}
	return nil
}

// IR returns what the program was made from.
func (p *Program) IR() *Func { return p.fn }
