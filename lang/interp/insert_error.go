package interp

// Inserts that the engine refuses, in words of the script.

import (
	"errors"
	"fmt"
	"strings"

	"github.com/starpush/starpush/engine"
)

// handleText is how the script writes a handle at a place: "R x[0]" without its mode.
func handleText(at place, h *Handle) string {
	s := at.source()
	if len(s) > 40 || s == "" {
		if h == nil {
			return ""
		}
		return h.Name()
	}
	for _, mode := range []string{"R ", "W ", "RW ", "COMMUTE ", "REDUX ", "SCRATCH "} {
		if len(s) > len(mode) && s[:len(mode)] == mode {
			s = s[len(mode):]
			break
		}
	}
	return s
}

// noWorker raises E0803. kinds are those of the devices that could run the task.
func (m *Machine) noWorker(s *insertSite, at place, why string, kinds ...any) {
	d := m.diagnostic("E0803", at, fmt.Sprintf("no worker can run `%s`", s.name))
	d.Label = why
	d.Help = []string{"this run has " + m.machineText()}
	if len(kinds) > 0 {
		d.Help = append(d.Help, moreDevices(kinds))
	}
	m.raise(d)
}

// moreDevices says how a run gets devices of the kinds, or of any kind: of itself it has
// none, even where the machine does.
func moreDevices(kinds []any) string {
	which := "all"
	if len(kinds) == 1 {
		which = fmt.Sprint(kinds[0])
	}
	return fmt.Sprintf("`--gpus %s` gives a run the devices that `starpush info` lists; a program gives them by `engine.Options.Devices`", which)
}

// devicesOf are those of kinds that are devices.
func devicesOf(kinds []DeviceKind) (devices []any) {
	for _, k := range kinds {
		if k != "cpu" {
			devices = append(devices, k)
		}
	}
	return devices
}

// nowhere raises E0803 about a task that the engine has no worker for.
func (m *Machine) nowhere(s *insertSite, err error) {
	d := m.diagnostic("E0803", s.at, fmt.Sprintf("no worker can run `%s`", s.name))
	d.Label = "inserted here"
	d.Notes = []string{firstLine(err.Error())}
	if why := m.prog.stays(s.codelet); why != nil {
		d.Notes = append(d.Notes, "kernels for devices are not made of its body: "+why.Error())
	}
	d.Help = []string{"this run has " + m.machineText()}
	var large *engine.TooLargeError
	if errors.As(err, &large) {
		if help := moreMemory(large, d.Help); len(help) > 0 {
			d.Help = help
			d.Notes[0], _, _ = strings.Cut(d.Notes[0], ": let it run on") // advice for any node
		}
	}
	d.Cause = err
	m.raise(d)
}

// moreMemory is the help that says how much main memory a run needs for a task, where
// the run bounds it; else none. What else it has is no matter then, unless the task may
// run on devices, too.
func moreMemory(e *engine.TooLargeError, help []string) []string {
	for _, n := range e.Nodes {
		if n.Name != "ram" {
			continue
		}
		more := fmt.Sprintf("`--ram %s` or more has room for it; in a program, `engine.Options.RAM`", sizeFlag(e.Bytes))
		if len(e.Nodes) == 1 {
			return []string{more}
		}
		return append(help, more)
	}
	return nil
}

// sizeFlag writes a size as flags take it, rounded up to at most four digits where there
// is a unit: 6144 as 6Ki.
func sizeFlag(n int64) string {
	const most = 9999
	unit := ""
	for _, u := range []string{"Ki", "Mi", "Gi", "Ti"} {
		if n <= most && (n%1024 != 0 || n < 1024) {
			break
		}
		n, unit = (n+1023)/1024, u
	}
	return fmt.Sprint(n) + unit
}

// insertFailed raises what Submit refused.
func (m *Machine) insertFailed(err error, s *insertSite, st *siteState) {
	var lost *engine.FailedDataError
	if errors.As(err, &lost) {
		return // the task is cancelled: who needs its outputs is told
	}
	at := s.at
	var h *Handle
	pick := func(k int) {
		if k >= 0 && k < len(s.ops) {
			at, h = s.ops[k].at, st.handles[k]
		}
	}
	var shape *engine.ShapeError
	var uninit *engine.UninitError
	var dead *engine.DeadHandleError
	var mode *engine.ModeError
	var ro *engine.ReadOnlyError
	var red *engine.NoReductionError
	var seat *engine.PlaceError
	var impl *engine.NoImplementationError
	var none *engine.NoWorkerError
	var gone *engine.LostWorkersError
	var large *engine.TooLargeError
	var pin *engine.PinError
	switch {
	case errors.As(err, &pin):
		d := m.diagnostic("E0803", s.ops[pin.Operand].at, fmt.Sprintf("no worker can run `%s`", s.name))
		d.Label = "stays in main memory"
		d.Notes = []string{"its implementations for devices take this operand in their own memory"}
		d.Help = []string{"drop the `@`, or let it run on CPU workers"}
		d.Cause = err
		m.raise(d)
	case errors.As(err, &impl), errors.As(err, &none), errors.As(err, &gone), errors.As(err, &large):
		m.nowhere(s, err)
	case errors.As(err, &seat):
		m.failHelp("E0705", s.opts.at["order"], "", "give each task of a worker a place of its own, from 1, and leave none out", "%s", seat.Message)
	case errors.As(err, &shape):
		m.badShape(shape, s, st)
	case errors.As(err, &uninit):
		pick(uninit.Operand)
	case errors.As(err, &dead):
		pick(dead.Operand)
	case errors.As(err, &mode):
		pick(mode.Operand)
	case errors.As(err, &ro):
		pick(ro.Operand)
	case errors.As(err, &red):
		pick(red.Operand)
		if h != nil {
			m.noReduction(err, at, h, s.ops[red.Operand].fold, s.name)
		}
	}
	m.raiseEngine(err, at, h)
}

// badShape raises E0702, or E0705 about a string argument.
func (m *Machine) badShape(e *engine.ShapeError, s *insertSite, st *siteState) {
	at, code := s.at, "E0702"
	if e.Arg != "" {
		code = "E0705"
		for _, a := range s.scalars {
			if a.nam == e.Arg {
				at = a.at
			}
		}
	}
	d := m.diagnostic(code, at, firstLine(e.Message))
	d.Cause = e
	detail := func(k int) string {
		if k < len(e.Details) {
			return e.Details[k]
		}
		desc := st.handles[e.Operands[k]].h.Desc()
		return desc.String()
	}
	for k := len(e.Operands) - 1; k >= 0; k-- {
		i := e.Operands[k]
		if i < 0 || i >= len(s.ops) {
			continue
		}
		if d.Label == "" && e.Arg == "" {
			d.Span, d.Label = s.ops[i].at.span(), detail(k)
			continue
		}
		label(d, s.ops[i].at, detail(k))
	}
	if e.Help != "" {
		d.Help = []string{e.Help}
	}
	d.Notes = append(d.Notes, "codelet "+SignatureText(s.callee))
	if p := (*engine.PanicError)(nil); errors.As(e.Cause, &p) {
		d.Notes = append(d.Notes, panicNote)
	}
	m.raise(d)
}

// noReduction raises E0303 about data without a reduction. fold is what the codelet does
// to it, "" where that is not known.
func (m *Machine) noReduction(err error, at place, h *Handle, fold, codelet string) {
	d := m.diagnostic("E0303", at, fmt.Sprintf("`%s` has no reduction method", handleName(h, at)))
	d.Label = "needs a way to combine the copies"
	if h != nil && h.root.h.Reduction() != nil && h.typ.Data() != h.root.typ.Data() { // of pick
		label(d, h.root.at, fmt.Sprintf("its reducer is for a %v", h.root.typ))
		d.Help = []string{fmt.Sprintf("pass `%s` or a part that is a %v, or use RW", h.root.Name(), h.root.typ)}
		d.Cause = err
		m.raise(d)
	}
	if h != nil {
		label(d, h.root.at, "registered without `reduce`")
	}
	d.Help = []string{"register it with `reduce = sum`, `prod`, `min`, `max` or `reducer(...)`"}
	if fold != "" {
		d.Help[0] = fmt.Sprintf("register it with `reduce = %s`, which is what `%s` does to it", fold, codelet)
	}
	d.Cause = err
	m.raise(d)
}
