package lang_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/sim"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/enginetest"
	"github.com/starpush/starpush/lang"
)

const eventScript = `
extern x: vector[f64]
codelet inc(v: RW vector[f64]) { each i in v { v[i] += 1.0 } }
codelet bad(v: RW vector[f64], at: int) { v[at] = 1.0 }
func step(n: int) { for k in 0..n { insert inc(RW x) with name = "up" } }
func fail() {
    insert bad(RW x, 99)
    insert inc(RW x)
    wait
}
step(2)
print("two", x.n)
`

// eventLog collects events.
type eventLog struct {
	mu     sync.Mutex
	events []lang.Event
}

func (l *eventLog) add(e lang.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}

func (l *eventLog) all() []lang.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events)
}

func TestEvents(t *testing.T) {
	p := compile(t, lang.Config{}, eventScript)
	for _, m := range machines() {
		t.Run(m.name, func(t *testing.T) {
			rt := newRuntime(t, m.opt)
			var log, none eventLog
			var out bytes.Buffer
			other, err := p.Run(context.Background(), rt, lang.Bind("x", lang.VectorOf(make([]float64, 4))), lang.Stdout(&out), lang.OnEvent(none.add))
			if err != nil {
				t.Fatal(err)
			}
			if err := other.Close(); err != nil {
				t.Fatal(err)
			}
			before := len(none.all())
			inst, err := p.Run(context.Background(), rt, lang.Bind("x", lang.VectorOf(make([]float64, 4))), lang.Stdout(&out),
				lang.OnEvent(none.add), nil, lang.OnEvent(log.add))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := inst.Call(context.Background(), "fail"); err == nil {
				t.Fatal("fail did not")
			}
			inst.Close()
			var got []string
			for _, e := range log.all() {
				if e.Task < 0 { // what the engine does by itself
					continue
				}
				got = append(got, fmt.Sprint(e.Kind, " ", e.Task, " ", e.Codelet, " ", e.Name, " ", e.Span.Start.Line))
				switch e.Kind {
				case lang.Print:
					if e.Text != "two 4" || e.Span.Start.Line != 12 {
						t.Errorf("%+v", e)
					}
				case lang.TaskStarted, lang.TaskDone, lang.TaskFailed:
					if e.Worker == "" {
						t.Errorf("%+v", e)
					}
				case lang.Problem:
					var d *lang.Diagnostic
					if !errors.As(e.Err, &d) || d.Code != "R0101" && d.Code != "R0105" {
						t.Errorf("%+v", e)
					}
				}
				if e.Kind == lang.TaskFailed && e.Err == nil || e.Missed != 0 || e.Time.IsZero() {
					t.Errorf("%+v", e)
				}
				if e.Done > e.Total {
					t.Errorf("%d of %d tasks: %+v", e.Done, e.Total, e)
				}
			}
			if last := log.all()[len(log.all())-1]; last.Done != 4 || last.Total != 4 {
				t.Errorf("at the end %d of %d tasks", last.Done, last.Total)
			}
			order := func(a, b string) {
				t.Helper()
				i, j := slices.Index(got, a), slices.Index(got, b)
				if i < 0 || j < 0 || i > j {
					t.Errorf("%q is not before %q in %q", a, b, got)
				}
			}
			order("submitted 1 inc up 5", "started 1 inc up 5")
			order("started 1 inc up 5", "done 1 inc up 5")
			order("done 1 inc up 5", "started 2 inc up 5")
			order("done 2 inc up 5", "started 3 bad  7")
			order("failed 3 bad  7", "cancelled 4 inc  8")
			if n := len(none.all()); n != before {
				t.Errorf("events of another run: %d", n-before)
			}
		})
	}
}

// A listener that blocks, panics or ends its goroutine changes nothing for the run.
func TestEventsOfBadListeners(t *testing.T) {
	p := compile(t, lang.Config{}, eventScript)
	rt := newRuntime(t, engine.Options{Workers: 2})
	run := func(fn func(lang.Event), n int) {
		t.Helper()
		inst, err := p.Run(context.Background(), rt, lang.Bind("x", lang.VectorOf(make([]float64, 4))), lang.Stdout(new(bytes.Buffer)), lang.OnEvent(fn))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := inst.Call(context.Background(), "step", n); err != nil {
			t.Fatal(err)
		}
		if err := inst.Wait(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := inst.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var calls atomic.Int64
	run(func(lang.Event) { calls.Add(1); panic("no") }, 10)
	if n := calls.Load(); n < 12*3 {
		t.Errorf("%d calls of a listener that panics", n)
	}
	calls.Store(0)
	run(func(lang.Event) { calls.Add(1); runtime.Goexit() }, 10)
	if n := calls.Load(); n < 12*3 {
		t.Errorf("%d calls of a listener that ends its goroutine", n)
	}

	// one that stays in its first call, until the run is over and closed
	calls.Store(0)
	free := make(chan struct{})
	left := make(chan struct{})
	run(func(lang.Event) { calls.Add(1); <-free; close(left) }, 10_000)
	if n := calls.Load(); n != 1 {
		t.Errorf("%d calls of a listener that does not return", n)
	}
	close(free)
	<-left
	if n := calls.Load(); n != 1 {
		t.Errorf("%d calls after Close", n)
	}
}

// Events that a slow host cannot take are counted, and later ones come.
func TestEventsMissed(t *testing.T) {
	p := compile(t, lang.Config{}, eventScript)
	rt := newRuntime(t, engine.Options{Workers: 1})
	free := make(chan struct{})
	var log eventLog
	inst, err := p.Run(context.Background(), rt, lang.Bind("x", lang.VectorOf(make([]float64, 1))), lang.Stdout(new(bytes.Buffer)),
		lang.OnEvent(func(e lang.Event) { <-free; log.add(e) }))
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if _, err := inst.Call(ctx, "step", 20_000); err != nil {
		t.Fatal(err)
	}
	if err := inst.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	close(free)
	enginetest.Eventually(t, "there is room for events again", func() bool { return len(log.all()) >= 1<<14 })
	if _, err := inst.Call(ctx, "step", 1); err != nil {
		t.Fatal(err)
	}
	if err := inst.Close(); err != nil {
		t.Fatal(err)
	}
	events, missed, tasks := log.all(), int64(0), int64(0)
	for _, e := range events {
		missed += e.Missed
		if e.Task > 0 {
			tasks++
		}
	}
	last := events[len(events)-1]
	if missed == 0 || last.Done != 20_003 || last.Total != 20_003 {
		t.Errorf("%d missed; at the end %d of %d tasks", missed, last.Done, last.Total)
	}
	if tasks+missed < 3*20_003 {
		t.Errorf("%d events of tasks and %d missed of %d", tasks, missed, 3*20_003)
	}
}

// TestTransferEvents: a transfer is reported to the run that owns the data, including the
// copy home.
func TestTransferEvents(t *testing.T) {
	d, err := sim.New(sim.Options{Capacity: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	rt := newRuntime(t, engine.Options{Workers: 1, Devices: []accel.Device{foreign{d}}})
	src := "extern x: vector[f64]\nextern codelet inc(v: RW vector[f64])\nfunc go() { insert inc(RW x) with where = opencl }\n"
	inc := lang.Must(lang.NewCodelet("inc(v: RW vector[f64])", lang.On("opencl", func(*lang.Task, accel.Stream) error { return nil })))
	p := compile(t, lang.Config{Codelets: []*lang.Codelet{inc}}, src)
	start := func() (*lang.Instance, *eventLog) {
		log := &eventLog{}
		inst, err := p.Run(context.Background(), rt, lang.Bind("x", lang.VectorOf(make([]float64, 8))), lang.OnEvent(log.add))
		if err != nil {
			t.Fatal(err)
		}
		return inst, log
	}
	idle, quiet := start()
	busy, log := start()
	if _, err := busy.Call(context.Background(), "go"); err != nil {
		t.Fatal(err)
	}
	if err := busy.Close(); err != nil {
		t.Fatal(err)
	}
	if err := idle.Close(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range log.all() {
		if e.Kind == lang.Transfer {
			got = append(got, fmt.Sprintf("%s %d %s-%s", e.Data, e.Bytes, e.From, e.To))
		}
	}
	node := rt.Nodes()[1].Name
	if s, want := strings.Join(got, ", "), fmt.Sprintf("x 64 ram-%s, x 64 %s-ram", node, node); s != want {
		t.Errorf("transfers %q, want %q", s, want)
	}
	for _, e := range quiet.all() {
		if e.Kind == lang.Transfer {
			t.Errorf("a transfer of another run: %+v", e)
		}
	}
}

// TestProblemEvents: a problem is reported as an event before it is returned, in a
// session for every entry.
func TestProblemEvents(t *testing.T) {
	rt := newRuntime(t, engine.Options{Workers: 1})
	var log eventLog
	p := compile(t, lang.Config{}, "param n: int\nprint(n)\n")
	if _, err := p.Run(context.Background(), rt, lang.OnEvent(log.add)); err == nil {
		t.Fatal("no error")
	}
	if es := log.all(); len(es) != 1 || es[0].Kind != lang.Problem || !strings.Contains(es[0].Err.Error(), "E0704") {
		t.Errorf("%+v", es)
	}
	comp := lang.Must(lang.NewCompiler(lang.Config{}))
	var ses eventLog
	s := comp.NewSession(rt, lang.OnEvent(ses.add), lang.Stdout(new(bytes.Buffer)))
	for _, entry := range []string{"print(1)", "let a = 0", "print(1 // a)", "print(2)"} {
		s.Eval(context.Background(), entry)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range ses.all() {
		got = append(got, fmt.Sprint(e.Kind, " ", e.Text))
		if e.Kind == lang.Problem && !strings.Contains(e.Err.Error(), "R0103") {
			t.Error(e.Err)
		}
	}
	if s := strings.Join(got, ", "); s != "print 1, problem , print 2" {
		t.Error(s)
	}
}
