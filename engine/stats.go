package engine

// Counts and times of a job or runtime.

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/starpush/starpush/datamgr/iface"
)

// Stats are counts at one moment. Each is exact once nothing runs.
type Stats struct {
	Submitted, Done, Failed, Cancelled int64         // tasks that the program submitted
	Codelets                           []CodeletStat // by name; with JobOptions.Stats
	Workers                            []WorkerStat  // with JobOptions.Stats
	Running                            []string      // codelets that run now, by worker; with JobOptions.Stats
	Bytes                              int64         // allocated for data now, host memory not counted
	PeakBytes                          int64         // largest value of Bytes so far
}

// CodeletStat is what tasks of one codelet did.
type CodeletStat struct {
	Name      string
	Submitted int64
	Tasks     int64         // whose kernels ended
	Time      time.Duration // in kernels, all workers together
	Flops     float64       // work of those tasks, as far as it was estimated
}

// WorkerStat is what one worker did.
type WorkerStat struct {
	Name  string // "cpu 0"
	Tasks int64
	Time  time.Duration // in kernels
}

// jobStats counts by codelet and worker. Each worker has a part of its own.
type jobStats struct {
	workers []workerStats
	mu      struct {
		sync.Mutex
		submitted map[*Codelet]int64
	}
}

type workerStats struct {
	mu struct {
		sync.Mutex
		codelets map[*Codelet]*CodeletStat
		all      WorkerStat
	}
	_ [64]byte
}

func newJobStats(workers int) *jobStats {
	s := &jobStats{workers: make([]workerStats, workers)}
	s.mu.submitted = map[*Codelet]int64{}
	return s
}

func (s *jobStats) submitted(c *Codelet) {
	s.mu.Lock()
	s.mu.submitted[c]++
	s.mu.Unlock()
}

// add counts a kernel of t that ran on w for d.
func (s *jobStats) add(w *worker, t *task, d time.Duration) {
	c, flops := t.codelet, t.flops()
	p := &s.workers[w.id]
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.codelets == nil {
		p.mu.codelets = map[*Codelet]*CodeletStat{}
		p.mu.all.Name = w.name
	}
	k := p.mu.codelets[c]
	if k == nil {
		k = &CodeletStat{Name: c.Name}
		p.mu.codelets[c] = k
	}
	k.Tasks++
	k.Time += d
	k.Flops += flops
	p.mu.all.Tasks++
	p.mu.all.Time += d
}

// flops estimates the work of t; 0: unknown.
func (t *task) flops() (n float64) {
	if t.general && t.x.flops != 0 {
		return t.x.flops
	}
	if t.codelet.Flops == nil {
		return 0
	}
	defer func() {
		if recover() != nil { // an estimate is no reason to fail
			n = 0
		}
	}()
	var ops []iface.Desc
	for _, op := range t.operands() {
		ops = append(ops, op.Handle.Desc())
	}
	return t.codelet.Flops(ops, t.args)
}

// Stats returns the counts of the job. Bytes are those of the whole runtime.
func (j *Job) Stats() Stats {
	rt := j.rt
	mem := rt.device.Memory()
	s := Stats{Failed: j.failed.Load(), Cancelled: j.dropped.Load(), Bytes: mem.Allocated(), PeakBytes: mem.Peak()}
	s.Done = max(0, j.ended.Load()-j.internal.Load()-s.Failed-s.Cancelled)
	rt.reg.Lock()
	s.Submitted = j.submitted
	rt.reg.Unlock()
	if j.stats == nil {
		return s
	}
	byName := map[string]*CodeletStat{}
	get := func(name string) *CodeletStat {
		if byName[name] == nil {
			byName[name] = &CodeletStat{Name: name}
		}
		return byName[name]
	}
	j.stats.mu.Lock()
	for c, n := range j.stats.mu.submitted {
		get(c.Name).Submitted += n
	}
	j.stats.mu.Unlock()
	for i := range j.stats.workers {
		p := &j.stats.workers[i]
		p.mu.Lock()
		for c, k := range p.mu.codelets {
			g := get(c.Name)
			g.Tasks += k.Tasks
			g.Time += k.Time
			g.Flops += k.Flops
		}
		all := p.mu.all
		p.mu.Unlock()
		all.Name = rt.workers[i].name
		s.Workers = append(s.Workers, all)
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
	s := Stats{Bytes: mem.Allocated(), PeakBytes: mem.Peak()}
	var jobs []*Job
	rt.reg.Lock()
	for j := range rt.jobs {
		jobs = append(jobs, j)
	}
	rt.reg.Unlock()
	for _, j := range jobs {
		t := j.Stats()
		s.Submitted += t.Submitted
		s.Done += t.Done
		s.Failed += t.Failed
		s.Cancelled += t.Cancelled
	}
	return s
}

// NodeInfo describes a memory node.
type NodeInfo struct {
	Name      string // "ram"
	Capacity  int64  // bytes
	Allocated int64  // bytes allocated for data, host memory not counted
}
