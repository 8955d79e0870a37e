package graph

// Recording: tasks as they are submitted, with what they say kept short.

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/engine"
)

// Recorder collects tasks. One goroutine uses it at a time.
type Recorder struct {
	g       Graph
	handles map[*datamgr.Handle]int32
	datums  map[*datamgr.Handle]int32
	names   map[*datamgr.Handle]string
	parts   map[*datamgr.Handle]part
	sites   map[Site]int32
	texts   map[string]string
	costs   map[string][]float64
	byID    map[*engine.Job]*numbers
	after   []pending
	vars    string                        // of the last task: those of one round of a loop have the same
	last    map[*engine.Codelet][]float64 // the estimate of the last task of a codelet
	ops     []Operand                     // what tasks get theirs from
	key     []byte
}

// pending is an explicit dependency.
type pending struct{ task, on int32 }

// NewRecorder makes a recorder for tasks of a runtime, whose machine it notes.
func NewRecorder(rt *engine.Runtime) *Recorder {
	r := &Recorder{handles: map[*datamgr.Handle]int32{}, datums: map[*datamgr.Handle]int32{}, names: map[*datamgr.Handle]string{}, parts: map[*datamgr.Handle]part{},
		sites: map[Site]int32{}, texts: map[string]string{}, costs: map[string][]float64{},
		byID: map[*engine.Job]*numbers{}, last: map[*engine.Codelet][]float64{}}
	if rt != nil {
		r.Machine(rt)
	}
	return r
}

// Machine notes the workers and memories of a runtime.
func (r *Recorder) Machine(rt *engine.Runtime) {
	r.g.Workers, r.g.Nodes = nil, nil
	for i := range rt.Workers() {
		if w, err := rt.Worker(i); err == nil {
			r.g.Workers = append(r.g.Workers, Worker{Name: w.Name, Kind: w.Kind, Node: w.Node})
		}
	}
	for _, n := range rt.Nodes() {
		r.g.Nodes = append(r.g.Nodes, Node{Name: n.Name, Capacity: n.Capacity})
	}
	r.g.Links = rt.CopyTime
}

// Name says what a handle is called; otherwise it is its own name, or that of its
// datum with its place.
func (r *Recorder) Name(h *datamgr.Handle, name string) { r.names[h] = name }

// part is a place in a view.
type part struct {
	name func(k int) string
	k    int
	dims []int
}

// View says what the parts of a view are called.
func (r *Recorder) View(parts []*datamgr.Handle, name func(k int) string) {
	for k, h := range parts {
		r.parts[h] = part{name: name, k: k}
	}
}

// Dims notes how the parts of a view that View was called for are arranged. It takes the lock of the registry, so that it must not be called where
// events of a run may wait for the caller.
func (r *Recorder) Dims(parts []*datamgr.Handle) {
	if len(parts) == 0 || parts[0].Parent() == nil {
		return
	}
	var dims []int
	for _, v := range parts[0].Parent().Views() {
		if len(v.Parts) == len(parts) && v.Parts[0] == parts[0] {
			dims = v.Dims
		}
	}
	for _, h := range parts {
		if p, ok := r.parts[h]; ok {
			p.dims = dims
			r.parts[h] = p
		}
	}
}

// Note says that the tasks that follow depend on values that tasks compute.
func (r *Recorder) Note(at Site, text string) {
	r.g.Notes = append(r.g.Notes, Note{At: at, Task: len(r.g.Tasks), Text: text})
}

// Len returns the number of tasks so far.
func (r *Recorder) Len() int { return len(r.g.Tasks) }

// Plan adds a task of a plan and returns its place.
func (r *Recorder) Plan(p *engine.PlannedTask) int {
	t := r.task(p.Job, p.ID, p.Codelet, p.Internal, p.Name, p.Operands, &p.Origin, p.After)
	t.Color, t.Priority, t.Rank, t.Flops = p.Color, p.Priority, p.Rank, p.Flops
	t.Operations, t.Moved, t.Workers = p.Operations, p.Moved, int32(p.Size)
	t.Seconds = r.cost(p.Codelet, p.Seconds)
	return len(r.g.Tasks) - 1
}

// Event adds a task that was submitted in a run and returns its place.
func (r *Recorder) Event(e *engine.Event) int {
	t := r.task(e.Job, e.ID, e.Codelet, e.Internal, e.Name, e.Operands, &e.Origin, e.After)
	t.Color = e.Color
	if k, ok := r.byID[e.Job].find(e.Parent); ok && e.Parent > 0 {
		t.parent = k + 1
	}
	return len(r.g.Tasks) - 1
}

// Find returns the place of a task.
func (r *Recorder) Find(j *engine.Job, id int64) (int, bool) {
	i, ok := r.byID[j].find(id)
	return int(i), ok
}

// numbers is the places of the tasks of a job. Tasks of the program are numbered from 1 on, with few gaps.
type numbers struct {
	byID  []int32         // of the program's, 1 + the place
	other map[int64]int32 // of those that the engine inserts, and after a gap
}

func (n *numbers) find(id int64) (int32, bool) {
	if n == nil {
		return 0, false
	}
	if id >= 0 && id < int64(len(n.byID)) && n.byID[id] > 0 {
		return n.byID[id] - 1, true
	}
	at, ok := n.other[id]
	return at, ok
}

func (n *numbers) add(id int64, at int32) {
	if id < 0 || id > 2*int64(len(n.byID))+1024 {
		n.other[id] = at
		return
	}
	for int64(len(n.byID)) <= id {
		n.byID = append(n.byID, 0)
	}
	n.byID[id] = at + 1
}

func (r *Recorder) task(j *engine.Job, id int64, c *engine.Codelet, internal, name string, ops []engine.Operand, from *engine.Origin, after []int64) *Task {
	n := int32(len(r.g.Tasks))
	t := Task{ID: id, Internal: internal, Name: r.text(name), Site: -1}
	if c != nil {
		t.Codelet = c.Name
	} else {
		t.Codelet = r.text("(" + internal + ")")
	}
	if len(r.ops) < len(ops) {
		r.ops = make([]Operand, max(1024, len(ops)))
	}
	t.Operands = r.ops[:len(ops):len(ops)]
	r.ops = r.ops[len(ops):]
	for i, o := range ops {
		t.Operands[i] = Operand{Handle: r.handle(o.Handle), Mode: o.Mode, Unordered: o.Unordered}
	}
	if s := from.Site; s != nil {
		t.Site = r.site(s)
		r.key = r.key[:0]
		for k, v := range s.VarNames {
			if k > 0 {
				r.key = append(r.key, ", "...)
			}
			r.key = append(append(r.key, v...), " = "...)
			r.key = strconv.AppendInt(r.key, from.Vars[k], 10)
		}
		if string(r.key) != r.vars {
			r.vars = string(r.key)
		}
		t.Vars = r.vars
	}
	if from.Call != nil {
		t.Call = r.text(from.Call.Text)
	}
	ids := r.byID[j]
	if ids == nil {
		ids = &numbers{other: map[int64]int32{}}
		r.byID[j] = ids
	}
	ids.add(id, n)
	for _, a := range after {
		if k, ok := ids.find(a); ok {
			r.after = append(r.after, pending{n, k})
		}
	}
	if len(r.g.Tasks) == cap(r.g.Tasks) {
		r.g.Tasks = slices.Grow(r.g.Tasks, max(64, len(r.g.Tasks))) // append grows large slices by a quarter, and copies them five times
	}
	r.g.Tasks = append(r.g.Tasks, t)
	return &r.g.Tasks[n]
}

// text keeps one copy of equal strings.
func (r *Recorder) text(s string) string {
	if s == "" {
		return ""
	}
	if old, ok := r.texts[s]; ok {
		return old
	}
	r.texts[s] = s
	return s
}

func (r *Recorder) site(s *engine.Site) int32 {
	k := Site{s.File, s.Line, s.Col, s.Data}
	i, ok := r.sites[k]
	if !ok {
		i = int32(len(r.g.Sites))
		r.g.Sites = append(r.g.Sites, k)
		r.sites[k] = i
	}
	return i
}

// cost keeps one copy of equal estimates: tasks of one codelet and size share them.
func (r *Recorder) cost(c *engine.Codelet, s []float64) []float64 {
	if s == nil {
		return nil
	}
	same := func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) }
	if last := r.last[c]; slices.EqualFunc(last, s, same) {
		return last
	}
	r.key = r.key[:0]
	for _, x := range s {
		r.key = binary.LittleEndian.AppendUint64(r.key, math.Float64bits(x))
	}
	old, ok := r.costs[string(r.key)]
	if !ok {
		old = slices.Clone(s)
		r.costs[string(r.key)] = old
	}
	r.last[c] = old
	return old
}

func (r *Recorder) handle(h *datamgr.Handle) int32 {
	i, ok := r.handles[h]
	if ok {
		return i
	}
	root := h.Root()
	datum, ok := r.datums[root]
	if !ok {
		datum = int32(len(r.datums))
		r.datums[root] = datum
	}
	d := h.Desc()
	i = int32(len(r.g.Handles))
	x := Handle{Type: d.String(), Datum: datum, Bytes: d.Bytes(), Elem: int64(d.Elem.Size()), Home: h.Home(), Part: -1}
	if rank, ok := h.OwnerRank(); ok {
		x.Owner = 1 + rank
	}
	if p, ok := r.parts[h]; ok {
		x.Part, x.Dims = int32(p.k), p.dims
	}
	all := h.Root().Desc()
	lo, hi := h.Place()
	x.Lo = append(append(make([]int, 0, 2*all.Rank), lo[:all.Rank]...), hi[:all.Rank]...)
	x.Lo, x.Hi = x.Lo[:all.Rank:all.Rank], x.Lo[all.Rank:]
	r.handles[h] = i
	r.g.Handles = append(r.g.Handles, x)
	r.g.Handles[i].Name = r.partName(h)
	return i
}

// partName is the name of a handle that has none: that of what it is a part of,
// with its index.
func (r *Recorder) partName(h *datamgr.Handle) string {
	if n := h.Name(); n != "" {
		return n
	}
	if n, ok := r.names[h]; ok {
		return n
	}
	if p, ok := r.parts[h]; ok {
		return p.name(p.k)
	}
	p := h.Parent()
	if p == nil {
		return fmt.Sprintf("data %d", h.ID())
	}
	base := r.partName(p)
	lo, hi := h.Place()
	lo0, hi0 := p.Place()
	text := ""
	for k := range lo {
		if lo0[k]+1 >= hi0[k] && lo[k] == lo0[k] {
			continue
		}
		if text != "" {
			text += ", "
		}
		if hi[k] == lo[k]+1 {
			text += fmt.Sprint(lo[k])
		} else {
			text += fmt.Sprintf("%d..%d", lo[k], hi[k])
		}
	}
	return base + "[" + text + "]"
}
