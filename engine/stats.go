package engine

// Counts and times of a job or runtime.

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

// Stats are counts at one moment. Each is exact once nothing runs.
type Stats struct {
	Submitted, Done, Failed, Cancelled int64         // tasks that the program submitted
	Retries                            int64         // how often kernels ran again after an error, see TaskOptions.Retry
	Codelets                           []CodeletStat // by name; with JobOptions.Stats
	Workers                            []WorkerStat  // with JobOptions.Stats
	Running                            []string      // codelets that run now, by worker; with JobOptions.Stats
	Bytes                              int64         // allocated for data now, host memory not counted
	PeakBytes                          int64         // largest value of Bytes so far
	Nodes                              []NodeStat    // memory nodes, of the whole runtime
	Buses                              []BusProfile  // what was copied, as far as something was, of the whole runtime
}

// NodeStat has the counts of one memory node.
type NodeStat struct {
	Name      string // "ram"
	PeakBytes int64  // the most that was allocated there
	Evictions int64  // copies of data taken away so that a task had room
	Evicted   int64  // their bytes
	// Arrived counts the bytes copied to the node from other nodes. Needed is the least
	// that had to be copied: each value that tasks read there and that was not made
	// there, once. Arrived is larger if values were evicted and copied again, or passed
	// through the node on their way elsewhere. It is smaller if the values read lay in
	// main memory from the beginning, or were saved there when they were evicted.
	Arrived, Needed int64
	// Copying is how long at least one copy from or to it was under way, and Hidden
	// for how much of that time a kernel ran there. Devices, and bounded main memory, only.
	Copying, Hidden time.Duration
}

// CodeletStat has the counts of tasks of one codelet.
type CodeletStat struct {
	Name      string
	Submitted int64
	Tasks     int64         // whose kernels ended
	Time      time.Duration // in kernels, all workers together; below a microsecond a task it is estimated
	Flops     float64       // work of those tasks, as far as it was estimated
	Bytes     float64       // that they read and wrote of their operands, each element once for that; estimated where Time is
}

// WorkerStat has the counts of one worker.
type WorkerStat struct {
	Name  string // "cpu 0"
	Tasks int64
	Time  time.Duration // in kernels
}

// jobStats counts by codelet and worker. Each worker has a part of its own,
// which it adds its tally to.
type jobStats struct {
	submits map[*Codelet]*int64 // guarded by the submission lock, as is last
	last    struct {
		codelet *Codelet
		n       *int64
	}
	workers []workerStats
}

type workerStats struct {
	mu struct {
		sync.Mutex
		codelets map[*Codelet]*CodeletStat
		all      WorkerStat
	}
	_ [64]byte
}

func newJobStats(workers []*worker) *jobStats {
	s := &jobStats{submits: map[*Codelet]*int64{}, workers: make([]workerStats, len(workers))}
	for i, w := range workers {
		s.workers[i].mu.codelets = map[*Codelet]*CodeletStat{}
		s.workers[i].mu.all.Name = w.name
	}
	return s
}

// submitted counts a task of c.
func (s *jobStats) submitted(_ datamgr.Submission, c *Codelet) {
	if s.last.codelet != c {
		n := s.submits[c]
		if n == nil {
			n = new(int64)
			s.submits[c] = n
		}
		s.last.codelet, s.last.n = c, n
	}
	*s.last.n++
}

// tally counts the tasks of one job that a worker ran, for a few codelets at a
// time: those that alternate are not added to the job's counts at each change.
type tally struct {
	job   *Job
	of    [4]tallied
	now   *tallied // of the task that runs, or ran last; nil: of none
	next  int      // the one to give up for another codelet
	descs []iface.Desc
}

// tallied is what ran of one codelet. Looking at the clock twice takes longer than
// everything else that is done for an empty task, so of the tasks that take less
// than brief only one in sixteen is timed, and stands for the others.
type tallied struct {
	codelet *Codelet
	tasks   int64
	time    time.Duration
	flops   float64
	bytes   float64
	last    time.Duration // what the task timed last took
	moved   float64       // what it read and wrote
	skip    int           // tasks until the next one that is timed
}

const shortKernel = time.Microsecond

// longKernel is the time of a task from which on the count is flushed after each task, so
// that observers see it advance: the flush costs little beside such a task.
const longKernel = time.Millisecond

// begin makes a count for a task of c, and returns where.
func (a *tally) begin(w *worker, j *Job, c *Codelet) *tallied {
	if k := a.now; k != nil && k.codelet == c && a.job == j {
		return k
	}
	w.running.Store(c)
	if a.job != j {
		a.flush(w.id)
		a.of, a.job = [len(a.of)]tallied{}, j
	}
	for i := range a.of {
		if a.of[i].codelet == c {
			a.now = &a.of[i]
			return a.now
		}
	}
	a.now = &a.of[a.next]
	a.next = (a.next + 1) % len(a.of)
	a.add(a.now, w.id)
	*a.now = tallied{codelet: c}
	return a.now
}

// rest is called when the worker has no work.
func (a *tally) rest(w *worker) {
	a.flush(w.id)
	if a.now != nil {
		a.now, a.job = nil, nil
		w.running.Store(nil)
	}
}

// timed counts a task that was timed.
func (a *tally) timed(w *worker, k *tallied, t *task, d time.Duration) {
	k.moved = t.moved()
	if k.last = d; d < shortKernel {
		k.skip = 15
	}
	w.slow = d > longKernel
	a.count(w, k, t)
}

// count counts a task as long as the one before.
func (a *tally) count(w *worker, k *tallied, t *task) {
	k.tasks++
	k.time += k.last
	k.bytes += k.moved
	switch {
	case t.general && t.x.flops != 0:
		k.flops += t.x.flops
	case t.codelet.Flops != nil:
		// on this goroutine, as it is called after many a short kernel: one that
		// ends it does what a kernel does that way
		_ = callKernel(func(*TaskContext) error { k.flops += t.flops(&a.descs); return nil }, nil, func(error) { w.exit(t, errFlopsExit) })
	}
}

var errFlopsExit = errors.New("the codelet's Flops ended the goroutine (runtime.Goexit, or t.FailNow in a test)")

// flush adds what was counted to the job.
func (a *tally) flush(worker int) {
	for i := range a.of {
		a.add(&a.of[i], worker)
	}
}

// add adds what was counted in k to the job.
func (a *tally) add(k *tallied, worker int) {
	if k.tasks == 0 {
		return
	}
	p := &a.job.stats.workers[worker]
	p.mu.Lock()
	sum := p.mu.codelets[k.codelet]
	if sum == nil {
		sum = &CodeletStat{Name: k.codelet.Name}
		p.mu.codelets[k.codelet] = sum
	}
	sum.Tasks += k.tasks
	sum.Time += k.time
	sum.Flops += k.flops
	sum.Bytes += k.bytes
	p.mu.all.Tasks += k.tasks
	p.mu.all.Time += k.time
	p.mu.Unlock()
	k.tasks, k.time, k.flops, k.bytes = 0, 0, 0, 0
}

// Stats returns the counts of the job. Bytes are those of the whole runtime.
func (j *Job) Stats() Stats {
	rt := j.rt
	mem := rt.device.Memory()
	s := Stats{Failed: j.failed.Load(), Cancelled: j.dropped.Load(), Retries: j.retries.Load(), Bytes: mem.Allocated(), PeakBytes: mem.Peak()}
	s.Done = max(0, j.ended.Load()-j.internal.Load()-s.Failed-s.Cancelled)
	s.Nodes, s.Buses = rt.nodeStats(), rt.buses()
	byName := map[string]*CodeletStat{}
	get := func(name string) *CodeletStat {
		if byName[name] == nil {
			byName[name] = &CodeletStat{Name: name}
		}
		return byName[name]
	}
	sub := rt.reg.Lock()
	s.Submitted = j.submitted
	if j.stats != nil {
		for c, n := range j.stats.submits {
			get(c.Name).Submitted += *n
		}
	}
	sub.Unlock()
	if j.stats == nil {
		return s
	}
	for i := range j.stats.workers {
		p := &j.stats.workers[i]
		p.mu.Lock()
		for c, k := range p.mu.codelets {
			g := get(c.Name)
			g.Tasks += k.Tasks
			g.Time += k.Time
			g.Flops += k.Flops
			g.Bytes += k.Bytes
		}
		s.Workers = append(s.Workers, p.mu.all)
		p.mu.Unlock()
		if c := rt.workers[i].running.Load(); c != nil {
			s.Running = append(s.Running, c.Name)
		}
	}
	for _, k := range byName {
		s.Codelets = append(s.Codelets, *k)
	}
	slices.SortFunc(s.Codelets, func(a, b CodeletStat) int { return cmp.Compare(a.Name, b.Name) })
	return s
}

// Stats returns the counts of all jobs that are not closed, and the memory.
func (rt *Runtime) Stats() Stats {
	mem := rt.device.Memory()
	s := Stats{Bytes: mem.Allocated(), PeakBytes: mem.Peak(), Nodes: rt.nodeStats(), Buses: rt.buses()}
	var jobs []*Job
	sub := rt.reg.Lock()
	for j := range rt.jobs {
		jobs = append(jobs, j)
	}
	sub.Unlock()
	for _, j := range jobs {
		t := j.Stats()
		s.Submitted += t.Submitted
		s.Done += t.Done
		s.Failed += t.Failed
		s.Cancelled += t.Cancelled
		s.Retries += t.Retries
	}
	return s
}

// nodeStats returns what happened in each memory node.
func (rt *Runtime) nodeStats() []NodeStat {
	arrived := make([]int64, rt.reg.NumNodes())
	for _, t := range rt.reg.Traffic() {
		if t.From != t.To {
			arrived[t.To] += t.Bytes
		}
	}
	flow := func(s NodeStat, n int) NodeStat {
		f := rt.reg.Flow(n)
		s.Arrived, s.Needed, s.Copying, s.Hidden = arrived[n], f.Needed, f.Copying, f.Hidden
		return s
	}
	all := []NodeStat{flow(NodeStat{Name: rt.device.Memory().Name(), PeakBytes: rt.device.Memory().Peak()}, 0)}
	for k, d := range rt.devices {
		if n := rt.nodeOf[k]; n == len(all) {
			s := NodeStat{Name: d.Memory().Name(), PeakBytes: d.Memory().Peak()}
			s.Evictions, s.Evicted = rt.reg.Evicted(n)
			all = append(all, flow(s, n))
		}
	}
	if rt.limited {
		all[0].Evictions, all[0].Evicted = rt.reg.Evicted(0)
		m := rt.opt.Disk.Memory()
		all = append(all, flow(NodeStat{Name: m.Name(), PeakBytes: m.Peak()}, rt.diskNode))
	}
	return all
}
