package interp

// Reductions: sum, prod, min, max, and reducer(init = i, combine = c).

import (
	"context"
	"fmt"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/kernel"
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

// reduction returns what the data manager needs of r for data of type t.
func (m *Machine) reduction(r *Reducer, t *types.Type, at place) *datamgr.Reduction {
	if r.r != nil {
		return r.r
	}
	out := &datamgr.Reduction{Name: "reducer"}
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
	if k, ok := o.Host.(*engine.Codelet); ok {
		return func(bufs ...*iface.Buffer) error { return k.Call(context.Background(), bufs, args) }
	}
	node, ok := o.Node.(*syntax.Codelet)
	if !ok || node.Body == nil {
		m.fail("E0904", at, "the host has no codelet `%s`", o.Name)
	}
	code, err := kernel.Compile(fileOf(o), node, o.Sig, targs)
	if err != nil {
		m.fail("E0705", at, "`%s` cannot be used in this reducer: %v", o.Name, err)
	}
	return func(bufs ...*iface.Buffer) (err error) {
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("codelet %s: %v", o.Name, r)
			}
		}()
		return code.Run(context.Background(), bufs, args)
	}
}
