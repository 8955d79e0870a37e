package cli

import (
	"strings"
	"testing"

	"github.com/starpush/starpush/engine/simulate"
)

// TestSimRegret: a regret of some hundred per cent says nothing, and what the bound leaves out is named instead.
func TestSimRegret(t *testing.T) {
	for _, c := range []struct {
		have, bound float64
		rough       bool
		want        string
	}{
		{1, 0, false, "not known"}, {1.25, 1, false, "25.0 %"}, {1.25, 1, true, "25 %"}, {4, 1, false, "300.0 %"}, {4.5, 1, true, "above 300 %"}, {200, 1, false, "above 300 %"},
	} {
		if got := regretText(c.have, c.bound, c.rough); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
	workers := func(waiting float64) []simulate.WorkerResult {
		return []simulate.WorkerResult{{Waiting: waiting}, {Waiting: waiting}}
	}
	for _, c := range []struct {
		r    simulate.Result
		want string
	}{
		{simulate.Result{Seconds: 10, Script: 9, Workers: workers(1)}, "the script submits tasks, wakes workers and reads values for 90 % of it"},
		{simulate.Result{Seconds: 10, Script: 1, Workers: workers(6)}, "workers wait for data for 60 % of it"},
		{simulate.Result{Seconds: 10, Script: 1, Workers: workers(1), Messages: 3}, "workers wait for messages, for data, to be woken, and for the script"},
		{simulate.Result{Seconds: 10, Script: 1, Workers: workers(1)}, "workers wait for data, to be woken, and for the script"},
	} {
		if got := leftOut(&c.r); got != c.want {
			t.Errorf("%+v: %q", c.r, got)
		}
	}
}

// TestSimRough: times that rest on estimates have two digits, and those of measured kernels three.
func TestSimRough(t *testing.T) {
	measured := &simulate.Result{Tasks: 10, Seconds: 8.357}
	rough := &simulate.Result{Tasks: 10, Seconds: 8.357, Estimated: []simulate.Estimated{{Codelet: "a", Tasks: 10}}}
	for _, c := range []struct {
		r         *simulate.Result
		s         float64
		want, per string
	}{
		{measured, 8.357, "8.36 s", "1"}, {rough, 8.357, "about 8.4 s", "1"}, {rough, 0.0943, "about 94 ms", "1"}, {rough, 0.137e-3, "about 140 µs", "1"}, {rough, 7.04, "about 7.0 s", "1"}, {rough, 0, "0", "1"},
	} {
		if got := secondsOf(c.r)(c.s); got != c.want {
			t.Errorf("%v: %q, want %q", c.s, got, c.want)
		}
		if got := tasksEach(c.r); got != c.per {
			t.Errorf("%s tasks/s", got)
		}
	}
}

// TestSimUnsteady: a measurement whose rounds differ much is said to be off, and others are not.
func TestSimUnsteady(t *testing.T) {
	for unsteady, want := range map[float64]string{0: "", 1: "", 1.5: "", 1.6: "up to 1.6 times", 40: "up to 40.0 times"} {
		got := unsteadyText(&simulate.Machine{Unsteady: unsteady})
		if (got == "") != (want == "") || !strings.Contains(got, want) || strings.Contains(got, "\n") {
			t.Errorf("%v: %q", unsteady, got)
		}
	}
}
