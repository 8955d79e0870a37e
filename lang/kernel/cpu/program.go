package cpu

import (
	"context"
	"sync"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// Program is a body compiled for concrete element types. It is immutable and
// safe for concurrent use; a run takes its scratch memory from a pool, or from
// where its caller keeps it.
type Program struct {
	fn    *ir.Func
	code  []stmtFn
	used  []int // operands that code looks at
	temps int   // strips of scratch memory that a run needs
	pool  sync.Pool
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

// RunTask is Run for a task, without copying its operands. keep is where one
// goroutine at a time keeps the scratch memory of a run for the next, of this
// program or another; nil: it comes from a pool.
func (p *Program) RunTask(t ir.Task, keep *any) (err error) {
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
func (p *Program) IR() *ir.Func { return p.fn }

// plan says how loops whose rounds are independent run.
type plan uint8

const (
	cheapest   plan = iota // as the cost estimate says
	oneByOne               // never in strips
	alwaysLast             // in strips along the last index that allows it
)

// compiler makes code of one body.
type compiler struct {
	fn    *ir.Func
	plan  plan
	temps int // scratch strips that a run needs
	dry   int // above 0: only counting strips, scalar code is not wanted
	floor int // the first one that a fold of its own may use here
	fors  map[*ir.Stmt]*forPlan
}

// window is more than any operation uses of scratch strips above its own.
const window = 8

// above says that code compiled until the returned function is called may find
// values in scratch strip t and in those of the operation that owns it.
func (c *compiler) above(t int) func() {
	old := c.floor
	c.floor = t + window
	return func() { c.floor = old }
}

// Compile returns the program of a lowered body that is complete.
func Compile(fn *ir.Func) *Program { return compile(fn, cheapest) }

// compile makes a program of a lowered body.
func compile(fn *ir.Func, how plan) *Program {
	c := &compiler{fn: fn, plan: how}
	p := &Program{fn: fn, used: fn.UsedOperands()}
	p.code = c.stmts(fn.Body)
	p.temps = max(1, c.temps)
	return p
}
