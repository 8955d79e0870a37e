package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/engine"
)

// Figures of the ranks: counted in a run, and predicted by a job that has the directory and no messages.

// Traffic counts messages with data. A value of a Go type is one message, with the bytes that it was packed to.
type Traffic struct{ Messages, Bytes int64 }

func (t *Traffic) add(o Traffic) {
	t.Messages += o.Messages
	t.Bytes += o.Bytes
}

// Report has the figures of all ranks of a program.
type Report struct {
	Size  int     // ranks
	Ranks []Rank  // ascending; those that could be asked
	Pairs []Route // between which there were messages, the most bytes first
	// Estimated is set in a plan if bytes of messages depend on values, which no plan knows: values of Go types count as
	// the bytes of a variable of the type, and data with a capacity that a task may have resized as full.
	Estimated bool
}

// Rank has the figures of one rank. Those of a plan have no times.
type Rank struct {
	Rank     int
	Tasks    int64 // of the program, that it ran
	Pruned   int64 // of the program, that it left to other ranks
	Sent     Traffic
	Received Traffic
	Workers  int
	Busy     float64 // seconds in kernels, of all workers together; 0 without engine.JobOptions.Stats
	Seconds  float64 // since NewJob
}

// BusyShare returns which part of its time the mean worker of r was in a kernel, 0 to 1.
func (r *Rank) BusyShare() float64 {
	if r.Workers == 0 || r.Seconds <= 0 {
		return 0
	}
	return min(1, r.Busy/(r.Seconds*float64(r.Workers)))
}

// Route has the messages from one rank to another.
type Route struct {
	From, To int
	Traffic
}

// Sent returns what all ranks have sent.
func (r *Report) Sent() (sum Traffic) {
	for i := range r.Ranks {
		sum.add(r.Ranks[i].Sent)
	}
	return sum
}

// figures are what a job counts: of its own rank, or in a plan of all.
type figures struct {
	began time.Time
	tasks []int64            // that ran, by rank
	pairs map[[2]int]Traffic // by sender and receiver, with the bytes that were known when a message was decided
	homes map[*datamgr.Handle]bool
	rough bool // see Report.Estimated

	mu struct {
		sync.Mutex
		packed map[[2]int]int64 // more bytes
	}
}

func (f *figures) init(size int) {
	f.began, f.tasks = time.Now(), make([]int64, size)
	f.pairs, f.mu.packed = map[[2]int]Traffic{}, map[[2]int]int64{}
}

// count counts a message.
func (f *figures) count(from, to int, bytes int64) {
	t := f.pairs[[2]int{from, to}]
	t.add(Traffic{1, bytes})
	f.pairs[[2]int{from, to}] = t
}

// addBytes adds bytes of a message that was counted. It is called before the message is sent, and before a task can use what was received, so that the
// figures are complete once all ranks have waited for all tasks.
func (f *figures) addBytes(from, to int, bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.packed[[2]int{from, to}] += bytes
}

// total returns the messages between ranks so far, with all of their bytes.
func (f *figures) total() map[[2]int]Traffic {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := maps.Clone(f.pairs)
	for k, bytes := range f.mu.packed {
		t := all[k]
		t.add(Traffic{0, bytes})
		all[k] = t
	}
	return all
}

// countPlanned counts a message of a plan, with elements of the data of h.
func (j *Job) countPlanned(from, to int, h *datamgr.Handle, b *Box) {
	f, root := &j.figures, h.Root()
	d := root.Desc()
	bytes := int64(0)
	switch o := objectOf(h); {
	case o != nil:
		bytes, f.rough = int64(o.Type.Size()), true
	case root.Resizable() && j.data[root].grows:
		bytes, f.rough = int64(b.Elements())*int64(d.Elem.Size()), true
	case root.Resizable():
		d = root.Content()
		content := boxOf(root)
		copy(content.Hi[:], d.Shape())
		if d.Len() > 0 && b.touches(&content) {
			inside, _ := b.cut(&content)
			bytes = int64(inside.Elements()) * int64(d.Elem.Size())
		}
	case d.Bytes() > 0:
		bytes = int64(b.Elements()) * int64(d.Elem.Size())
	}
	f.count(from, to, bytes)
}

// of returns the figures of a rank, of total tasks, without times.
func (f *figures) of(rank int, total int64) Rank {
	r := Rank{Rank: rank, Tasks: f.tasks[rank], Pruned: total - f.tasks[rank]}
	for k, t := range f.total() {
		if k[0] == rank {
			r.Sent.add(t)
		}
		if k[1] == rank {
			r.Received.add(t)
		}
	}
	return r
}

// routes lists the messages from a rank, below 0 from all.
func (f *figures) routes(rank int) (all []Route) {
	for k, t := range f.total() {
		if rank < 0 || k[0] == rank {
			all = append(all, Route{k[0], k[1], t})
		}
	}
	return all
}

// Sent returns what this rank has sent so far.
func (j *Job) Sent() Traffic {
	r := j.figures.of(j.rank, 0)
	return r.Sent
}

// ownReport returns the figures of this rank alone.
func (j *Job) ownReport() *Report {
	r := j.figures.of(j.rank, j.tasks)
	r.Workers = j.rt.Workers()
	for _, w := range j.job.Stats().Workers {
		r.Busy += w.Time.Seconds()
	}
	r.Seconds = time.Since(j.figures.began).Seconds()
	return &Report{Size: j.size, Ranks: []Rank{r}, Pairs: sortRoutes(j.figures.routes(j.rank))}
}

// Report gives all ranks the figures of each: they all call it, after a Wait or Meet. If some cannot be asked, as the job has failed, it returns an error
// and those of this rank. Rank 0 gets the figures of all ranks that have called it, also if one of them gives the job up right afterwards.
func (j *Job) Report(ctx context.Context) (*Report, error) {
	if j.plans {
		return j.planned(), nil
	}
	own := j.ownReport()
	packed, err := json.Marshal(own)
	if err != nil {
		return own, err
	}
	if err := j.Err(); err != nil {
		return own, err
	}
	packed, err = j.collect(ctx, packed)
	if err != nil {
		return own, err
	}
	shared, err := j.Share(ctx, 0, packed)
	if err == nil {
		packed = shared
	} else if j.rank > 0 { // rank 0 has all: another may have gone on, and given up for what the program has failed with
		return own, err
	}
	all, err := j.unpackAll(packed)
	if err != nil {
		return own, err
	}
	out := &Report{Size: j.size}
	for r, packed := range all {
		var of Report
		if err := json.Unmarshal(packed, &of); err != nil {
			return own, fmt.Errorf("cluster: the figures of rank %d: %w", r, err)
		}
		out.Ranks = append(out.Ranks, of.Ranks...)
		out.Pairs = append(out.Pairs, of.Pairs...)
	}
	out.Pairs = sortRoutes(out.Pairs)
	return out, nil
}

func sortRoutes(all []Route) []Route {
	slices.SortFunc(all, func(a, b Route) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Messages, a.Messages), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return all
}

// NewPlan returns a job that predicts a program on several ranks: the directory decides as it does in a run, all tasks go to rt, which plans, and
// messages are counted and not sent. Report returns the figures of all ranks. The caller closes it before the runtime.
func NewPlan(ctx context.Context, rt *engine.Runtime, size int, o Options) *Job {
	return newJob(ctx, rt, noMessages{size}, o, true)
}

// planned returns the figures of a plan.
func (j *Job) planned() *Report {
	out := &Report{Size: j.size, Pairs: sortRoutes(j.figures.routes(-1)), Estimated: j.figures.rough}
	total := int64(0)
	for _, n := range j.figures.tasks {
		total += n
	}
	sent, received := make([]Traffic, j.size), make([]Traffic, j.size)
	for _, p := range out.Pairs {
		sent[p.From].add(p.Traffic)
		received[p.To].add(p.Traffic)
	}
	for r, n := range j.figures.tasks {
		out.Ranks = append(out.Ranks, Rank{Rank: r, Tasks: n, Pruned: total - n, Sent: sent[r], Received: received[r]})
	}
	return out
}

// PlanHome says, of a plan, that the program supplies the memory of data that has none in the plan: Unregister brings all ranks its last value.
func (j *Job) PlanHome(h *datamgr.Handle) {
	if j.figures.homes == nil {
		j.figures.homes = map[*datamgr.Handle]bool{}
	}
	j.figures.homes[h] = true
}

// noMessages is rank 0 of several between which nothing is sent.
type noMessages struct{ size int }

func (noMessages) Rank() int   { return 0 }
func (n noMessages) Size() int { return n.size }

func (noMessages) Send(to, tag int, data []byte, done func(error))              { done(nil) }
func (noMessages) Ssend(to, tag int, data []byte, done func(error))             { done(nil) }
func (noMessages) Recv(from, tag int, into []byte, done func(n int, err error)) {}
