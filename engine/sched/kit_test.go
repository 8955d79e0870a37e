package sched_test

import (
	"testing"

	"github.com/starpush/starpush/engine/sched"
	"github.com/starpush/starpush/engine/sched/schedtest"
)

func TestPolicies(t *testing.T) {
	for _, e := range sched.Table() {
		t.Run(e.Name, func(t *testing.T) { schedtest.Run(t, e.New, e.Priorities) })
	}
}
