package engine

// The schedule itself as golden files: after each step of a small program, what
// every task does, where every piece of data is valid, and what was copied.
// STARPUSH_UPDATE=1 writes testdata/steps anew.

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/enginetest"
)

// stepper runs a program on a CPU worker and a device with one.
type stepper struct {
	*testing.T
	rt    *Runtime
	j     *Job
	dev   *frail
	log   strings.Builder
	data  []named
	tasks []*stepped
	moved map[[2]int]datamgr.Traffic
}

type named struct {
	name string
	h    *datamgr.Handle
}

// stepped is a task whose kernel runs until the test ends it.
type stepped struct {
	name          string
	k             *Task
	entered, over chan bool
}

func (t *stepped) inKernel() bool {
	select {
	case <-t.entered:
		return true
	default:
		return false
	}
}

// vector registers n zeros, in memory of the program.
func (s *stepper) vector(name string, n int) *datamgr.Handle {
	h, err := s.rt.Register(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{n}, Home: ptr(make([]int64, n)), Reduce: datamgr.SumReduction()})
	must(s, err)
	s.data = append(s.data, named{name, h})
	return h
}

// parts declares a view and names its parts.
func (s *stepper) parts(name string, h *datamgr.Handle, f filter.Filter) []*datamgr.Handle {
	v, err := s.rt.Partition(h, f)
	must(s, err)
	for i, p := range v.Parts {
		s.data = append(s.data, named{fmt.Sprintf("%s%d", name, i), p})
	}
	return v.Parts
}

// insert submits a task for a node that adds one to what it may write.
func (s *stepper) insert(name string, node int, ops ...Operand) *stepped {
	st := &stepped{name: name, entered: make(chan bool), over: make(chan bool)}
	c := kernel(name, func(c *TaskContext) error {
		for i := range c.NumBuffers() {
			for k := range iface.Slice[int64](c.Buffer(i)) {
				switch c.Mode(i) {
				case iface.R:
				case iface.W, iface.CommuteW:
					iface.Slice[int64](c.Buffer(i))[k] = 1
				default:
					iface.Slice[int64](c.Buffer(i))[k]++
				}
			}
		}
		close(st.entered)
		<-st.over
		return nil
	})
	k, err := s.j.SubmitTask(&TaskSpec{Codelet: c, Operands: ops, Workers: []int{node}})
	must(s, err)
	st.k = k
	s.tasks = append(s.tasks, st)
	var text []string
	for _, op := range ops {
		text = append(text, s.name(op.Handle)+" "+op.Mode.String())
	}
	fmt.Fprintf(&s.log, "insert %s on %s: %s\n", name, s.node(node), strings.Join(text, ", "))
	return st
}

// waits shows that tasks do not run: they wait for others.
func (s *stepper) waits(ts ...*stepped) {
	var names []string
	for _, t := range ts {
		names = append(names, t.name)
	}
	s.show("%s waits", strings.Join(names, ", "))
}

// runs waits until the kernels of the tasks run.
func (s *stepper) runs(ts ...*stepped) {
	var names []string
	for _, t := range ts {
		<-t.entered
		names = append(names, t.name)
	}
	s.show("%s runs", strings.Join(names, ", "))
}

// ends ends a task, and waits until those run that can now.
func (s *stepper) ends(t *stepped, then ...*stepped) {
	<-t.entered
	close(t.over)
	must(s, t.k.Wait(context.Background()))
	text := t.name + " ends"
	for _, n := range then {
		<-n.entered
		text += ", " + n.name + " runs"
	}
	s.show("%s", text)
}

func (s *stepper) name(h *datamgr.Handle) string {
	for _, d := range s.data {
		if d.h == h {
			return d.name
		}
	}
	return "?"
}

func (s *stepper) node(n int) string { return s.rt.Nodes()[n].Name }

// show writes a step and what there is after it.
// freed waits until no memory of a node has data of h.
func (s *stepper) freed(node int, h *datamgr.Handle) {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		all, err := s.j.Where(h)
		must(s, err)
		if !slices.ContainsFunc(all, func(p datamgr.Presence) bool { return p.Node == node && p.Allocated > 0 }) {
			return
		}
	}
}

func (s *stepper) show(format string, args ...any) {
	w := &s.log
	fmt.Fprintf(w, format+"\n", args...)
	for _, t := range s.tasks {
		st := t.k.State()
		if st == StateRunning && !t.inKernel() {
			st = StateReady // on its way: it may be anywhere
		}
		if st != StateEnded {
			fmt.Fprintf(w, "    task %-4s %v\n", t.name, st)
		}
	}
	for _, d := range s.data {
		fmt.Fprintf(w, "    data %-4s", d.name)
		all, err := s.j.Where(d.h)
		must(s, err)
		size := d.h.Desc()
		for _, p := range all {
			state := "-"
			switch {
			case p.Valid == size.Bytes():
				state = "valid"
			case p.Arriving > 0:
				state = "arriving"
			case p.Valid > 0:
				state = fmt.Sprintf("%d of %d bytes valid", p.Valid, size.Bytes())
			case p.Allocated > 0:
				state = "invalid"
			}
			fmt.Fprintf(w, " %s %s", s.node(p.Node), state)
			if p.Node+1 < len(all) {
				fmt.Fprint(w, ",")
			}
		}
		fmt.Fprintln(w)
	}
	for _, now := range s.rt.reg.Traffic() {
		at := [2]int{now.From, now.To}
		if old := s.moved[at]; now.Copies > old.Copies {
			fmt.Fprintf(w, "    moved %s to %s: %d bytes by %d\n", s.node(now.From), s.node(now.To), now.Bytes-old.Bytes, now.Copies-old.Copies)
		}
		s.moved[at] = now
	}
}

func op(h *datamgr.Handle, m iface.AccessMode) Operand { return Operand{Handle: h, Mode: m} }

const ram, gpu = 0, 1

var steps = map[string]func(s *stepper){
	"read after write": func(s *stepper) {
		x := s.vector("x", 10)
		a := s.insert("a", gpu, op(x, iface.W))
		s.runs(a)
		b := s.insert("b", ram, op(x, iface.R))
		c := s.insert("c", gpu, op(x, iface.R))
		s.waits(c)
		s.ends(a, b, c)
		s.ends(b)
		s.ends(c)
	},
	"write after read": func(s *stepper) {
		x := s.vector("x", 10)
		a := s.insert("a", gpu, op(x, iface.R))
		s.runs(a)
		b := s.insert("b", ram, op(x, iface.W))
		s.waits(b)
		s.ends(a, b)
		s.ends(b)
	},
	"write after write": func(s *stepper) {
		x := s.vector("x", 10)
		a := s.insert("a", gpu, op(x, iface.W))
		s.runs(a)
		b := s.insert("b", ram, op(x, iface.W))
		s.waits(b)
		s.ends(a, b)
		s.ends(b)
	},
	"commute": func(s *stepper) {
		x := s.vector("x", 10)
		a := s.insert("a", gpu, op(x, iface.Commute))
		s.runs(a)
		b := s.insert("b", ram, op(x, iface.Commute))
		s.waits(b)
		c := s.insert("c", gpu, op(x, iface.R))
		s.waits(c)
		s.ends(a, b)
		s.ends(b, c)
		s.ends(c)
	},
	"commuting overwrites": func(s *stepper) {
		x := s.vector("x", 10)
		a := s.insert("a", gpu, op(x, iface.CommuteW))
		s.runs(a)
		b := s.insert("b", ram, op(x, iface.CommuteW))
		s.waits(b)
		c := s.insert("c", gpu, op(x, iface.R))
		d := s.insert("d", ram, op(x, iface.CommuteW))
		s.waits(c, d)
		s.ends(a, b)
		s.ends(b, c)
		s.ends(c, d)
		s.ends(d)
	},
	"commute of two kinds": func(s *stepper) {
		x := s.vector("x", 10)
		a := s.insert("a", gpu, op(x, iface.Commute))
		s.runs(a)
		b := s.insert("b", ram, op(x, iface.CommuteW))
		s.waits(b)
		c := s.insert("c", ram, op(x, iface.Commute))
		s.waits(c)
		s.ends(a, b)
		s.ends(b, c)
		s.ends(c)
	},
	"redux": func(s *stepper) {
		x := s.vector("x", 10)
		a := s.insert("a", gpu, op(x, iface.Redux))
		b := s.insert("b", ram, op(x, iface.Redux))
		s.runs(a, b)
		c := s.insert("c", gpu, op(x, iface.R))
		s.waits(c)
		s.ends(a)
		s.ends(b, c)
		s.ends(c)
	},
	"two views": func(s *stepper) {
		x := s.vector("x", 12)
		h := s.parts("h", x, filter.Halves())
		b := s.parts("b", x, filter.Blocks(3))
		t1 := s.insert("t1", gpu, op(h[0], iface.W))
		s.runs(t1)
		t2 := s.insert("t2", ram, op(b[2], iface.W)) // shares nothing with h0
		s.runs(t2)
		t3 := s.insert("t3", ram, op(b[1], iface.RW)) // half of it does
		s.waits(t3)
		s.ends(t2)
		s.ends(t1, t3)
		s.ends(t3)
		t4 := s.insert("t4", gpu, op(x, iface.R))
		s.runs(t4)
		s.ends(t4)
	},
	"halo": func(s *stepper) {
		x := s.vector("x", 8)
		p := s.parts("p", x, filter.Blocks(2))
		q := s.parts("q", x, filter.BlocksHalo(2, 1))
		t1 := s.insert("t1", gpu, op(p[0], iface.RW))
		s.runs(t1)
		t2 := s.insert("t2", ram, op(q[1], iface.R)) // one element of p0
		s.waits(t2)
		s.ends(t1, t2)
		t3 := s.insert("t3", gpu, op(q[0], iface.R)) // one element of p1
		s.runs(t3)
		s.ends(t2)
		s.ends(t3)
	},
	"eviction": func(s *stepper) {
		x, y, z := s.vector("x", 12), s.vector("y", 12), s.vector("z", 12)
		for i, o := range []Operand{op(x, iface.RW), op(y, iface.R), op(z, iface.RW), op(y, iface.R)} {
			t := s.insert(fmt.Sprintf("t%d", i), gpu, o)
			s.runs(t)
			s.ends(t)
		}
	},
	"prefetch joined by a fetch": func(s *stepper) {
		x := s.vector("x", 10)
		gate, held := make(chan bool), make(chan bool)
		s.dev.unstable = func(*frailStream, int64) bool {
			close(held)
			<-gate
			return false
		}
		must(s, s.j.Prefetch(x, gpu, false))
		<-held
		s.show("a prefetch is under way")
		a := s.insert("a", gpu, op(x, iface.R))
		enginetest.Eventually(s, "a runs", func() bool { return a.k.State() == StateRunning })
		s.show("a waits for it on the device")
		s.dev.unstable = nil
		close(gate)
		s.runs(a)
		s.ends(a)
	},
	"write through": func(s *stepper) {
		x := s.vector("x", 10)
		must(s, s.rt.SetWriteThrough(x, ram))
		a := s.insert("a", gpu, op(x, iface.RW))
		s.runs(a)
		<-a.entered
		close(a.over)
		must(s, a.k.Wait(context.Background()))
		enginetest.Eventually(s, "x is in main memory", func() bool { return managed(x).Missing(ram) == 0 })
		s.show("a ends, and x goes to ram")
		b := s.insert("b", ram, op(x, iface.R))
		s.runs(b)
		s.ends(b)
	},
	"lost device": func(s *stepper) {
		x, y := s.vector("x", 10), s.vector("y", 10)
		a := s.insert("a", gpu, op(x, iface.RW), op(y, iface.R))
		s.runs(a)
		s.ends(a)
		s.rt.reg.Lose(gpu, &accel.LostError{Device: "gpu", Err: errWire})
		s.freed(gpu, x) // the task has ended, but its worker may not have given up what it used
		s.freed(gpu, y)
		s.show("the device is lost")
		b := s.insert("b", ram, op(y, iface.R))
		s.runs(b)
		s.ends(b)
		c := s.insert("c", ram, op(x, iface.W))
		s.runs(c)
		s.ends(c)
	},
}

func TestSteps(t *testing.T) {
	for name, fn := range steps {
		t.Run(name, func(t *testing.T) {
			s := &stepper{T: t, dev: newFrail("gpu", 200, 1), moved: map[[2]int]datamgr.Traffic{}}
			s.rt, s.j = start(t, Options{Workers: 1, Policy: "eager", Devices: []accel.Device{s.dev}})
			fn(s)
			file := filepath.Join("testdata", "steps", strings.ReplaceAll(name, " ", "-")+".txt")
			if os.Getenv("STARPUSH_UPDATE") != "" {
				must(t, os.WriteFile(file, []byte(s.log.String()), 0o644))
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("%v; STARPUSH_UPDATE=1 writes it", err)
			}
			if d := cmp.Diff(string(want), s.log.String()); d != "" {
				t.Errorf("%s (-want +got):\n%s", file, d)
			}
		})
	}
}
