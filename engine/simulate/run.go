package simulate

// The run of a program: events, workers, the script.

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/graph"
	"github.com/starpush/starpush/engine/sched"
)

// Options of a simulation. The zero value is the default policy.
type Options struct {
	Policy string // see sched.Parse; "" means sched.Default
	Ahead  int    // tasks whose data is fetched while another runs; 0 means engine.DefaultAhead, below 0 none
	Trace  bool   // keep copies and memory over time, for Result.Trace
}

type taskState uint8

const (
	waiting   taskState = iota // for others, or for its submission
	submitted                  // waiting for others
	ready                      // in the policy
	running                    // a worker has it, or the script, or the network
	done
)

// worker is a worker of a computer.
type worker struct {
	rank, node int32
	class      int32
	task       int32 // -1: none
	access     int32
	idle       bool    // it found nothing
	waking     bool    // it will ask for a task, see CPU.Wake
	awake      bool    // it has had a task, or was woken, and looks for the next
	looks      float64 // until when it looks for tasks, before it sleeps
	owed       float64 // to the script, see Script.Shared: its kernel ends later by that
	busy       float64
	wait       float64 // for data
	tasks      int64
	began      float64 // of the kernel
	gang       *gangState
}

// rank is one computer.
type rank struct {
	policy   sched.Policy
	feedback sched.Feedback
	ahead    sched.Ahead
	first    int32 // its first worker
	woken    []int32
	rousing  int       // workers that are being woken, whichever they are
	called   int       // workers that look for tasks and are about to ask for one, whichever they are
	turn     int32     // the CPU worker that gives the script its time next
	gangs    [][]int32 // by memory of the computer: parallel tasks that wait for workers; the first collects them
	teams    []*gangState
}

// gangState is a parallel task that has workers.
type gangState struct {
	task, leader int32
	members      []int32
	size         int
}

// world is a simulation.
type world struct {
	p       *Program
	m       *Machine
	opt     Options
	ctx     context.Context
	promise sched.Promise

	now   float64
	q     eventQueue
	nodes int // memories of a computer
	ranks []rank
	nets  []*network
	out   []lane // by computer: its network, by way
	in    []lane

	classes     []class
	allowed     []*sched.Set // by group of the program
	workers     []worker
	mems        []memory
	copies      [][]copyState
	useAt       []int32
	seen        []int32 // by cell, for lacks
	stamp       int32
	redux       map[int32][]contribution // by handle
	contributed []int32                  // the handles with contributions

	state []taskState
	waits []int32
	items []sched.Item
	gangs map[int32]*sched.Gang
	locks map[int32]int32   // by cell: the task that has it alone
	parks map[int32][]int32 // by cell: tasks that wait for that

	clearing map[int32][]int32 // by datum whose memory is being cleared: the accesses that wait for that; nil: it is clear

	accesses     []access
	idleAccesses []int32
	flights      []flight
	idleFlights  []int32
	active       []int32 // computers with workers that were woken
	retry        []int32 // memories with more room than before
	beginning    bool    // data that is here begins nothing yet
	roused       bool    // a worker that sleeps was woken, which takes time

	script struct {
		next       int32   // the task that it submits next
		at         float64 // when
		waits      int     // accesses that it waits for
		id         int64   // of these
		since      float64 // when it began to wait
		unfinished int
	}
	ended   int
	freshly []int32 // tasks that became ready together

	linkAt map[[2]int32]int
	out2   []LinkResult
	result *Result
}

// StuckError says that tasks did not run although nothing else happens.
type StuckError struct {
	Tasks int
	Why   string
}

func (e *StuckError) Error() string {
	return fmt.Sprintf("the simulation stops with %d tasks left: %s", e.Tasks, e.Why)
}

// Run simulates p on m. Errors are a *MachineError, those of sched.Parse, a *StuckError, and the cause of the context.
func Run(ctx context.Context, p *Program, m *Machine, o Options) (*Result, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	if o.Policy == "" {
		o.Policy = sched.Default
	}
	entry, err := sched.Parse(o.Policy)
	if err != nil {
		return nil, err
	}
	if o.Ahead == 0 {
		o.Ahead = engine.DefaultAhead
	}
	if w := len(p.Graph.Workers); w > 0 && w != m.Workers() {
		return nil, &MachineError{"the workers of a computer", fmt.Sprintf("the tasks were planned for %d, and the machine has %d; plan them with Machine.Planner", w, m.Workers())}
	}
	if p, err = p.Distribute(ctx, m.Computers); err != nil {
		return nil, err
	}
	s := newWorld(ctx, p, m, o, entry)
	if err := s.run(); err != nil {
		return nil, err
	}
	return s.finish(), nil
}

func newWorld(ctx context.Context, p *Program, m *Machine, o Options, entry sched.Entry) *world {
	n := len(p.Graph.Tasks)
	s := &world{p: p, m: m, opt: o, ctx: ctx, promise: entry.Priorities, redux: map[int32][]contribution{}, gangs: map[int32]*sched.Gang{}, locks: map[int32]int32{}, parks: map[int32][]int32{}, clearing: map[int32][]int32{},
		state: make([]taskState, n), waits: slices.Clone(p.waits), items: make([]sched.Item, n), linkAt: map[[2]int32]int{}}
	classes, of := m.classes()
	s.classes = classes
	s.nodes = m.CPU.NUMA
	for i := range m.Devices {
		s.nodes += m.Devices[i].Count
	}
	s.copies, s.seen, s.useAt = make([][]copyState, len(p.cells)), make([]int32, len(p.cells)), slices.Clone(p.cellAt[:len(p.cells)])
	s.result = newResult(p, m, o, entry, n, s.nodes)
	for r := range m.Computers {
		s.nets = append(s.nets, m.newNetwork(s.nodes))
		s.out, s.in = append(s.out, lane{bandwidth: m.Network.Bandwidth}), append(s.in, lane{bandwidth: m.Network.Bandwidth})
		for k := range s.nodes {
			s.mems = append(s.mems, memory{stat: &s.result.Nodes[r*s.nodes+k]})
		}
		for k := range s.nodes {
			s.mems[r*s.nodes+k].capacity = m.capacity(k)
		}
		for w, c := range of {
			s.workers = append(s.workers, worker{rank: int32(r), node: int32(r*s.nodes + m.nodeOf(w)), class: c, task: -1, idle: true})
		}
		s.ranks = append(s.ranks, rank{first: int32(r * len(of)), gangs: make([][]int32, s.nodes), teams: make([]*gangState, s.nodes)})
	}
	s.allow()
	for r := range s.ranks {
		k := &s.ranks[r]
		k.policy = entry.New(s.machine(int32(r)))
		k.feedback, _ = k.policy.(sched.Feedback)
		if k.ahead, _ = k.policy.(sched.Ahead); o.Ahead < 0 {
			k.ahead = nil
		}
	}
	for i := range p.Graph.Tasks {
		s.items[i] = sched.Item{Priority: int32(min(max(p.Graph.Tasks[i].Priority, math.MinInt32), math.MaxInt32)), Order: int64(i), Allowed: s.allowed[p.group[i]]}
	}
	return s
}

// capacity is that of memory k of a computer; 0: it has no bound.
func (m *Machine) capacity(k int) int64 {
	if k == 0 {
		return 0
	}
	if k < m.CPU.NUMA {
		return m.CPU.Memory
	}
	k -= m.CPU.NUMA
	for i := range m.Devices {
		if k < m.Devices[i].Count {
			return m.Devices[i].Memory
		}
		k -= m.Devices[i].Count
	}
	return 0
}

// nodeOf is the memory of worker w of a computer.
func (m *Machine) nodeOf(w int) int {
	if n := m.CPU.Workers * m.CPU.NUMA; w < n {
		return w / m.CPU.Workers
	} else {
		w -= n
	}
	node := m.CPU.NUMA
	for i := range m.Devices {
		d := &m.Devices[i]
		if w < d.Count*d.Units {
			return node + w/d.Units
		}
		w -= d.Count * d.Units
		node += d.Count
	}
	return node
}

// allow makes the sets of workers that may run tasks.
func (s *world) allow() {
	for _, g := range s.p.groups {
		var ws []int
		for w, x := range g.seconds {
			if !(x < 0) {
				ws = append(ws, w)
			}
		}
		if len(g.seconds) == 0 || len(ws) == len(g.seconds) {
			s.allowed = append(s.allowed, nil)
		} else {
			s.allowed = append(s.allowed, sched.NewSet(ws...))
		}
	}
}

// machine is what the policy of a computer sees.
func (s *world) machine(r int32) sched.Machine {
	first := r * int32(s.m.Workers())
	m := sched.Machine{Now: func() float64 { return s.now }}
	for w := range s.m.Workers() {
		k := &s.workers[first+int32(w)]
		m.Workers = append(m.Workers, sched.Worker{Arch: s.classes[k.class].name, Node: int(k.node) % s.nodes, Speed: 1, Memory: s.mems[k.node].capacity})
	}
	m.Estimate = func(it *sched.Item, w int) (float64, bool) {
		d, _ := s.duration(int32(it.Order), first+int32(w))
		return max(d, 0), true
	}
	m.Kind = func(it *sched.Item) any { return s.p.kinds[it.Order] }
	m.Data = func(it *sched.Item, visit func(id, bytes int64)) {
		for _, o := range s.p.Graph.Tasks[it.Order].Operands {
			visit(int64(o.Handle), s.p.Graph.Handles[o.Handle].Bytes)
		}
	}
	m.Gang = func(it *sched.Item) *sched.Gang { return s.gangs[int32(it.Order)] }
	m.Wake = func(w int) { s.wake(r, int32(w)) }
	if s.nodes > 1 {
		m.Missing = func(it *sched.Item, w int) int64 {
			var bytes int64
			s.missing(int32(it.Order), s.workers[first+int32(w)].node, func(_ int32, n int64) { bytes += n })
			return bytes
		}
		m.Transfer = func(it *sched.Item, w int) (seconds float64) {
			node := s.workers[first+int32(w)].node
			s.missing(int32(it.Order), node, func(from int32, n int64) {
				seconds += s.nets[r].estimate(int(from)%s.nodes, int(node)%s.nodes, n)
			})
			return seconds
		}
	}
	return m
}

// missing calls fn for each operand that a task reads and a memory lacks, in part: where most of it is, and its bytes.
func (s *world) missing(task, node int32, fn func(from int32, bytes int64)) {
	for _, o := range s.p.Graph.Tasks[task].Operands {
		if !stays(o.Mode) || !o.Mode.Reads() {
			continue
		}
		from, bytes := int32(-1), int64(0)
		for _, c := range s.p.Graph.CellsOf(o.Handle) {
			if k := s.on(c, node); k != nil && (k.state != roomOnly || k.flight >= 0) {
				continue
			}
			if at := s.source(c, node); at >= 0 {
				from, bytes = at, bytes+s.p.cells[c]
			} else if node%int32(s.nodes) != 0 { // its first value, which is in main memory
				from, bytes = node-node%int32(s.nodes), bytes+s.p.cells[c]
			}
		}
		if bytes > 0 {
			fn(from, bytes)
		}
	}
}

// duration is how long a task takes on a worker, of a parallel task with the workers that it has, or else its most.
func (s *world) duration(task, w int32) (seconds float64, guessed bool) {
	t := &s.p.Graph.Tasks[task]
	seconds, guessed = s.classes[s.workers[w].class].estimate(t)
	if g := s.gangs[task]; g != nil && g.Size > 0 && g.Size < int(t.Workers) {
		seconds *= float64(t.Workers) / float64(g.Size)
	}
	return seconds, guessed
}

// run goes on until all tasks have ended.
func (s *world) run() error {
	n := int32(len(s.state))
	for w := range s.workers { // workers look for tasks before there are any, which policies remember
		s.next(int32(w))
	}
	for steps := 0; ; steps++ {
		if steps&0xfff == 0 && s.ctx.Err() != nil {
			return context.Cause(s.ctx)
		}
		submits := s.script.next < n && s.script.unfinished < s.window() && (s.script.waits == 0 || s.together(s.script.next))
		switch {
		case submits && (len(s.q.list) == 0 || s.script.at <= s.q.list[0].at):
			s.now = max(s.now, s.script.at)
			s.submit()
		case len(s.q.list) > 0:
			e := s.q.pop()
			s.now = e.at
			switch e.kind {
			case kernelEnds:
				s.kernelEnded(e.what)
			case copyEnds:
				s.arrive(e.what)
			case dataCleared:
				s.cleared(e.what)
			case workerWakes:
				s.awake(e.what)
			}
		case s.ended == int(n):
			return nil
		default:
			if !s.rescue() {
				return s.stuck()
			}
		}
		s.settle()
	}
}

// together reports whether a task belongs to the access that the script waits for: that of another computer, or a message for it.
func (s *world) together(i int32) bool {
	t := &s.p.Graph.Tasks[i]
	return s.p.rank != nil && (t.Internal == sendTask || t.Internal == "acquire" && t.ID == s.script.id)
}

func (s *world) window() int {
	if w := s.m.Script.Window; w > 0 {
		return w
	}
	return engine.DefaultWindow
}

// stuck says why nothing happens.
func (s *world) stuck() error {
	e := &StuckError{Tasks: len(s.state) - s.ended, Why: "the policy gives them to no worker"}
	for i := range s.mems {
		if m := &s.mems[i]; len(m.waiting) > 0 {
			x := &s.accesses[m.waiting[0]]
			e.Why = fmt.Sprintf("%s needs %d bytes of %s, which has %d; use smaller parts, or give it more memory",
				s.p.Graph.Tasks[x.task].Label(), s.lacks(x.task, x.node), m.stat.Name, m.capacity)
			return e
		}
	}
	for i := range s.state {
		if t := &s.p.Graph.Tasks[i]; s.state[i] == ready && s.items[i].Allowed != nil && s.items[i].Allowed.First() < 0 {
			e.Why = fmt.Sprintf("no worker may run %s", t.Label())
			break
		}
	}
	return e
}

// rescue lets all idle workers ask their policies once more. A policy whose wake-ups lead to that is at fault, and slower in a run.
func (s *world) rescue() (any bool) {
	for w := range s.workers {
		if k := &s.workers[w]; k.idle && !s.ranks[k.rank].policy.Empty() && s.next(int32(w)) {
			any = true
		}
	}
	if any {
		s.result.Rescues++
	}
	return any
}

// submit submits the script's next task.
func (s *world) submit() {
	i := s.script.next
	t := &s.p.Graph.Tasks[i]
	began := max(s.now, s.script.at)
	s.script.next++
	s.script.unfinished++
	if t.Internal == "" {
		n := float64(s.m.Computers) // all go on side by side, and each has its share of the tasks
		s.script.at = s.now + s.m.Script.Submit/n + s.m.Script.Skip*(n-1)/n
	}
	if t.Internal == "acquire" {
		if s.script.waits == 0 {
			s.script.since = s.now
		}
		s.script.waits++
		s.script.id = t.ID
	}
	if t.Internal == "" && s.m.Script.Shared {
		s.borrow(s.rankOf(i), s.script.at-s.now)
	}
	s.state[i] = submitted
	if s.waits[i] == 0 {
		s.freshly = append(s.freshly, i)
		s.roused = false
		s.give(-1)
		if s.roused {
			s.script.at = max(s.script.at, s.now+waker*s.m.CPU.Wake)
		}
	}
	s.result.Script += max(0, s.script.at-began)
}

// borrow takes time for the script from a CPU worker of a computer, unless one has no task: the script uses its processor.
func (s *world) borrow(r int32, seconds float64) {
	k := &s.ranks[r]
	n := int32(s.m.CPU.Workers * s.m.CPU.NUMA)
	cpus := s.workers[k.first : k.first+n]
	if slices.ContainsFunc(cpus, func(w worker) bool { return w.task < 0 }) {
		return
	}
	k.turn = (k.turn + 1) % n
	cpus[k.turn].owed += seconds
}

// give gives tasks that became ready to their policies, or does what needs no worker. w released them; -1: the script.
func (s *world) give(w int32) {
	fresh := s.freshly
	s.freshly = nil
	if len(fresh) > 1 {
		slices.SortStableFunc(fresh, func(a, b int32) int { return s.byPromise(a, b) })
	}
	for _, i := range fresh {
		t := &s.p.Graph.Tasks[i]
		r := s.rankOf(i)
		if t.Light() || t.Internal == sendTask {
			s.state[i] = running
			s.light(i, t, r)
			continue
		}
		s.state[i] = ready
		k := &s.ranks[r]
		if t.Workers > 1 && s.gangs[i] == nil {
			s.gangs[i] = &sched.Gang{Least: 1, Most: int(t.Workers)}
		}
		from := sched.Outside
		if w >= 0 && s.workers[w].rank == r {
			from = int(w - k.first)
		}
		to := k.policy.Push(&s.items[i], from)
		if to != sched.Nobody {
			s.wake(r, int32(to))
		}
		if to >= 0 {
			s.given(k.first+int32(to), i)
		}
	}
}

// byPromise orders tasks that became ready together as the policy promises.
func (s *world) byPromise(a, b int32) int {
	level := func(i int32) int32 {
		p := s.items[i].Priority
		switch {
		case s.promise == sched.Unordered, s.promise == sched.Front && p <= 0:
			return 0
		case s.promise == sched.Front:
			return 1
		}
		return p
	}
	return cmp.Or(cmp.Compare(level(b), level(a)), cmp.Compare(a, b))
}

// rankOf is the computer that runs a task.
func (s *world) rankOf(i int32) int32 {
	if s.p.rank == nil {
		return 0
	}
	return s.p.rank[i]
}

// next lets a worker ask for a task. It reports whether it has one.
func (s *world) next(w int32) bool {
	k := &s.workers[w]
	r := &s.ranks[k.rank]
	k.idle = true
	for {
		if g := r.teams[int(k.node)%s.nodes]; g != nil && s.mayJoin(g, w) {
			s.join(g, w)
			return true
		}
		if s.queued(w) {
			return true
		}
		it := r.policy.Pop(int(w - r.first))
		if it == nil {
			if k.awake { // one looks for tasks at a time, as in a run
				k.awake = false
				if !s.looking(k.rank, int32(sched.Anyone)) {
					k.looks = s.now + s.m.CPU.Look
				}
			}
			return false
		}
		k.awake = true
		i := int32(it.Order)
		if !s.lock(i) {
			continue // it comes back
		}
		k.idle = false
		s.state[i] = running
		if s.gangs[i] != nil && s.lead(w, i) {
			return true
		}
		s.begin(w, i)
		return true
	}
}

// lock takes what a task uses alone, though in any order with others. False: it waits for that.
func (s *world) lock(i int32) bool {
	t := &s.p.Graph.Tasks[i]
	free := true
	s.eachLock(t, func(c int32) {
		if o, ok := s.locks[c]; ok && o != i && free {
			free = false
			s.parks[c] = append(s.parks[c], i)
		}
	})
	if free {
		s.eachLock(t, func(c int32) { s.locks[c] = i })
	}
	return free
}

func (s *world) eachLock(t *graph.Task, fn func(c int32)) {
	for _, o := range t.Operands {
		if o.Mode.Commutes() || o.Unordered && o.Mode.Writes() {
			for _, c := range s.p.Graph.CellsOf(o.Handle) {
				fn(c)
			}
		}
	}
}

// unlock gives back what lock took, and tasks that waited for it to the policy.
func (s *world) unlock(t *graph.Task) {
	s.eachLock(t, func(c int32) {
		delete(s.locks, c)
		if p := s.parks[c]; len(p) > 0 {
			delete(s.parks, c)
			s.freshly = append(s.freshly, p...)
		}
	})
}

// begin gives a worker a task.
func (s *world) begin(w, i int32) {
	k := &s.workers[w]
	k.task = i
	k.access = s.newAccess(i, w, k.node)
	s.start(k.access)
}

func (s *world) newAccess(task, worker, node int32) int32 {
	var a int32
	if k := len(s.idleAccesses); k > 0 {
		a, s.idleAccesses = s.idleAccesses[k-1], s.idleAccesses[:k-1]
	} else {
		a = int32(len(s.accesses))
		s.accesses = append(s.accesses, access{})
	}
	s.accesses[a] = access{task: task, worker: worker, node: node, from: -1, popped: s.now}
	return a
}

// start gets room for an access and its data, or makes it wait for room.
func (s *world) start(a int32) {
	x := &s.accesses[a]
	if m := &s.mems[x.node]; len(m.waiting) > 0 && x.worker >= 0 || !s.admitted(a) {
		m := &s.mems[s.accesses[a].node]
		m.waiting = append(m.waiting, a)
	}
}

func (s *world) admitted(a int32) bool {
	s.beginning = true
	ok := s.admit(a)
	s.beginning = false
	if ok && s.accesses[a].pending == 0 {
		s.dataHere(a)
	}
	return ok
}

// readmit lets accesses that wait for room have theirs, in their order.
func (s *world) readmit(node int32) {
	m := &s.mems[node]
	for len(m.waiting) > 0 {
		if !s.admitted(m.waiting[0]) {
			return
		}
		m.waiting = m.waiting[1:]
	}
}

// dataHere begins what an access is for: everything that it reads is there.
func (s *world) dataHere(a int32) {
	x := s.accesses[a]
	if x.worker < 0 {
		s.lightHere(a)
		return
	}
	k := &s.workers[x.worker]
	d, guessed := s.duration(x.task, x.worker)
	if guessed {
		s.result.guess(s.p.Graph.Tasks[x.task].Codelet)
	}
	t := &s.result.tasks[x.task]
	t.worker, t.popped, t.started = x.worker, x.popped, s.now
	k.wait += s.now - x.popped
	k.began = s.now
	r := &s.ranks[k.rank]
	if r.feedback != nil {
		r.feedback.Started(&s.items[x.task], int(x.worker-r.first))
	}
	s.q.push(s.now+max(d, 0), kernelEnds, x.worker)
	s.lookAhead(x.worker)
}

// kernelEnded ends the task of a worker.
func (s *world) kernelEnded(w int32) {
	k := &s.workers[w]
	if owed := k.owed; owed > 0 {
		k.owed = 0
		s.q.push(s.now+owed, kernelEnds, w)
		return
	}
	i := k.task
	r := &s.ranks[k.rank]
	if r.feedback != nil {
		r.feedback.Ended(&s.items[i], int(w-r.first), s.now-k.began)
	}
	members := []int32{w}
	if k.gang != nil {
		members = k.gang.members
	}
	for _, v := range members {
		m := &s.workers[v]
		m.busy += s.now - k.began
		m.tasks++
		m.task, m.gang = -1, nil
	}
	s.store(i, k.node)
	s.release(k.access)
	s.roused = false
	s.end(i, w)
	for _, v := range members {
		if v == w && s.roused { // it comes to that when it has woken others
			s.workers[v].waking = true
			s.q.push(s.now+waker*s.m.CPU.Wake, workerWakes, v)
			continue
		}
		s.next(v)
	}
}

// end ends a task and releases others.
func (s *world) end(i, w int32) {
	s.state[i] = done
	s.ended++
	s.script.unfinished--
	s.result.tasks[i].ended = s.now
	t := &s.p.Graph.Tasks[i]
	s.unlock(t)
	if t.Internal == "acquire" {
		s.script.waits--
		wait := s.m.Script.Wait
		if s.now-s.script.since >= s.m.CPU.Look { // it sleeps meanwhile
			wait = max(wait, s.m.CPU.Wake)
		}
		s.result.Script += max(0, s.now+wait-max(s.script.at, s.now))
		s.script.at = max(s.script.at, s.now+wait)
	}
	for _, n := range s.p.next[i] {
		if s.waits[n]--; s.waits[n] == 0 && s.state[n] == submitted {
			s.freshly = append(s.freshly, n)
		}
	}
	if len(s.freshly) > 0 {
		s.give(w)
	}
}

// light does what needs no worker: the script's accesses in main memory, the end of data, messages.
func (s *world) light(i int32, t *graph.Task, r int32) {
	main := r * int32(s.nodes)
	reads := slices.ContainsFunc(t.Operands, func(o graph.Operand) bool { return stays(o.Mode) && o.Mode.Reads() })
	home := t.Internal == "unregister" && slices.ContainsFunc(t.Operands, func(o graph.Operand) bool { return s.p.Graph.Handles[o.Handle].Home })
	switch {
	case t.Internal == "acquire" || home && reads:
		s.start(s.newAccess(i, -1, main))
		return
	case t.Internal == sendTask:
		s.start(s.newAccess(i, -1, s.p.from[i]*int32(s.nodes)))
		return
	case t.Internal == "invalidate" || t.Internal == "unregister":
		s.forget(t)
	}
	s.end(i, -1)
}

// forget drops all copies of data.
func (s *world) forget(t *graph.Task) {
	for _, o := range t.Operands {
		for _, c := range s.p.Graph.CellsOf(o.Handle) {
			for len(s.copies[c]) > 0 {
				s.drop(c, s.copies[c][0].node)
			}
		}
	}
}

// lightHere goes on with light once its data is there.
func (s *world) lightHere(a int32) {
	x := s.accesses[a]
	t := &s.p.Graph.Tasks[x.task]
	if t.Internal == sendTask && x.from < 0 {
		s.send(a)
		return
	}
	s.result.tasks[x.task].started = s.now
	if t.Internal == "unregister" {
		s.release(a)
		s.forget(t)
	} else {
		s.store(x.task, x.node)
		s.release(a)
		if x.from >= 0 {
			s.release(x.from)
		}
	}
	s.end(x.task, -1)
}

// sendTask is the internal kind of a task that is a message: it reads data on one computer and writes its copy on another.
const sendTask = "send"

// send sends the data of access a, which is in main memory, to another computer.
func (s *world) send(a int32) {
	x := s.accesses[a]
	to := s.p.rank[x.task] * int32(s.nodes)
	b := s.newAccess(x.task, -1, to)
	s.accesses[b].from = a
	s.wants(x.task, to, func(c int32, _ iface.AccessMode) {
		if s.on(c, to) == nil {
			s.room(c, to)
		}
	})
	s.pin(&s.accesses[b], 1)
	s.mems[to].pinned++
	s.fly(nil, x.node, to, to, s.p.Graph.Handles[s.p.Graph.Tasks[x.task].Operands[0].Handle].Bytes, x.task, b)
}
