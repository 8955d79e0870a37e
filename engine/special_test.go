package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
)

// logged is a list of what happened, in order.
type logged struct {
	mu  sync.Mutex
	all []string
}

func (l *logged) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, fmt.Sprintf(format, args...))
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.all, " ")
}

// hooks writes down each hook of a task.
func (l *logged) hooks(name string) TaskOptions {
	at := func(what string) Hook {
		return func(t *Task) error {
			l.add("%s.%s", name, what)
			return nil
		}
	}
	return TaskOptions{Prologue: at("prologue"), OnStart: at("start"), Epilogue: at("epilogue"), Callback: at("callback")}
}

func (l *logged) kernel(name string) *Codelet {
	return kernel(name, func(*TaskContext) error { l.add("%s", name); return nil })
}

// Hooks run once each, in their places, on tasks with a kernel and without.
func TestHooks(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		x := ints(t, rt, make([]int64, 1))
		var l logged
		_, err := j.SubmitWith(&TaskSpec{Codelet: l.kernel("a"), Operands: ops(iface.RW, x)}, l.hooks("a"))
		must(t, err)
		must(t, j.Wait(context.Background()))
		_, err = j.SubmitWith(&TaskSpec{Operands: ops(iface.RW, x)}, l.hooks("b"))
		must(t, err)
		must(t, j.Wait(context.Background()))
		want := "a.prologue a.start a a.epilogue a.callback b.prologue b.start b.epilogue b.callback"
		if l.String() != want {
			t.Errorf("got  %s\nwant %s", l.String(), want)
		}
	})
}

// The epilogue comes before anything that waits for the task, by data or
// explicitly; Wait returns after the callback.
func TestEpilogueBeforeSuccessors(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		v, w := make([]int64, 1), make([]int64, 1)
		x, y := ints(t, rt, v), ints(t, rt, w)
		one := kernel("one", func(c *TaskContext) error { iface.Slice[int64](c.Buffer(0))[0] = 1; return nil })
		two := kernel("two", func(c *TaskContext) error { iface.Slice[int64](c.Buffer(0))[0] = 2; return nil })
		nowhere := &Codelet{Name: "nowhere", Traits: &Traits{Nowhere: true}}
		var saw []int64
		var epilogues atomic.Int32
		hook := TaskOptions{Epilogue: func(*Task) error {
			saw = append(saw, v[0], w[0])
			epilogues.Add(1)
			return nil
		}}
		for i, c := range []*Codelet{one, two} {
			a, err := j.SubmitWith(&TaskSpec{Codelet: nowhere, Operands: ops(iface.R, x, iface.R, y)}, hook)
			must(t, err)
			must(t, j.Submit(&TaskSpec{Codelet: c, Operands: ops(iface.W, x)}))
			must(t, j.Submit(&TaskSpec{Codelet: c, Operands: ops(iface.W, y)}))
			must(t, j.Submit(&TaskSpec{Codelet: kernel("after", func(*TaskContext) error {
				if int(epilogues.Load()) <= i {
					return errors.New("the epilogue has not run")
				}
				return nil
			}), After: []Dependency{a}}))
		}
		called := false
		task, err := j.SubmitWith(&TaskSpec{Operands: ops(iface.R, x, iface.R, y)}, TaskOptions{Callback: func(*Task) error { called = true; return nil }})
		must(t, err)
		must(t, task.Wait(context.Background()))
		if !called || !slices.Equal(saw, []int64{0, 0, 1, 1}) || len(j.Failures()) != 0 {
			t.Error(called, saw)
		}
		must(t, j.Wait(context.Background()))
	})
}

// What goes wrong in a hook has the outcome that its place says.
func TestHooksThatFail(t *testing.T) {
	type outcome struct{ kernel, later, failed bool } // the kernel ran; a reader of its data ran; the task failed
	errBoom := errors.New("boom")
	bad := map[string]Hook{
		"error":  func(*Task) error { return errBoom },
		"panic":  func(*Task) error { panic(errBoom) },
		"goexit": func(*Task) error { runtime.Goexit(); return nil },
	}
	for how, hook := range bad {
		for _, c := range []struct {
			name string
			o    TaskOptions
			want outcome
		}{
			{"prologue", TaskOptions{Prologue: hook}, outcome{false, false, true}},
			{"start hook", TaskOptions{OnStart: hook}, outcome{false, false, true}},
			{"epilogue", TaskOptions{Epilogue: hook}, outcome{true, false, true}},
			{"callback", TaskOptions{Callback: hook}, outcome{true, true, false}},
		} {
			for _, empty := range []bool{false, true} {
				t.Run(fmt.Sprint(how, " ", c.name, " ", empty), func(t *testing.T) {
					everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
						x := ints(t, rt, make([]int64, 1))
						var got outcome
						var task *Task
						calls := 0
						o := c.o
						if o.Callback == nil {
							o.Callback = func(*Task) error { calls++; return nil }
						} else {
							calls = 1
						}
						s := &TaskSpec{Operands: ops(iface.RW, x)}
						if !empty {
							s.Codelet = kernel("k", func(*TaskContext) error { got.kernel = true; return nil })
						} else {
							got.kernel = c.want.kernel
						}
						done := make(chan struct{})
						go func() { // which may end here
							defer close(done)
							var err error
							g := j.NewGate()
							s.After = []Dependency{g}
							task, err = j.SubmitWith(s, o)
							if err != nil {
								t.Error(err)
							}
							if err := j.Submit(&TaskSpec{Codelet: kernel("later", func(*TaskContext) error { got.later = true; return nil }), Operands: ops(iface.R, x)}); err != nil {
								t.Error(err)
							}
							g.Open()
						}()
						<-done
						must(t, j.Submit(&TaskSpec{Codelet: kernel("other", func(*TaskContext) error { return nil })})) // drains a Sequential runtime
						must(t, j.Wait(context.Background()))
						fs := j.Failures()
						got.failed = task.Err() != nil
						if got != c.want || calls != 1 {
							t.Errorf("got %+v, want %+v; %d callbacks", got, c.want, calls)
						}
						var h *HookError
						if len(fs) != 1 || !errors.As(fs[0], &h) || h.Hook != c.name || how != "goexit" && !errors.Is(fs[0], errBoom) {
							t.Error(fs)
						}
						readable(t, j, ints(t, rt, []int64{5}), 5)
					})
				})
			}
		}
	}
}

// Hooks may submit, also without end, and wait for nothing.
func TestHooksSubmit(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		v := []int64{40}
		x := ints(t, rt, v)
		inc := &TaskSpec{Codelet: incs, Operands: ops(iface.RW, x)}
		var waits atomic.Int32
		_, err := j.SubmitWith(inc, TaskOptions{Callback: func(task *Task) error {
			for _, err := range []error{j.Wait(context.Background()), task.Wait(context.Background()), rt.Close(), j.Close()} {
				if err == ErrWouldDeadlock || err == nil && task.Done() {
					waits.Add(1)
				}
			}
			if _, err := j.Acquire(context.Background(), x, iface.R); err == ErrWouldDeadlock {
				waits.Add(1)
			}
			return j.Submit(inc)
		}})
		must(t, err)
		must(t, j.Wait(context.Background()))
		if v[0] != 42 || waits.Load() != 5 {
			t.Error(v[0], waits.Load())
		}

		const n = 2000
		k, deep := 0, 0
		var next func(*Task) error
		next = func(*Task) error {
			var pcs [1024]uintptr
			deep = max(deep, runtime.Callers(0, pcs[:]))
			if k++; k == n {
				return nil
			}
			_, err := j.SubmitWith(&TaskSpec{}, TaskOptions{Callback: next})
			return err
		}
		must(t, next(nil))
		must(t, j.Wait(context.Background()))
		if k != n || deep > 200 {
			t.Error(k, "callbacks, one in another:", deep)
		}
	})
}

// A codelet's callback is for tasks that have none.
func TestCodeletCallback(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		var l logged
		c := l.kernel("k")
		c.Traits = &Traits{Callback: func(*Task) error { l.add("codelet's"); return nil }}
		must(t, j.Submit(&TaskSpec{Codelet: c}))
		must(t, j.Wait(context.Background()))
		_, err := j.SubmitWith(&TaskSpec{Codelet: c}, TaskOptions{Callback: func(*Task) error { l.add("task's"); return nil }})
		must(t, err)
		must(t, j.Wait(context.Background()))
		if l.String() != "k codelet's k task's" {
			t.Error(l.String())
		}
	})
}

// An empty task is a point that all before it have passed and none behind it.
func TestEmptyTaskBetween(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		var before, early atomic.Int32
		first := kernel("first", func(*TaskContext) error { runtime.Gosched(); before.Add(1); return nil })
		second := kernel("second", func(*TaskContext) error {
			if before.Load() != 3 {
				early.Add(1)
			}
			return nil
		})
		for range 50 {
			before.Store(0)
			var after []Dependency
			for range 3 {
				a, err := j.SubmitTask(&TaskSpec{Codelet: first})
				must(t, err)
				after = append(after, a)
			}
			e, err := j.SubmitWith(&TaskSpec{After: after}, TaskOptions{})
			must(t, err)
			for range 2 {
				must(t, j.Submit(&TaskSpec{Codelet: second, After: []Dependency{e}}))
			}
			must(t, j.Wait(context.Background()))
		}
		if early.Load() != 0 {
			t.Error(early.Load(), "were early")
		}
	})
}

// Tasks without a kernel that could not mean anything are errors.
func TestNowhereErrors(t *testing.T) {
	rt, j := start(t, Options{Workers: 1})
	x := ints(t, rt, make([]int64, 1))
	for _, m := range []iface.AccessMode{iface.W, iface.Scratch} {
		var e *ModeError
		if _, err := j.SubmitWith(&TaskSpec{Operands: ops(m, x)}, TaskOptions{}); !errors.As(err, &e) {
			t.Error(m, err)
		}
	}
	both := &Codelet{Name: "both", CPU: incs.CPU, Traits: &Traits{Nowhere: true}}
	if err := j.Submit(&TaskSpec{Codelet: both}); err == nil {
		t.Error("a codelet with and without a kernel")
	}
	var none *NoImplementationError
	_, with := j.SubmitWith(nil, TaskOptions{Repeat: Forever})
	for _, err := range []error{j.Submit(&TaskSpec{}), j.Submit(nil), with} {
		if !errors.As(err, &none) {
			t.Error(err)
		}
	}
	if err := j.Submit(&TaskSpec{Codelet: &Codelet{Name: "none"}}); !errors.As(err, &none) {
		t.Error(err)
	}
}
