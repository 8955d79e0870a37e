package check

// Loops that run no round because a range with constant bounds is the wrong way round
// (W0702): `10..0` counts upwards from 10.

import (
	"fmt"

	"github.com/starpush/starpush/lang/syntax"
)

// downwards looks at what a loop goes over.
func (c *checker) downwards(e syntax.Expr) {
	switch v := unparen(e).(type) {
	case *syntax.RangeExpr:
		lo, ok := literal(v.Lo)
		hi, ok2 := literal(v.Hi)
		if !ok || !ok2 || lo <= hi {
			return
		}
		d := c.warn("W0702", e, fmt.Sprintf("`%s` is empty: a range goes upwards", c.text(v)))
		d.Label = "this loop runs no round"
		with, without := fmt.Sprintf("range(%d, %d, -1)", lo, hi-1), fmt.Sprintf("range(%d, %d, -1)", lo, hi)
		if v.Closed {
			d.Help = append(d.Help, fmt.Sprintf("downwards from %d to %d write `%s`", lo, hi, with))
			d.Edit(d.Span, with)
			return
		}
		d.Help = append(d.Help, fmt.Sprintf("downwards from %d write `%s`, which leaves out %d, or `%s`, with it", lo, without, hi, with))
		d.Edit(d.Span, without)
	case *syntax.Call:
		if v.Callee == nil || v.Callee != builtinFuncs["range"] || len(v.Args) != 3 {
			return
		}
		var n [3]int64
		for k, a := range v.Args {
			var ok bool
			if n[k], ok = literal(a.Value); !ok || a.Name != nil {
				return
			}
		}
		from, to, step := n[0], n[1], n[2]
		if step == 0 || step > 0 && from <= to || step < 0 && from >= to {
			return
		}
		d := c.warn("W0702", e, fmt.Sprintf("`%s` is empty: its step leads away from %d", c.text(v), to))
		d.Label = "this loop runs no round"
		turned := fmt.Sprintf("range(%d, %d, %d)", from, to, -step)
		d.Help = append(d.Help, fmt.Sprintf("write `%s`", turned))
		d.Edit(d.Span, turned)
	}
}
