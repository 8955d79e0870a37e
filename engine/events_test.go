package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

func TestEventsOfATask(t *testing.T) {
	for _, o := range configs {
		log := &Journal{}
		o.Listener = log
		rt, j := start(t, o)
		h := ints(t, rt, make([]int64, 1))
		must(t, rt.SetReduction(h, datamgr.SumReduction()))
		site := &Site{File: "e.spu", Line: 4}
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.Redux, h), Name: "n", Color: 3, Origin: Origin{Site: site}}))
		must(t, j.Submit(&TaskSpec{Codelet: bad, Operands: ops(iface.RW, h)}))
		must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h)}))
		must(t, j.Invalidate(h))
		must(t, j.Unregister(h))
		must(t, j.Wait(context.Background()))
		j.Failures()
		var got []string
		for _, e := range log.Entries() {
			got = append(got, fmt.Sprintf("%v %d%s", e.Kind, e.ID, e.Internal))
			if e.ID == 1 && (e.Name != "n" || e.Color != 3 || e.Origin.Site != site || e.Codelet != incs || len(e.Operands) != 1) {
				t.Errorf("%+v", e.Event)
			}
			if e.Kind == TaskFailed && !errors.Is(e.Err, errBoom) {
				t.Error(e.Err)
			}
		}
		slices.Sort(got)
		want := "cancelled 3, done -1reduce, done -2invalidate, done -3unregister, done 1, failed 2, started -1reduce, started 1, started 2, " +
			"submitted -1reduce, submitted -2invalidate, submitted -3unregister, submitted 1, submitted 2, submitted 3"
		if s := strings.Join(got, ", "); s != want {
			t.Error(s)
		}
	}
}

// The journal notices what it is there to notice.
func TestJournalCheck(t *testing.T) {
	rt, job := start(t, Options{Workers: 1})
	h := ints(t, rt, make([]int64, 1))
	at := func(m iface.AccessMode, unordered bool) []Operand {
		return []Operand{{Handle: h, Mode: m, Unordered: unordered}}
	}
	kinds := map[byte]EventKind{'s': TaskSubmitted, 'b': TaskStarted, 'e': TaskDone, 'c': TaskCancelled, 'x': TaskCancelled}
	for name, c := range map[string]struct {
		a, b   []Operand
		events string // s1 submitted, b1 began, e1 ended, c1 was cancelled where it began, x1 elsewhere; 1, 3 and 5 have the operands a, 2 and 4 have b; 3 and 4 are in the sub-graph of 1
		ok     bool
	}{
		"in order":               {at(iface.RW, false), at(iface.R, false), "s1 s2 b1 e1 b2 e2", true},
		"too early":              {at(iface.RW, false), at(iface.R, false), "s1 s2 b1 b2 e1 e2", false},
		"turned round":           {at(iface.R, false), at(iface.W, false), "s1 s2 b2 e2 b1 e1", false},
		"readers together":       {at(iface.R, false), at(iface.R, false), "s1 s2 b2 b1 e1 e2", true},
		"commuters turned round": {at(iface.Commute, false), at(iface.Commute, false), "s1 s2 b2 e2 b1 e1", true},
		"commuters together":     {at(iface.Commute, false), at(iface.Commute, false), "s1 s2 b2 b1 e2 e1", false},
		"unordered together":     {at(iface.RW, true), at(iface.R, false), "s1 s2 b2 b1 e2 e1", false},
		"unordered turned round": {at(iface.RW, true), at(iface.R, false), "s1 s2 b2 e2 b1 e1", true},
		"no sub-graph between":   {at(iface.RW, false), at(iface.RW, false), "s1 s2 b1 e1 s3 b3 e3 b2 e2", true},
		"into a sub-graph":       {at(iface.RW, false), at(iface.RW, false), "s1 s2 b1 e1 s3 b2 e2 b3 e3", false},
		"in a sub-graph":         {at(iface.R, false), at(iface.W, false), "s1 b1 e1 s3 s4 b4 e4 b3 e3", false},
		"the last of several":    {at(iface.R, false), at(iface.W, false), "s1 s5 s2 b1 b5 e5 b2 e1 e2", false},
		"several":                {at(iface.R, false), at(iface.W, false), "s1 s5 s2 b1 b5 e5 e1 b2 e2", true},
		"one of several":         {at(iface.Commute, false), at(iface.Commute, false), "s1 s5 s2 b1 e1 b2 b5 e2 e5", false},
		"never ended":            {at(iface.Commute, false), at(iface.Commute, false), "s1 s2 b1 b2", false},
		"given back":             {at(iface.Commute, false), at(iface.Commute, false), "s1 s2 b1 b2 e2 x1", true},
		"not given back":         {at(iface.Commute, false), at(iface.Commute, false), "s1 s2 b1 b2 e2 c1", false},
		"scratch":                {at(iface.Scratch, false), at(iface.RW, false), "s1 s2 b2 b1 e2 e1", true},
		"twice":                  {at(iface.R, false), at(iface.R, false), "s1 s2 b1 b1 e1", false},
		"from nowhere":           {at(iface.R, false), at(iface.R, false), "b1 s1 e1", false},
	} {
		var j Journal
		for _, e := range strings.Fields(c.events) {
			ev := Event{Job: job, ID: int64(e[1] - '0'), Kind: kinds[e[0]], Codelet: incs, Operands: c.a}
			if e[0] == 'x' {
				ev.Worker = 1
			}
			if ev.ID%2 == 0 {
				ev.Operands = c.b
			}
			if ev.ID == 3 || ev.ID == 4 {
				ev.Parent = 1
			}
			j.TaskEvent(&ev)
		}
		if err := j.Check(); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type panics struct{}

func (panics) TaskEvent(*Event) { panic("listener") }

// Nothing that the program supplies takes the runtime down.
func TestPanicsOfCallbacks(t *testing.T) {
	rt, j := start(t, Options{Workers: 2, Listener: panics{}})
	h := ints(t, rt, make([]int64, 1))
	must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h)}))
	must(t, j.AcquireFunc(h, iface.RW, func(a *Access, err error) { panic("callback") }))
	readable(t, j, h, 1)
	fs := j.Failures()
	var p *PanicError
	if len(fs) != 1 || !errors.As(fs[0], &p) || p.Value != "callback" {
		t.Error(fs)
	}
	must(t, j.AcquireFunc(h, iface.R, func(*Access, error) {})) // released although the callback forgets it
	must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h)}))
	readable(t, j, h, 2)
}

func TestFlops(t *testing.T) {
	rt, _ := start(t, Options{Workers: 1})
	j := rt.NewJob(context.Background(), JobOptions{Stats: true})
	defer j.Close()
	h := ints(t, rt, make([]int64, 3))
	c := &Codelet{Name: "c", CPU: nop.CPU, Flops: func(ops []iface.Desc, args []iface.Scalar) float64 {
		return float64(ops[0].Dim[0]) * args[0].Float()
	}}
	args := []iface.Scalar{iface.Float(2)}
	must(t, j.Submit(&TaskSpec{Codelet: c, Operands: ops(iface.RW, h), Args: args}))
	must(t, j.Submit(&TaskSpec{Codelet: c, Operands: ops(iface.RW, h), Args: args, Flops: 100}))
	must(t, j.Submit(&TaskSpec{Codelet: c})) // the estimate panics
	must(t, j.Wait(context.Background()))
	if s := j.Stats(); s.Codelets[0].Flops != 106 || s.Failed != 0 {
		t.Errorf("%+v", s)
	}
}

// A live task with three operands fits 256 bytes, besides its epochs.
func TestSizeOfATask(t *testing.T) {
	if n := unsafe.Sizeof(task{}); n > 256 {
		t.Errorf("a task has %d bytes", n)
	}
}

// The listener of a job hears of that job and of no other, with and without one of
// the runtime, until the job is closed.
func TestJobListener(t *testing.T) {
	for _, o := range configs {
		for _, all := range []*Journal{nil, {}} {
			for _, profile := range []bool{false, true} {
				o.Profile = profile
				if all != nil {
					o.Listener = all
				}
				rt, quiet := start(t, o)
				own := &Journal{}
				j := rt.NewJob(context.Background(), JobOptions{Listener: own})
				h := ints(t, rt, make([]int64, 1))
				must(t, quiet.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h)}))
				must(t, j.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h), Name: "n"}))
				must(t, quiet.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h)}))
				must(t, quiet.Wait(context.Background()))
				must(t, j.Close())
				must(t, quiet.Submit(&TaskSpec{Codelet: incs, Operands: ops(iface.RW, h)}))
				must(t, quiet.Wait(context.Background()))
				var got []string
				for _, e := range own.Entries() {
					got = append(got, fmt.Sprint(e.Kind, " ", e.Name))
				}
				if s := strings.Join(got, ", "); s != "submitted n, started n, done n" {
					t.Errorf("the job's listener: %s", s)
				}
				if all != nil {
					if n := len(all.Entries()); n < 12 {
						t.Errorf("the runtime's listener heard of %d events", n)
					}
				}
				if all == nil && !profile && rt.hasListeners() {
					t.Error("somebody still listens")
				}
			}
		}
	}
}

// eachEnd is called for each task that is done, and returns.
type eachEnd func(*Event)

func (f eachEnd) TaskEvent(e *Event) {
	if e.Kind == TaskDone {
		f(e)
	}
}

// Listeners learn which workers may run a task, and what work it is.
func TestEventAllowsAndFlops(t *testing.T) {
	var mu sync.Mutex
	said := map[string]string{}
	var kept *Event
	_, j := start(t, Options{Workers: 3, Listener: eachEnd(func(e *Event) {
		mu.Lock()
		defer mu.Unlock()
		text := fmt.Sprint(e.Flops(), ":")
		for w := -1; w < 4; w++ {
			if e.Allows(w) {
				text += fmt.Sprint(" ", w)
			}
		}
		said[e.Name], kept = text, e
	})})
	nothing := []Impl{func(*TaskContext) error { return nil }}
	work := &Codelet{Name: "work", CPU: nothing, Flops: func([]iface.Desc, []iface.Scalar) float64 { return 7 }}
	bounded := &Codelet{Name: "bounded", CPU: nothing, Bounded: true, Flops: work.Flops}
	panics := &Codelet{Name: "bad", CPU: nothing, Flops: func([]iface.Desc, []iface.Scalar) float64 { panic("no") }}
	for _, s := range []*TaskSpec{{Codelet: work, Name: "all"}, {Codelet: work, Name: "some", Workers: []int{0, 2}, Flops: 9}, {Codelet: panics, Name: "bad", Workers: []int{1}},
		{Codelet: bounded, Name: "bounded"}, {Codelet: &Codelet{Name: "worse", CPU: nothing, Bounded: true, Flops: panics.Flops}, Name: "worse"}} {
		if err := j.Submit(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"all": "7: 0 1 2", "some": "9: 0 2", "bad": "0: 1", "bounded": "7: 0 1 2", "worse": "0: 0 1 2"}; !maps.Equal(said, want) {
		t.Errorf("%v, want %v", said, want)
	}
	if kept.Allows(0) || kept.Flops() != 0 {
		t.Error("an event that was kept answers")
	}
}

// TestMuteWhileListening: Mute may be called by any goroutine at any time, also while the
// listener changes.
func TestMuteWhileListening(t *testing.T) {
	rt, _ := start(t, Options{Workers: 1, Listener: new(Journal)})
	done := make(chan bool)
	go func() {
		defer close(done)
		for range 1000 {
			rt.Mute()
			rt.Unmute()
		}
	}()
	for range 1000 {
		must(t, rt.Listen(nil))
		must(t, rt.Listen(new(Journal)))
	}
	<-done
	if !rt.Mute() || rt.Mute() {
		t.Error("a runtime with a listener can be muted once")
	}
	must(t, rt.Listen(nil))
	if rt.Mute() {
		t.Error("muted a runtime without a listener")
	}
}

// retryNotes counts events of tasks and of kernels that run again; wild ones end in the most unpleasant way.
type retryNotes struct {
	mu     sync.Mutex
	events map[EventKind]int
	again  []RetryEvent
	wild   bool
}

func (n *retryNotes) TaskEvent(e *Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if e.Internal == "" {
		n.events[e.Kind]++
	}
}

func (n *retryNotes) RetryEvent(e *RetryEvent) {
	n.mu.Lock()
	n.again = append(n.again, *e)
	n.mu.Unlock()
	switch {
	case n.wild && e.Runs == 1:
		panic("in a listener")
	case n.wild:
		runtime.Goexit()
	}
}

// TestRetryEvents: each run of a kernel but the last is an event for the listeners of the runtime and of the job; what they do there harms no task.
func TestRetryEvents(t *testing.T) {
	for _, o := range []Options{{Workers: 2}, {Sequential: true}} {
		all, own := &retryNotes{events: map[EventKind]int{}}, &retryNotes{events: map[EventKind]int{}, wild: true}
		o.Listener = all
		rt, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		j := rt.NewJob(t.Context(), JobOptions{Listener: own})
		h, err := rt.RegisterFilled(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{4}}, func(*iface.Buffer) error { return nil })
		must(t, err)
		flaky := errors.New("once more")
		runs := 0
		some := &Codelet{Name: "some", CPU: []Impl{func(*TaskContext) error {
			if runs++; runs%3 != 0 {
				return flaky
			}
			return nil
		}}}
		never := &Codelet{Name: "never", CPU: []Impl{func(*TaskContext) error { return flaky }}}
		spec := func(c *Codelet) *TaskSpec {
			return &TaskSpec{Codelet: c, Operands: []Operand{{Handle: h, Mode: iface.RW}}}
		}
		for range 2 {
			_, err := j.SubmitWith(spec(some), TaskOptions{Retry: 5})
			must(t, err)
		}
		failed, err := j.SubmitWith(spec(never), TaskOptions{Retry: 1})
		must(t, err)
		_ = j.Wait(t.Context())
		for _, n := range []*retryNotes{all, own} {
			got := map[int64][]int{}
			for _, e := range n.again {
				got[e.ID] = append(got[e.ID], e.Runs)
				if e.Job != j || e.Time.IsZero() || !errors.Is(e.Err, flaky) || e.Worker < 0 && !o.Sequential {
					t.Errorf("%+v", e)
				}
			}
			want := map[int64][]int{1: {1, 2}, 2: {1, 2}, failed.ID(): {1}}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("runs that failed, by task: %v, want %v", got, want)
			}
			if n.events[TaskDone] != 2 || n.events[TaskFailed] != 1 || n.events[TaskStarted] != 3 {
				t.Errorf("other events: %v", n.events)
			}
		}
		_ = j.Close()
		must(t, rt.Close())
	}
}
