// Package trace records what a runtime did: each task with its times, each copy, how much
// memory was in use. A [Recorder] is a listener; [Recorder.Run] returns the record,
// [WriteChrome] writes it for Perfetto, [WriteReport] as a page to read:
//
//	var rec trace.Recorder
//	rt, err := engine.New(engine.Options{Profile: true, Listener: &rec})
//	…                                                // jobs, until nothing runs
//	run := rec.Run("cholesky")                       // before rt is closed
//	err = trace.WriteReport(file, run, nil)
//
// A Recorder keeps everything, some hundred bytes a task. A [Recent] keeps the last tasks
// of one job, and answers questions about them while it goes on.
//
// Times are seconds since the runtime was made; tasks are indices of Run.Graph.Tasks,
// memories are indices of Run.Graph.Nodes, where index 0 is main memory. Recorders are
// safe for concurrent use; a Run does not change.
package trace

import (
	"sync"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/cluster"
	"github.com/starpush/starpush/engine/graph"
)

// Recorder is an engine.Listener that keeps everything: for runs that people look at.
// The runtime needs Options.Profile. The zero value is ready to use, for one runtime.
type Recorder struct {
	mu struct {
		sync.Mutex
		g      *graph.Recorder
		rt     *engine.Runtime
		tasks  []Times
		copies []Copy
		memory []Memory
		last   []int64 // by node: the memory noted last
		views  []view
		may    map[string][]int // lists of workers, by what they hold
	}
}

type view struct {
	parts []*datamgr.Handle
	name  func(k int) string
}

// Times are the life of a task, in seconds since the runtime was made; 0 for what did
// not happen.
type Times struct {
	Worker    int   // -1: none; of a parallel task the one that leads it
	Gang      []int // all workers of a parallel task, Worker first; nil: it has one
	Submitted float64
	Ready     float64
	Popped    float64
	Data      float64 // its data was ready
	Started   float64
	Ended     float64
	State     string // "done", "failed", "cancelled"; "" if it never ended
	Err       string
	Workers   []int   // that may run it, ascending; nil: all. Shared between tasks
	Flops     float64 // its work; 0: not known
	Variant   string  // see engine.Event
	Retries   []Retry // when its kernel was about to run again
}

// Retry is a kernel that returned an error and ran again.
type Retry struct {
	Time float64 // seconds
	Err  string
}

// Copy is a copy between memories.
type Copy struct {
	From, To   int     // memory nodes
	Bytes      int64   // those that failed are left out
	Data       string  // what the data is called, "" if it has no name; "private copies" for private memory
	Begin, End float64 // seconds
}

// Memory is the allocated size of a memory from some time on.
type Memory struct {
	Time  float64 // seconds
	Node  int
	Bytes int64
}

// Run is the record of a run.
type Run struct {
	Graph   *graph.Graph
	Tasks   []Times // by task of the graph
	Copies  []Copy
	Memory  []Memory
	Seconds float64  // when the last thing ended
	Advice  []string // what could be done better, for the report
	// Ranks are the figures of all ranks, of a run on several, for the report; nil: there is one. Tasks, copies and memory are those of this rank.
	Ranks *cluster.Report
}

// AlwaysReturns says that the methods do: they are called without a goroutine of
// their own.
func (r *Recorder) AlwaysReturns() {}

// View says what the parts of a view are called; see lang.ObserveViews.
func (r *Recorder) View(parts []*datamgr.Handle, name func(k int) string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.g != nil {
		r.mu.g.View(parts, name)
		return
	}
	r.mu.views = append(r.mu.views, view{parts, name})
}

// TaskEvent implements engine.Listener.
func (r *Recorder) TaskEvent(e *engine.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.g == nil {
		r.mu.rt = e.Job.Runtime()
		r.mu.g = graph.NewRecorder(nil)
		for _, v := range r.mu.views {
			r.mu.g.View(v.parts, v.name)
		}
		r.mu.views = nil
	}
	now := r.sinceLocked(e.Time)
	if e.Kind == engine.TaskSubmitted {
		r.mu.g.Event(e)
		r.mu.tasks = append(r.mu.tasks, Times{Worker: -1, Submitted: now, Workers: r.workersLocked(e)})
		return
	}
	i, ok := r.mu.g.Find(e.Job, e.ID)
	if !ok {
		return
	}
	t := &r.mu.tasks[i]
	if e.Worker >= 0 {
		t.Worker = e.Worker
	}
	if e.Workers != nil {
		t.Gang = e.Workers
	}
	switch e.Kind {
	case engine.TaskStarted:
		t.Started = now
		if t.Ready == 0 {
			t.Ready = now
		}
	case engine.TaskDone, engine.TaskFailed, engine.TaskCancelled:
		t.State, t.Ended = e.Kind.String(), now
		if e.Kind == engine.TaskDone {
			t.Flops, t.Variant = e.Flops(), e.Variant
		}
		if e.Err != nil {
			t.Err = e.Err.Error()
		}
		if p := &e.Profile; p.Submitted > 0 {
			t.Ready, t.Popped, t.Data = p.Ready.Seconds(), p.Popped.Seconds(), p.DataReady.Seconds()
			if p.Started > 0 {
				t.Started = p.Started.Seconds()
			}
			if p.Ended > 0 {
				t.Ended = p.Ended.Seconds()
			}
		}
		r.memoryLocked(now)
	}
}

// workersLocked lists the workers that may run the task of e; nil: all. Equal lists are
// one.
func (r *Recorder) workersLocked(e *engine.Event) []int {
	n := r.mu.rt.Workers()
	key := make([]byte, n)
	count := 0
	for w := range n {
		if e.Allows(w) {
			key[w] = 1
			count++
		}
	}
	if count == n {
		return nil
	}
	list, ok := r.mu.may[string(key)]
	if !ok {
		list = make([]int, 0, count)
		for w, k := range key {
			if k == 1 {
				list = append(list, w)
			}
		}
		if r.mu.may == nil {
			r.mu.may = map[string][]int{}
		}
		r.mu.may[string(key)] = list
	}
	return list
}

// RetryEvent implements engine.RetryListener.
func (r *Recorder) RetryEvent(e *engine.RetryEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.g == nil {
		return
	}
	if i, ok := r.mu.g.Find(e.Job, e.ID); ok {
		t := &r.mu.tasks[i]
		t.Retries = append(t.Retries, Retry{r.sinceLocked(e.Time), e.Err.Error()})
	}
}

// CopyEvent implements engine.CopyListener.
func (r *Recorder) CopyEvent(e *engine.CopyEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.rt == nil || e.Bytes == 0 {
		return
	}
	name := "private copies"
	if e.Data != nil {
		name = e.Data.Name()
	}
	r.mu.copies = append(r.mu.copies, Copy{e.From, e.To, e.Bytes, name, r.sinceLocked(e.Begin), r.sinceLocked(e.End)})
}

func (r *Recorder) sinceLocked(t time.Time) float64 { return t.Sub(r.mu.rt.Began()).Seconds() }

// memoryLocked notes what is allocated, where that has changed.
func (r *Recorder) memoryLocked(now float64) {
	for n, info := range r.mu.rt.Nodes() {
		if n == len(r.mu.last) {
			r.mu.last = append(r.mu.last, -1)
		}
		if info.Allocated != r.mu.last[n] {
			r.mu.last[n] = info.Allocated
			r.mu.memory = append(r.mu.memory, Memory{now, n, info.Allocated})
		}
	}
}

// Run returns what was recorded. Nothing should run any more, and the runtime not be
// closed yet.
func (r *Recorder) Run(title string) *Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := &Run{Graph: &graph.Graph{Title: title}}
	if r.mu.g == nil {
		return out
	}
	r.mu.g.Machine(r.mu.rt)
	out.Graph = r.mu.g.Graph(title)
	out.Tasks, out.Copies, out.Memory = r.mu.tasks, r.mu.copies, r.mu.memory
	for i := range out.Tasks {
		out.Seconds = max(out.Seconds, out.Tasks[i].Started, out.Tasks[i].Ended)
	}
	for _, c := range out.Copies {
		out.Seconds = max(out.Seconds, c.End)
	}
	// what a run took is what its tasks cost: for the longest path
	for i := range out.Graph.Tasks {
		t, x := &out.Graph.Tasks[i], &out.Tasks[i]
		if t.Internal == "" && x.Started > 0 && x.Ended > 0 {
			t.Seconds = []float64{max(0, x.Ended-x.Started)}
		}
	}
	return out
}

// workers lists the workers that ran x.
func (x *Times) workers() []int {
	if x.Gang != nil {
		return x.Gang
	}
	return []int{x.Worker}
}

// ended is when x, which has started, ended: one that still ran goes on to the end of what
// was recorded.
func (r *Run) ended(x *Times) float64 {
	if x.Ended == 0 {
		return max(x.Started, r.Seconds)
	}
	return x.Ended
}
