package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

// Circles that go through data: whoever would close one is told, and nothing waits for
// ever.
func TestCircles(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		x, y := ints(t, rt, make([]int64, 1)), ints(t, rt, make([]int64, 1))
		submit := func(after Dependency, o ...Operand) *Task {
			s := &TaskSpec{Codelet: incs, Operands: o}
			if after != nil {
				s.After = []Dependency{after}
			}
			k, err := j.SubmitTask(s)
			must(t, err)
			return k
		}
		refused := func(err error, numbers string, tasks ...*Task) {
			t.Helper()
			var c *CycleError
			if !errors.As(err, &c) || !slices.Equal(c.Tasks, tasks) || !strings.Contains(err.Error(), ": "+numbers+";") {
				t.Errorf("got %v, want the circle %s", err, numbers)
			}
		}

		g := j.NewGate()
		a := submit(g)
		b := submit(a, ops(iface.RW, x)...)
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.R, x, iface.RW, y)}))
		c := submit(nil, ops(iface.RW, y)...)
		refused(a.AddEndDependency(c), "1, 4, 3, 2, 1", a, c, b)
		must(t, a.AddEndDependency(submit(nil, ops(iface.RW, datumOf(t, rt))...)))
		g.Open()
		must(t, j.Wait(context.Background()))

		p := j.NewTask(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, x)}, TaskOptions{})
		b = submit(p, ops(iface.R, x)...)
		refused(p.Submit(), "inc, 6, inc", p, b)
		must(t, j.NewTask(&TaskSpec{Codelet: incs, Operands: ops(iface.R, x)}, TaskOptions{}).Submit())
		j.Cancel(errBoom) // or b would wait for ever
		must(t, j.Wait(context.Background()))

		q := j.NewTask(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, y)}, TaskOptions{})
		p = j.NewTask(&TaskSpec{Codelet: incs, After: []Dependency{q}}, TaskOptions{})
		b = submit(p, ops(iface.RW, y)...)
		must(t, p.Submit())
		refused(q.Submit(), "inc, 8, 9, inc", q, b, p)
		j.Cancel(errBoom)
		must(t, j.Wait(context.Background()))
	})
}

func datumOf(t *testing.T, rt *Runtime) *datamgr.Handle { return ints(t, rt, make([]int64, 1)) }

// A task behind the last round may be the reason why another one, which uses the data
// of the rounds, has to wait: the next round would come behind that one, and wait for
// ever. There is no next round then.
func TestIndirectlyBehindTheLastRound(t *testing.T) {
	everywhere(t, func(t *testing.T, rt *Runtime, j *Job) {
		for _, c := range []struct {
			name         string
			round        iface.AccessMode // of x
			first, other iface.AccessMode // of x, by the task behind the last round and by the one behind that; both write y
			ends         bool
		}{
			{"both write", iface.RW, iface.NoMode, iface.RW, true},
			{"a reader of both", iface.RW, iface.NoMode, iface.R, true},
			{"rounds read, the other writes", iface.R, iface.R, iface.RW, true},
			{"all read", iface.R, iface.R, iface.R, false},
			{"other data", iface.RW, iface.NoMode, iface.NoMode, false},
		} {
			x, y := ints(t, rt, make([]int64, 1)), ints(t, rt, make([]int64, 1))
			uses := func(m iface.AccessMode) []Operand {
				if m == iface.NoMode {
					return ops(iface.RW, y)
				}
				return ops(iface.RW, y, m, x)
			}
			g := j.NewGate()
			k, err := j.SubmitWith(&TaskSpec{Codelet: incs, Operands: ops(c.round, x), After: []Dependency{g}},
				TaskOptions{Repeat: func(k *Task) bool { return k.Rounds() < 3 }})
			must(t, err)
			first, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: uses(c.first), After: []Dependency{k}})
			must(t, err)
			other, err := j.SubmitTask(&TaskSpec{Codelet: incs, Operands: uses(c.other)})
			must(t, err)
			g.Open()
			must(t, j.Wait(context.Background()))
			var rep *RepeatError
			if err := k.Err(); errors.As(err, &rep) != c.ends || err != nil && !strings.Contains(err.Error(), "another round") {
				t.Errorf("%s: %v", c.name, err)
			}
			if n := map[bool]int64{true: 1, false: 3}[c.ends]; k.Rounds() != n {
				t.Errorf("%s: %d rounds, want %d", c.name, k.Rounds(), n)
			}
			if (first.Err() != nil) != c.ends || (other.Err() != nil) != c.ends {
				t.Errorf("%s: %v, %v", c.name, first.Err(), other.Err())
			}
		}
	})
}
