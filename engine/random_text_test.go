package engine

// Random programs as text: one line of JSON for each datum and step, so that one
// that failed can be kept, read and run again.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
)

// A case is a program with the options under which it failed.
type randomCase struct {
	*program
	options Options
}

// lineText is a line: the options, a datum or a step.
type lineText struct {
	Options *optionsText `json:"options,omitempty"`
	Datum   *datumText   `json:"datum,omitempty"`
	Step    string       `json:"step,omitempty"`

	D         int           `json:"d,omitempty"`
	H         int           `json:"h,omitempty"`
	From      *[2]int       `json:"from,omitempty"`
	Filters   []modelFilter `json:"by,omitempty"`
	View      int           `json:"view,omitempty"`
	Parts     int           `json:"parts,omitempty"`
	Mode      string        `json:"mode,omitempty"`
	Add       int64         `json:"add,omitempty"`
	Lower     []string      `json:"lower,omitempty"`
	OrderOnly bool          `json:"orderOnly,omitempty"`
	Unordered bool          `json:"unordered,omitempty"`
	Fetch     bool          `json:"fetch,omitempty"`
	Group     int           `json:"group,omitempty"`
	Task      *taskText     `json:"task,omitempty"`
}

type optionsText struct {
	Policy                                             string
	Workers, Window                                    int
	Sequential, Poison, Verify, Deterministic, Limited bool
	Device                                             int64  `json:",omitempty"` // bytes of its memory
	Units                                              int    `json:",omitempty"` // 0: there is no device
	Frail                                              int    `json:",omitempty"` // devices like that whose copies fail now and then; 0: one that is sound
	NUMA                                               bool   `json:",omitempty"` // they are NUMA nodes
	Loses                                              uint64 `json:",omitempty"` // see program
}

type datumText struct {
	Dims                      []int
	LD                        int
	Home, Adds, InitOnly, Dup bool `json:",omitempty"`
}

type taskText struct {
	ID                  int64
	Use                 []string    `json:",omitempty"`
	After               []int64     `json:",omitempty"`
	Gate, Opens         int         `json:",omitempty"`
	Priority            int         `json:",omitempty"`
	Worker              *int        `json:",omitempty"`
	Yields, Nest        int         `json:",omitempty"`
	Rounds              int         `json:",omitempty"`
	Kept, Fails, Panics bool        `json:",omitempty"`
	Children            []*taskText `json:",omitempty"`
}

func modeNamed(name string) iface.AccessMode {
	for m := iface.NoMode; m <= iface.CommuteW; m++ {
		if m.String() == name {
			return m
		}
	}
	return iface.NoMode
}

func (t *modelTask) text() *taskText {
	x := &taskText{ID: t.id, After: t.after, Gate: t.gate, Opens: t.opens, Priority: t.priority, Yields: t.yields, Nest: t.nest, Rounds: t.rounds,
		Kept: t.kept, Fails: t.fails, Panics: t.panics}
	if t.worker >= 0 {
		x.Worker = &t.worker
	}
	for _, o := range t.ops {
		u := fmt.Sprintf("%v d%d.h%d", o.mode, o.datum, o.handle)
		if o.unordered {
			u += " unordered"
		}
		x.Use = append(x.Use, u)
	}
	for _, c := range t.children {
		x.Children = append(x.Children, c.text())
	}
	return x
}

func (x *taskText) task(p *program) (*modelTask, error) {
	t := &modelTask{id: x.ID, after: x.After, gate: x.Gate, opens: x.Opens, priority: x.Priority, worker: -1, yields: x.Yields, nest: x.Nest, rounds: x.Rounds,
		kept: x.Kept, fails: x.Fails, panics: x.Panics}
	if x.Worker != nil {
		t.worker = *x.Worker
	}
	for _, u := range x.Use {
		name, rest, _ := strings.Cut(u, " d")
		o := modelOp{mode: modeNamed(name), unordered: strings.HasSuffix(u, " unordered")}
		if _, err := fmt.Sscanf(rest, "%d.h%d", &o.datum, &o.handle); err != nil || o.datum >= len(p.data) {
			return nil, fmt.Errorf("task %d uses %q: %v", x.ID, u, err)
		}
		o.adds = p.data[o.datum].adds
		t.ops = append(t.ops, o)
	}
	for _, c := range x.Children {
		k, err := c.task(p)
		if err != nil {
			return nil, err
		}
		t.children = append(t.children, k)
	}
	return t, nil
}

// encode writes a program down.
func (c randomCase) encode() []byte {
	var b bytes.Buffer
	line := func(l lineText) {
		text, err := json.Marshal(l)
		if err != nil {
			panic(err) // it is all plain data
		}
		b.Write(text)
		b.WriteByte('\n')
	}
	o := c.options
	x := &optionsText{Policy: o.Policy, Workers: o.Workers, Window: o.Window, Sequential: o.Sequential, Poison: o.Poison, Verify: o.Verify, Deterministic: o.Deterministic, Limited: o.RAM > 0, Loses: c.loses}
	for _, d := range o.Devices {
		x.Device, x.Units = d.Memory().Capacity(), d.Units()
		if _, ok := d.(*frail); ok {
			x.Frail++
		}
		x.NUMA = x.NUMA || isNUMA(d)
	}
	line(lineText{Options: x})
	for _, d := range c.data {
		line(lineText{Datum: &datumText{d.dims, d.ld, d.home, d.adds, d.initOnly, d.dup}})
	}
	for i := range c.steps {
		s := &c.steps[i]
		l := lineText{Step: s.kind.String(), D: s.datum, H: s.handle, Filters: s.filters, View: s.view, Parts: s.parts, Add: s.add,
			OrderOnly: s.acquire.OrderOnly, Unordered: s.acquire.Unordered, Fetch: s.fetch, Group: s.group}
		if s.mode != iface.NoMode {
			l.Mode = s.mode.String()
		}
		if s.kind == stepCopy || s.kind == stepDuplicate {
			l.From = &s.from
		}
		for _, w := range s.lower {
			l.Lower = append(l.Lower, fmt.Sprintf("%d %v", w.handle, w.mode))
		}
		if s.task != nil {
			l.Task = s.task.text()
		}
		line(l)
	}
	return b.Bytes()
}

// decode reads a program, and lets the model run it.
func decode(text []byte) (c randomCase, err error) {
	c.program = &program{}
	kinds := map[string]stepKind{}
	for k := stepPartition; k <= stepGap; k++ {
		kinds[k.String()] = k
	}
	n := 0
	sc := bufio.NewScanner(bytes.NewReader(text))
	for sc.Buffer(nil, 1<<24); sc.Scan(); {
		n++
		var l lineText
		if err := json.Unmarshal(sc.Bytes(), &l); err != nil {
			return c, fmt.Errorf("line %d: %w", n, err)
		}
		switch {
		case l.Options != nil:
			o := l.Options
			c.loses = o.Loses
			c.options = Options{Policy: o.Policy, Workers: o.Workers, Window: o.Window, Sequential: o.Sequential, Poison: o.Poison, Verify: o.Verify, Deterministic: o.Deterministic}
			if o.Limited {
				c.options.RAM = aQuarter
			}
			switch {
			case o.NUMA:
				c.options.Devices = sockets(o.Device, o.Units, 0)
			case o.Units > 0:
				c.options.Devices = devices(o.Device, o.Units, o.Frail, 0)
			}
		case l.Datum != nil:
			d := &modelDatum{kind: iface.KindOf(len(l.Datum.Dims)), dims: l.Datum.Dims, ld: l.Datum.LD, home: l.Datum.Home, adds: l.Datum.Adds, initOnly: l.Datum.InitOnly, dup: l.Datum.Dup}
			c.data = append(c.data, d)
		default:
			k, ok := kinds[l.Step]
			if !ok {
				return c, fmt.Errorf("line %d: no step is called %q", n, l.Step)
			}
			s := step{kind: k, datum: l.D, handle: l.H, filters: l.Filters, view: l.View, parts: l.Parts, mode: modeNamed(l.Mode), add: l.Add,
				acquire: AcquireOptions{OrderOnly: l.OrderOnly, Unordered: l.Unordered}, fetch: l.Fetch, group: l.Group}
			if l.From != nil {
				s.from = *l.From
			}
			for _, w := range l.Lower {
				var v lowering
				var mode string
				if _, err := fmt.Sscanf(w, "%d %s", &v.handle, &mode); err != nil {
					return c, fmt.Errorf("line %d: %q: %w", n, w, err)
				}
				v.mode = modeNamed(mode)
				s.lower = append(s.lower, v)
			}
			if l.Task != nil {
				if s.task, err = l.Task.task(c.program); err != nil {
					return c, fmt.Errorf("line %d: %w", n, err)
				}
			}
			c.steps = append(c.steps, s)
		}
	}
	c.program = c.without(make([]bool, len(c.steps)))
	return c, sc.Err()
}
