package interp

// Kernels that break the access modes of their operands, found with --verify.

import (
	"errors"
	"fmt"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/diag"
)

// accuse makes d, the diagnostic of a task that failed, R0110: its kernel broke
// access modes, or a codelet of a reducer did.
func accuse(d *diag.Diagnostic, t *engine.TaskError, e *engine.VerifyError) {
	d.Code = "R0110"
	site, _ := siteData(t.Origin.Site)
	operand := func(i int) (name string, at diag.Span) {
		if site == nil || i < 0 || i >= len(site.ops) {
			return fmt.Sprintf("%d", i+1), diag.Span{}
		}
		if op := &site.ops[i]; op.at.file != nil {
			at = op.at.span()
		}
		return "`" + site.ops[i].name + "`", at
	}
	codelet := "the codelet"
	if t.Codelet != nil {
		codelet = "codelet `" + t.Codelet.Name + "`"
	}
	var r *reducerBreach
	if errors.As(t.Cause, &r) {
		codelet, operand = "codelet `"+r.codelet.Name+"` of a reducer", r.operand
	}
	for k := range e.Breaches {
		b := &e.Breaches[k]
		name, at := operand(b.Operand)
		var what, where, help string
		switch b.Kind {
		case engine.WritesRead:
			what = fmt.Sprintf("changes its operand %s, which it has R", name)
			where = elementsText(b) + " changed"
			help = fmt.Sprintf("declare operand %s RW, or leave it alone", name)
			if r != nil { // whose modes are given
				help = fmt.Sprintf("leave operand %s alone", name)
			}
		case engine.LeavesUnwritten:
			what = fmt.Sprintf("does not write all of its operand %s, which it has W", name)
			where = elementsText(b) + " not written"
			help = fmt.Sprintf("write every element of operand %s", name)
			if r == nil {
				help += ", or declare it RW"
			}
		default:
			what = fmt.Sprintf("reads its operand %s, which it has %v, before writing it", name, b.Mode)
			if where = "whether the task succeeds depends on what it held before"; b.Result >= 0 {
				result, _ := operand(b.Result)
				where = engine.ElementText(b.ResultIndex, " of ") + result + " depends on what it held before"
			}
			help = fmt.Sprintf("write operand %s before reading it", name)
			if b.Mode == iface.W && r == nil {
				help += ", or declare it RW"
			}
		}
		if k == 0 {
			d.Message = codelet + " " + what
		} else {
			d.Notes = append(d.Notes, "it also "+what)
		}
		if !at.IsZero() {
			d.Labels = append(d.Labels, diag.Label{Span: at, Text: where})
		}
		d.Help = append(d.Help, help)
	}
}

// elementsText names the elements of a breach as a subject with its verb.
func elementsText(b *engine.Breach) string {
	first := engine.ElementText(b.Index, "")
	switch {
	case first == "":
		return "its value was"
	case b.Count > 1:
		return fmt.Sprintf("%s and %s more were", first, plural(int64(b.Count-1), "element"))
	}
	return "element " + first + " was"
}
