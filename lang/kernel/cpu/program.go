package cpu

import (
	"context"
	"sync"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/analysis"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// Program is a compiled body. It is immutable and safe for concurrent use. A run takes its
// scratch memory from a pool or from its caller.
type Program struct {
	fn    *ir.Func
	code  []stmtFn
	used  []int // operands that the body uses
	temps int   // scratch strips that a run needs
	// The words of locals: one for each slot, then the elements of arrays.
	locals int
	pool   sync.Pool
}

// Run runs the body. bufs are the data operands and args the scalar operands, both in the
// order of the signature. The memory of bufs must stay valid until Run returns. If ctx
// ends, Run returns its cause soon. The error of a body that fails is a *Fault. After an
// error, operands that the body writes may hold any values.
func (p *Program) Run(ctx context.Context, bufs []*iface.Buffer, args []iface.Scalar) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return p.RunTask(&call{ctx, bufs, args}, nil)
}

// call is the task of Run.
type call struct {
	ctx  context.Context
	bufs []*iface.Buffer
	args []iface.Scalar
}

func (c *call) NumBuffers() int            { return len(c.bufs) }
func (c *call) Buffer(i int) *iface.Buffer { return c.bufs[i] }
func (c *call) Args() []iface.Scalar       { return c.args }
func (c *call) Context() context.Context   { return c.ctx }
func (c *call) GiveWay()                   {}

// Empty reports whether the body does nothing.
func (p *Program) Empty() bool { return len(p.code) == 0 }

// RunTask is Run for a task, whose operands it does not copy. If keep is not nil, *keep holds
// the scratch memory between the runs of one goroutine at a time, of any programs; if it is
// nil, the memory comes from a pool.
func (p *Program) RunTask(t ir.Task, keep *any) (err error) {
	if p.Empty() {
		return nil
	}
	var m *machine
	if keep != nil {
		if m, _ = (*keep).(*machine); m != nil {
			*keep = nil // for a run within this one
			if m.p != p {
				m.resize(p)
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

// IR returns the representation of the body.
func (p *Program) IR() *ir.Func { return p.fn }

// plan is how loops with independent rounds run.
type plan uint8

const (
	cheapest   plan = iota // in the way with the lowest estimated cost
	oneByOne               // never in strips
	alwaysLast             // in strips along the last index that allows it
)

// compiler is the state of compiling one body.
type compiler struct {
	fn       *ir.Func
	plan     plan
	temps    int // scratch strips that a run needs
	dryRun   int // above 0: count strips, and compile no scalar code
	reserved int // the first scratch strip that a standalone fold may use here
	forPlans map[*ir.Stmt]*forPlan
	limits   analysis.KnownLimits
}

// opStrips is a bound of the scratch strips that one operation uses above its own.
const opStrips = 8

// reserve keeps standalone folds off scratch strip t and the strips of the operation that owns
// it, until the returned function is called.
func (c *compiler) reserve(t int) func() {
	old := c.reserved
	c.reserved = t + opStrips
	return func() { c.reserved = old }
}

// Compile compiles a complete lowered body.
func Compile(fn *ir.Func) *Program { return compile(fn, cheapest) }

// CompileInOrder compiles a complete lowered body whose rounds run one at a time. Its fault is that
// of the first round that fails; a sum may have other bits than one of Compile.
func CompileInOrder(fn *ir.Func) *Program { return compile(fn, oneByOne) }

// compile is Compile with a plan.
func compile(fn *ir.Func, how plan) *Program {
	c := &compiler{fn: fn, plan: how}
	p := &Program{fn: fn, used: fn.UsedOperands(), locals: len(fn.Slots) + fn.ArrayWords()}
	p.code = c.stmts(fn.Body)
	p.temps = max(1, c.temps)
	return p
}
