package sched_test

import (
	"sync/atomic"
	"testing"

	"github.com/starpush/starpush/engine/sched"
	"github.com/starpush/starpush/engine/sched/schedtest"
)

func TestPolicies(t *testing.T) {
	for _, e := range sched.Table() {
		t.Run(e.Name, func(t *testing.T) { schedtest.Run(t, e.New, e.Priorities) })
	}
}

// TestLongTasks: lws while tasks seem to take long, when it looks at their data, if
// there is any: without, it keeps to the order.
func TestLongTasks(t *testing.T) {
	e, err := sched.Parse("lws")
	if err != nil {
		t.Fatal(err)
	}
	long := func(m sched.Machine) sched.Machine {
		var now atomic.Int64
		m.Now = func() float64 { return float64(now.Add(1)) }
		return m
	}
	t.Run("Data", func(t *testing.T) {
		schedtest.Run(t, func(m sched.Machine) sched.Policy {
			m.Data = func(it *sched.Item, visit func(id, bytes int64)) {
				visit(it.Order%5, 1<<16)
				visit(5+it.Order%7, 1<<16)
			}
			return e.New(long(m))
		})
	})
	t.Run("NoData", func(t *testing.T) {
		schedtest.Run(t, func(m sched.Machine) sched.Policy { return e.New(long(m)) }, e.Priorities)
	})
}
