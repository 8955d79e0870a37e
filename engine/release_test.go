package engine

// Giving held data back in part.

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

func parts(t testing.TB, rt *Runtime, h *datamgr.Handle, fs ...filter.Filter) []*datamgr.Handle {
	t.Helper()
	v, err := rt.Partition(h, fs...)
	must(t, err)
	return v.Parts
}

// now asserts that a task with these operands can run.
func now(t testing.TB, j *Job, ops []Operand) {
	t.Helper()
	task, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops})
	must(t, err)
	must(t, task.Wait(context.Background()))
}

// later submits a task that has to wait for held.
func later(t testing.TB, j *Job, held *datamgr.Handle, ops []Operand) *Task {
	t.Helper()
	task, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: ops})
	must(t, err)
	stuckOn(t, task.Wait(context.Background()), nil, held)
	return task
}

func TestReleasePart(t *testing.T) {
	const R, W, RW, none = iface.R, iface.W, iface.RW, iface.NoMode
	type world struct {
		*testing.T
		rt *Runtime
		j  *Job
		h  *datamgr.Handle
		a  *Access
	}
	acquire := func(w *world, m iface.AccessMode) {
		var err error
		w.a, err = w.j.Acquire(context.Background(), w.h, m)
		must(w, err)
	}
	for name, run := range map[string]func(w *world){
		"cut before": func(w *world) {
			p := parts(w, w.rt, w.h, filter.Blocks(4))
			acquire(w, RW)
			must(w, w.a.ReleasePart(p[2], none))
			now(w, w.j, ops(RW, p[2]))
			later(w, w.j, w.h, ops(RW, p[1]))
			must(w, w.a.ReleasePart(p[1], none))
			now(w, w.j, ops(RW, p[1], R, p[2]))
		},
		"cut while held": func(w *world) {
			acquire(w, W)
			p := parts(w, w.rt, w.h, filter.Blocks(4))
			must(w, w.a.ReleasePart(p[0], none))
			now(w, w.j, ops(RW, p[0]))
			later(w, w.j, w.h, ops(R, p[3]))
			must(w, w.a.ReleasePart(p[3], R))
			now(w, w.j, ops(R, p[3]))
			later(w, w.j, w.h, ops(RW, p[3]))
		},
		"cut twice while held": func(w *world) {
			acquire(w, RW)
			p := parts(w, w.rt, w.h, filter.Blocks(2))
			q := parts(w, w.rt, p[0], filter.Blocks(2))
			must(w, w.a.ReleasePart(q[1], none))
			now(w, w.j, ops(RW, q[1]))
			later(w, w.j, w.h, ops(RW, q[0]))
			later(w, w.j, w.h, ops(R, p[1]))
			must(w, w.a.ReleasePart(p[1], none))
			now(w, w.j, ops(RW, p[1]))
		},
		"readers wait in a piece": func(w *world) {
			acquire(w, RW)
			p := parts(w, w.rt, w.h, filter.Blocks(2))
			reader := later(w, w.j, w.h, ops(R, p[0]))
			q := parts(w, w.rt, p[0], filter.Blocks(2))
			must(w, w.a.ReleasePart(p[1], none))
			now(w, w.j, ops(RW, p[1]))
			must(w, w.a.ReleasePart(q[0], none)) // the reader needs both
			later(w, w.j, w.h, ops(R, q[0]))
			must(w, w.a.ReleasePart(q[1], none)) // that was all
			must(w, reader.Wait(context.Background()))
			now(w, w.j, ops(RW, w.h))
		},
		"a writer waits for the whole": func(w *world) {
			acquire(w, RW)
			writer := later(w, w.j, w.h, ops(RW, w.h))
			p := parts(w, w.rt, w.h, filter.Blocks(2))
			must(w, w.a.ReleasePart(p[0], none))
			later(w, w.j, w.h, ops(R, p[0]))
			must(w, w.a.ReleasePart(p[1], none))
			must(w, writer.Wait(context.Background()))
		},
		"readers of the whole step in": func(w *world) {
			acquire(w, RW)
			reader := later(w, w.j, w.h, ops(R, w.h))
			p := parts(w, w.rt, w.h, filter.Blocks(2))
			must(w, w.a.ReleasePart(p[0], R))
			must(w, w.a.ReleasePart(p[1], R))
			must(w, reader.Wait(context.Background()))
			if m := w.a.Mode(); m != R {
				w.Errorf("mode %v", m)
			}
			must(w, w.a.ReleasePart(p[1], none))
			now(w, w.j, ops(RW, p[1]))
			later(w, w.j, w.h, ops(RW, p[0]))
		},
		"read only": func(w *world) {
			acquire(w, R)
			other, err := w.j.Acquire(context.Background(), w.h, R)
			must(w, err)
			p := parts(w, w.rt, w.h, filter.Blocks(2))
			must(w, w.a.ReleasePart(p[0], none))
			later(w, w.j, w.h, ops(RW, p[0]))
			must(w, other.Release())
			must(w, w.j.WaitHandles(context.Background(), p[0]))
			now(w, w.j, ops(RW, p[0]))
			later(w, w.j, w.h, ops(RW, p[1]))
		},
		"commuters and locks": func(w *world) {
			p := parts(w, w.rt, w.h, filter.Blocks(2))
			for _, h := range p { // makes locks
				must(w, w.j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: h, Mode: RW, Unordered: true}}}))
			}
			acquire(w, RW)
			task, err := w.j.SubmitTask(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: p[0], Mode: R, Unordered: true}}})
			must(w, err)
			stuckOn(w, task.Wait(context.Background()), nil, w.h)
			must(w, w.a.ReleasePart(p[0], R))
			must(w, task.Wait(context.Background()))
			must(w, w.a.ReleasePart(p[0], none))
			now(w, w.j, []Operand{{Handle: p[0], Mode: RW, Unordered: true}})
			now(w, w.j, ops(iface.Commute, p[0]))
		},
		"unordered": func(w *world) {
			p := parts(w, w.rt, w.h, filter.Blocks(2))
			var err error
			w.a, err = w.j.AcquireWith(context.Background(), w.h, RW, AcquireOptions{Unordered: true})
			must(w, err)
			later(w, w.j, w.h, ops(R, p[0]))
			must(w, w.a.ReleasePart(p[0], none))
			now(w, w.j, ops(RW, p[0]))
			must(w, w.j.WaitHandles(context.Background(), p[0]))
		},
		"what cannot be": func(w *world) {
			p := parts(w, w.rt, w.h, filter.Blocks(2))
			q := parts(w, w.rt, w.h, filter.Blocks(4))
			other := ints(w, w.rt, make([]int64, 8))
			acquire(w, RW)
			refuse := func(h *datamgr.Handle, m iface.AccessMode) {
				w.Helper()
				var e *ModeError
				if err := w.a.ReleasePart(h, m); !errors.As(err, &e) {
					w.Errorf("%v: %v", m, err)
				}
			}
			refuse(nil, R)
			refuse(other, R)
			refuse(other, none)
			refuse(p[0], iface.Commute)
			must(w, w.a.ReleasePart(p[0], RW))
			must(w, w.a.ReleasePart(p[0], W))
			must(w, w.a.ReleasePart(q[0], R))
			must(w, w.a.ReleasePart(q[0], R))
			refuse(q[0], RW)
			refuse(p[0], W)
			must(w, w.a.ReleasePart(p[0], none))
			refuse(q[1], R)
			refuse(p[0], none)
			refuse(w.h, iface.Scratch)
			must(w, w.a.ReleaseTo(R))
			refuse(p[1], W)
			must(w, w.a.ReleasePart(p[1], none))
			refuse(p[1], R)
			now(w, w.j, ops(RW, w.h))
		},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
				w := &world{T: t, rt: rt, j: j, h: ints(t, rt, make([]int64, 8))}
				run(w)
				must(t, w.a.Release())
				must(t, j.Wait(context.Background()))
				now(t, j, ops(iface.RW, w.h))
			})
		})
	}
}

// Acquired for its place in the order only.
func TestOrderOnly(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		only := AcquireOptions{OrderOnly: true}
		var none *UninitError
		var gone *FailedDataError
		var mode *ModeError

		x := lazy(t, rt, 1<<20, nil)
		a, err := j.AcquireWith(context.Background(), x, iface.W, only)
		must(t, err)
		if b := a.Buffer(); b.Ptr != nil || b.Len() != 1<<20 || rt.Nodes()[0].Allocated != 0 {
			t.Errorf("%+v", b)
		}
		writer := later(t, j, x, ops(iface.W, x))
		if err := a.Fetch(); !errors.As(err, &none) {
			t.Errorf("fetching what had no value: %v", err)
		}
		if !x.Initialised() { // by the writer, not by this
			t.Error("no value although a writer was submitted")
		}
		must(t, a.Release())
		must(t, writer.Wait(context.Background()))
		if err := a.Fetch(); !errors.As(err, &mode) {
			t.Errorf("fetching what was released: %v", err)
		}

		y := ints(t, rt, []int64{3, 3})
		a, err = j.AcquireWith(context.Background(), y, iface.W, only)
		must(t, err)
		must(t, a.Fetch())
		must(t, a.Fetch())
		if s := iface.Slice[int64](a.Buffer()); s[0] != 3 || a.Mode() != iface.RW {
			t.Errorf("%v, mode %v", s, a.Mode())
		}
		iface.Slice[int64](a.Buffer())[0], iface.Slice[int64](a.Buffer())[1] = 4, 4
		must(t, a.Release())
		readable(t, j, y, 4)

		a, err = j.AcquireWith(context.Background(), y, iface.RW, only) // and does not touch the value
		must(t, err)
		must(t, a.ReleaseTo(iface.R))
		now(t, j, ops(iface.R, y))
		must(t, a.Fetch())
		must(t, a.Release())
		readable(t, j, y, 4)

		p := parts(t, rt, y, filter.Blocks(2))
		a, err = j.AcquireWith(context.Background(), y, iface.RW, only)
		must(t, err)
		must(t, a.ReleasePart(p[0], iface.NoMode))
		if err := a.Fetch(); !errors.As(err, &mode) {
			t.Errorf("fetching what was released in part: %v", err)
		}
		must(t, a.Release())

		must(t, j.Submit(&TaskSpec{Codelet: bad, Operands: ops(iface.RW, y)}))
		a, err = j.AcquireWith(context.Background(), y, iface.RW, only)
		must(t, err) // the order does not look at values
		if err := a.Fetch(); !errors.As(err, &gone) || len(j.Failures()) != 0 {
			t.Errorf("fetching what was lost: %v", err)
		}
		must(t, a.Release())

		v, err := rt.Register(DataSpec{Kind: iface.Void})
		must(t, err)
		a, err = j.AcquireWith(context.Background(), v, iface.RW, only)
		must(t, err)
		must(t, a.Fetch())
		later(t, j, v, ops(iface.R, v))
		must(t, a.Release())
	})
}

func TestNodes(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		x := ints(t, rt, []int64{3})
		for _, node := range []int{-1, 1, 1 << 40} {
			var e *NoNodeError
			o := AcquireOptions{Node: node}
			_, err := j.AcquireWith(context.Background(), x, iface.R, o)
			if !errors.As(err, &e) || e.Node != node || len(e.Nodes) != 1 || e.Nodes[0].Name != "ram" {
				t.Error(err)
			}
			if _, err := j.TryAcquireWith(x, iface.R, o); !errors.As(err, &e) {
				t.Error(err)
			}
			if err := j.AcquireFuncWith(x, iface.R, o, func(*Access, error) { t.Error("called") }); !errors.As(err, &e) {
				t.Error(err)
			}
		}
		a, err := j.AcquireWith(context.Background(), x, iface.R, AcquireOptions{Node: 0, Site: &Site{File: "f"}})
		must(t, err)
		must(t, a.Release())
	})
}

func TestAcquireThatCannotBe(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		x := ints(t, rt, []int64{3})
		var e *ModeError
		for _, m := range []iface.AccessMode{iface.NoMode, iface.Commute, iface.Redux, iface.Scratch, 99} {
			if _, err := j.Acquire(context.Background(), x, m); !errors.As(err, &e) {
				t.Error(m, err)
			}
		}
		if _, err := j.AcquireWith(context.Background(), x, iface.RW, AcquireOptions{Partial: true}); !errors.As(err, &e) {
			t.Error(err)
		}
		if err := j.AcquireFunc(nil, iface.R, func(*Access, error) {}); !errors.As(err, &e) {
			t.Error(err)
		}
		if err := j.AcquireFunc(x, iface.R, nil); !errors.As(err, &e) {
			t.Error(err)
		}
		must(t, j.Unregister(x))
		var dead *DeadHandleError
		if _, err := j.TryAcquire(x, iface.R); !errors.As(err, &dead) {
			t.Error(err)
		}
		ro, err := rt.Register(DataSpec{Kind: iface.Variable, Elem: iface.I64, Home: ptr([]int64{1}), ReadOnly: true})
		must(t, err)
		var only *ReadOnlyError
		if _, err := j.AcquireWith(context.Background(), ro, iface.RW, AcquireOptions{OrderOnly: true}); !errors.As(err, &only) {
			t.Error(err)
		}
	})
}

// Who tries to get data with contributions gets it some time after all of them have
// ended, with nobody else asking for it, and refuses nothing to those that go on.
func TestTryCombines(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		v := []int64{5, 5}
		h := ints(t, rt, v)
		must(t, rt.SetReduction(h, datamgr.SumReduction()))
		part := parts(t, rt, h, filter.Blocks(2))[1]
		want := int64(5)
		for _, of := range []*datamgr.Handle{h, part} {
			hold := make(chan struct{})
			if rt.Sequential() {
				close(hold)
			}
			slow := kernel("slow", func(c *TaskContext) error {
				<-hold
				iface.Slice[int64](c.Buffer(0))[0]++
				iface.Slice[int64](c.Buffer(0))[1]++
				return nil
			})
			for range 3 {
				must(t, j.Submit(&TaskSpec{Codelet: slow, Operands: ops(iface.Redux, h)}))
			}
			want += 3
			if !rt.Sequential() {
				if _, err := j.TryAcquire(of, iface.R); err != ErrBusy {
					t.Fatalf("with contributions under way: %v", err)
				}
				close(hold)
			}
			var a *Access
			var err error
			for end := time.Now().Add(20 * time.Second); ; runtime.Gosched() {
				if a, err = j.TryAcquire(of, iface.R); err == nil {
					break
				}
				if err != ErrBusy || time.Now().After(end) || rt.Sequential() {
					t.Fatal(err)
				}
			}
			for _, got := range iface.Slice[int64](a.Buffer()) {
				if got != want {
					t.Errorf("got %d, want %d", got, want)
				}
			}
			must(t, a.Release())
		}
		must(t, j.Wait(context.Background()))
	})
}
