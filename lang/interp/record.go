package interp

// What a session has inserted, for its graph: a few words for each task, taken down as
// it is submitted.

import (
	"sync"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/graph"
)

// maxRecorded bounds the tasks that a record keeps, those of the engine included. They take
// about 20 MiB.
const maxRecorded = 1 << 18

// record is the tasks of a session, in the order of their submission.
type record struct {
	mu struct {
		sync.Mutex // the engine inserts tasks of its own from other goroutines, too
		tasks      []recorded
		ops        []*Handle
		vars       []int64
		unusual    map[int]*unusual // by place in tasks
		jobs       []recordedJob
		missing    int // tasks that came when the record was full
		using      *Handle
	}
}

// recorded is one task.
type recorded struct {
	site      *insertSite // nil: the engine inserted it
	call      *engine.Call
	ops, vars int32 // where its operands begin, and the values of its loop variables
}

// recordedJob is a job of the session: another one when the session changed its mode.
type recordedJob struct {
	job   *engine.Job
	first int // task of the record in it
}

// unusual is what few tasks have.
type unusual struct {
	name            string
	priority, color int
	unordered       uint64 // bit k: operand k, as far as it has one
	after           []int64

	internal string // what the engine inserted: see engine.Event
	handle   *datamgr.Handle
	named    *Handle // that one, if the script knows it
	mode     iface.AccessMode
	loose    bool
	site     *engine.Site
}

// begin notes that the tasks that follow are those of j.
func (r *record) begin(j *engine.Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.jobs = append(r.mu.jobs, recordedJob{j, len(r.mu.tasks)})
}

// insert takes down a task that a statement has inserted.
func (r *record) insert(s *insertSite, st *siteState) {
	spec := &st.spec
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.mu.tasks) >= maxRecorded {
		r.mu.missing++
		return
	}
	if s.opts.any {
		x := &unusual{name: spec.Name, priority: spec.Priority, color: spec.Color}
		for k := range spec.Operands {
			if spec.Operands[k].Unordered || spec.Unsequenced {
				x.unordered |= 1 << min(k, 63)
			}
		}
		for _, d := range spec.After {
			if t, ok := d.(*engine.Task); ok {
				x.after = append(x.after, t.ID())
			}
		}
		r.noteLocked(x)
	}
	r.mu.tasks = append(r.mu.tasks, recorded{s, spec.Origin.Call, int32(len(r.mu.ops)), int32(len(r.mu.vars))})
	r.mu.ops = append(r.mu.ops, st.handles...)
	r.mu.vars = append(r.mu.vars, spec.Origin.Vars[:len(s.vars)]...)
}

// internal takes down what the engine has inserted; see engine.JobOptions.OnInternal. An
// access without a place is one of the host, such as when a prompt shows a value.
func (r *record) internal(e *engine.Event) {
	if e.Internal == "acquire" && e.Origin.Site == nil {
		return
	}
	o := e.Operands[0]
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.mu.tasks) >= maxRecorded {
		return
	}
	x := &unusual{internal: e.Internal, handle: o.Handle, mode: o.Mode, loose: o.Unordered, site: e.Origin.Site}
	if h := r.mu.using; h != nil && h.h == o.Handle {
		x.named = h
	}
	r.noteLocked(x)
	r.mu.tasks = append(r.mu.tasks, recorded{call: e.Origin.Call, ops: int32(len(r.mu.ops)), vars: int32(len(r.mu.vars))})
}

// uses says that the engine is about to insert something on h for the script. A nil r is no
// session.
func (r *record) uses(h *Handle) {
	if r == nil {
		return
	}
	r.mu.Lock()
	r.mu.using = h
	r.mu.Unlock()
}

// noteLocked keeps x for the task that comes next.
func (r *record) noteLocked(x *unusual) {
	if r.mu.unusual == nil {
		r.mu.unusual = map[int]*unusual{}
	}
	r.mu.unusual[len(r.mu.tasks)] = x
}

// SessionGraph returns the tasks that a session has inserted, and how many more there were:
// a record keeps maxRecorded of them.
func (m *Machine) SessionGraph(title string) (g *graph.Graph, missing int) {
	rec := graph.NewRecorder(m.rt)
	r := m.record
	r.mu.Lock()
	defer r.mu.Unlock()
	named := map[*Handle]bool{}
	name := func(h *Handle) {
		if h != nil && !named[h] {
			named[h] = true
			rec.Name(h.h, h.Name())
		}
	}
	var id, internal int64
	jobs := r.mu.jobs
	var job *engine.Job
	for k := range r.mu.tasks {
		for len(jobs) > 0 && jobs[0].first <= k {
			job, id, internal = jobs[0].job, 0, 0
			jobs = jobs[1:]
		}
		t := &r.mu.tasks[k]
		x := r.mu.unusual[k]
		p := engine.PlannedTask{Job: job, Origin: engine.Origin{Call: t.call}}
		if t.site == nil {
			internal--
			p.ID, p.Internal, p.Origin.Site = internal, x.internal, x.site
			name(x.named)
			p.Operands = []engine.Operand{{Handle: x.handle, Mode: x.mode, Unordered: x.loose}}
			rec.Plan(&p)
			continue
		}
		id++
		p.ID, p.Codelet, p.Color, p.Origin.Site = id, t.site.codelet, t.site.codelet.Color, t.site.site
		copy(p.Origin.Vars[:], r.mu.vars[t.vars:int(t.vars)+len(t.site.vars)])
		for i := range t.site.ops {
			h := r.mu.ops[int(t.ops)+i]
			name(h)
			p.Operands = append(p.Operands, engine.Operand{Handle: h.h, Mode: t.site.ops[i].mode, Unordered: h.h.Unordered()})
		}
		if x != nil {
			p.Name, p.Priority, p.After = x.name, x.priority, x.after
			if x.color != 0 {
				p.Color = x.color
			}
			for i := range p.Operands {
				p.Operands[i].Unordered = p.Operands[i].Unordered || x.unordered>>min(i, 63)&1 != 0
			}
		}
		rec.Plan(&p)
	}
	return rec.Graph(title), r.mu.missing
}
