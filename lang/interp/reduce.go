package interp

// Reductions: sum, prod, min, max, and reducer(init = i, combine = c).

import (
	"context"
	"errors"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

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
	r := &Reducer{name: c.place(e).source()}
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
func (m *Machine) reduction(r *Reducer, t *types.Type, at place) *datamgr.Reduction {
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
func (m *Machine) direct(o *types.Object, t *types.Type, at place) func(bufs ...*iface.Buffer) error {
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
