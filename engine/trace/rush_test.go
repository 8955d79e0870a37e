package trace_test

import (
	"strings"
	"testing"
	"time"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// rush reports the end of n tasks to the Recent of s, one every while.
func (s *session) rush(first int64, n int, every time.Duration) {
	c := &engine.Codelet{Name: "c"}
	at := time.Unix(0, 0)
	for id := first; id < first+int64(n); id++ {
		at = at.Add(every)
		for _, k := range []engine.EventKind{engine.TaskSubmitted, engine.TaskStarted, engine.TaskDone} {
			s.rec.TaskEvent(&engine.Event{Kind: k, Time: at, Job: s.job, ID: id, Codelet: c, Origin: engine.Origin{Site: sites[1]}})
		}
	}
}

// In a rush a Recent stops to listen, unless it is to hear all; at the next entry it
// listens again.
func TestRush(t *testing.T) {
	for _, tt := range []struct {
		name  string
		all   bool
		every time.Duration
		deaf  bool
	}{{"fast", false, time.Microsecond, true}, {"slow", false, time.Millisecond, false}, {"all", true, time.Microsecond, false}} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSession(t, engine.Options{Workers: 1})
			rt := s.rt
			if tt.all {
				rt = nil
			}
			s.rec.Attend(rt)
			s.rush(1, 1000, tt.every)
			if _, missed := s.rec.Left(); missed != tt.deaf {
				t.Fatalf("missed %v, want %v", missed, tt.deaf)
			}
			if s.rt.Mute() == tt.deaf { // it is muted, and cannot be again
				t.Errorf("the runtime is not as it should be")
			}
			s.rt.Unmute()
			s.rec.Attend(rt)
			s.insert(t, 7, &engine.Codelet{Name: "heard", CPU: []engine.Impl{nothing}}, s.x)
			s.wait(t)
			if text := s.rec.Tasks(s.rt, nil, anyTime); !strings.Contains(text, "done  heard, task 1") {
				t.Errorf("after the rush:\n%s", text)
			}
		})
	}
}

// TestRushForgets: tasks that had not ended when the rush began are forgotten, because
// their end was not recorded.
func TestRushForgets(t *testing.T) {
	s := newSession(t, engine.Options{Workers: 1})
	s.rec.Attend(s.rt)
	g := s.job.NewGate()
	s.insert(t, 1, &engine.Codelet{Name: "late", CPU: []engine.Impl{nothing}}, s.part[0], g)
	if n, missed := s.rec.Left(); n != 1 || missed {
		t.Fatalf("%d tasks left, missed %v", n, missed)
	}
	s.rush(100, 200, time.Microsecond)
	g.Open()
	s.wait(t)
	s.rec.Attend(s.rt)
	if n, missed := s.rec.Left(); n != 0 || !missed {
		t.Errorf("%d tasks left, missed %v", n, missed)
	}
	if _, err := s.rec.Explain(s.rt, 1, anyTime); err == nil {
		t.Error("a task whose end was not recorded is still known")
	}
}

func TestTasks(t *testing.T) {
	s := newSession(t, engine.Options{Workers: 1})
	same(t, s.rec.Tasks(s.rt, nil, anyTime), "")
	set := &engine.Codelet{Name: "set", CPU: []engine.Impl{nothing}}
	for _, p := range s.part {
		s.insert(t, 1, set, p)
	}
	s.wait(t)
	a, err := s.job.Acquire(t.Context(), s.part[0], iface.RW, sites[2])
	if err != nil {
		t.Fatal(err)
	}
	g := s.job.NewGate()
	s.insert(t, 3, set, s.part[0])
	s.insert(t, 3, set, s.part[0])
	s.insert(t, 4, set, s.part[1], g)
	s.insert(t, 5, set, s.part[1])
	same(t, s.rec.Tasks(s.rt, nil, anyTime), `  done     set, 4 tasks from 1  s.spu:1  T each
  waiting  set, 2 tasks from 5  s.spu:3  for x[0], which the script holds
  waiting  set, task 7          s.spu:4  for a gate that is closed
  waiting  set, task 8          s.spu:5  for x[1], which task 7, set has
`)
	same(t, s.rec.Tasks(s.rt, func(codelet, state string) bool { return state == "waiting" && codelet == "other" }, anyTime), "")
	same(t, s.rec.Pending(s.rt, s.part[1], anyTime), `  waiting  set, task 7  s.spu:4  for a gate that is closed
  waiting  set, task 8  s.spu:5  for x[1], which task 7, set has
`)
	same(t, s.rec.Pending(s.rt, s.part[2], anyTime), "")
	g.Open()
	if err := a.Release(); err != nil {
		t.Fatal(err)
	}
	s.wait(t)
	same(t, s.rec.Pending(s.rt, s.x, anyTime), "")
	// thousands of lines are not shown
	other := &engine.Codelet{Name: "other", CPU: []engine.Impl{nothing}}
	for range 1000 {
		s.insert(t, 6, set, s.part[2])
		s.insert(t, 7, other, s.part[2])
	}
	s.wait(t)
	if text := s.rec.Tasks(s.rt, nil, anyTime); strings.Count(text, "\n") != 41 || !strings.Contains(text, "other, task 2008") || !strings.Contains(text, "  1964 lines before these\n") {
		t.Error(text)
	}
}
