package interp

// The machine: one run of a program, its frames, and the entry points.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/format"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/cluster"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/types"
)

// Config sets up one run.
type Config struct {
	Runtime  *engine.Runtime
	Params   []NamedValue
	Bindings []NamedBinding
	Late     []*HostFunc
	Stdout   io.Writer // nil: os.Stdout
	Files    FileSystem
	// FileSizes stand, in plans, for files that load names and that need not be there,
	// by clean names.
	FileSizes map[string][]int
	Limits    Limits
	Totals    Totals
	Observe   func(*engine.Job)
	// Ranks are the processes that run the program together; nil: this one does alone.
	Ranks cluster.Comm
	// OnRanks is called at the end of a run on several ranks, with what each did. It is set on all of them, or on none.
	OnRanks func(*cluster.Report)
	// PlanRanks is for how many ranks a plan is made; 0: one. Runs ignore it, and plans ignore Ranks.
	PlanRanks int
	// Deterministic is engine.JobOptions.Deterministic.
	Deterministic bool
	// Digits is the number of significant digits of a float that print shows; digits
	// before the point are always shown. 0: as many as read back the same.
	Digits int
	// Checkpoints returns the folder of the system that a checkpoint names; nil: there are none.
	Checkpoints func(name string) (dir string, err error)
	// Resume is where the run goes on; nil: it starts from the beginning.
	Resume *engine.Checkpoint
	// OnView is called with each view and the names of its parts; it may be nil.
	OnView func(parts []*datamgr.Handle, name func(k int) string)
	// OnEvent is called with the events of the run; it may be nil.
	OnEvent func(Event)
	// Values gets what value() returns in a run, and says so in a plan; nil: plans know no values.
	Values *Values
}

// Values are what calls of value() have returned in a run, in their order.
type Values struct{ read []valueRead }

// valueRead is one call of value(): its place in the script, and the result.
type valueRead struct {
	file  string
	at    int // offset
	value any
}

func readAt(at position, v any) valueRead {
	s := at.span()
	return valueRead{s.File, int(at.at.Lo), v}
}

// NamedValue is a param from the host.
type NamedValue struct {
	Name  string
	Value any
}

// Machine is one run. One goroutine uses it at a time, apart from Stats.
type Machine struct {
	prog   *Program
	cfg    *Config
	rt     *engine.Runtime
	job    *engine.Job
	counts atomic.Pointer[engine.Job]  // job, for Stats
	shared atomic.Pointer[cluster.Job] // ranks, for GiveUp
	// ranks has the tasks of a run on several ranks, and job those of this rank; nil: there is one.
	ranks         *cluster.Job
	toRankZero    bool // while rank 0 saves: acquireData gives it the values, and the others nothing
	ranksReported bool // Config.OnRanks was called
	failedAlone   bool // an error is that of this rank, such as a full disk where it prints
	// rankTask is that of the last insert on several ranks: most are of other ranks, and need no memory.
	rankTask cluster.Task

	devices *devices
	events  *events // nil: there is no listener

	ctx   context.Context // of the running entry point
	done  <-chan struct{}
	outer []context.Context // of the entry points whose host functions called that, outermost first

	input     *format.Input // a file that load = has opened and the registration will read
	elide     int           // SetElide
	echoing   bool          // the text of a value is for the session
	showing   bool          // the text of a value is to be read, by print or the session
	digits    int           // Config.Digits
	unwritten []string      // data shown with "?" in this entry
	replaced  []ReplacedView
	shownFrom [iface.MaxRank]int // the place of the first element that is shown

	units []*frame // top-level frames, by unit
	stack []*frame // frames of calls, reused; stack[k] serves depth k+1
	depth int
	// inFrames is the bytes of the slots in stack.
	inFrames int64
	cur      *frame // the running frame, for stacks in diagnostics
	sites    []*siteState
	owned    []owned // what the open blocks own, innermost last
	bases    []int   // len(owned) at the start of each open block that owns
	late     map[string]*HostFunc
	params   map[string]any
	binds    map[string]*Binding
	keep     []any // Go memory that is the home of data
	places   map[position]*engine.Site

	record   *record                  // of a session
	planCode planCode                 // of a session
	bundles  map[int64]*engine.Bundle // groups of tasks, by number
	ordered  map[int][]int64          // places that a session has given to tasks, by worker

	limits  Limits
	plan    *planning // nil: tasks run
	unknown bool      // in a plan: what the running statement has read is not known

	fuel     int64 // steps left before refuel
	granted  int64
	may      budget // of the running call, by limits and totals
	used     budget // by the running call
	spent    budget // by those before it
	stdout   io.Writer
	inserted int // by the running entry of a session
	ran      int // of that: top-level statements before the one that runs; -1: none runs yet
	// ranInserted is how many tasks those inserted.
	ranInserted int

	checkpoints *checkpoints        // nil: the script writes none, or they are over
	registers   registers           // while there are checkpoints
	held        heldArrays          // by the script
	pending     []*engine.TaskError // failures not raised yet
	told        int64               // the last task, in the order of insertion, when a failure was last reported
	causes      []error             // why calls were cancelled, as reported
	watch       func() error        // stops the watch on the context given to Start
	runCtx      context.Context     // that context; nil once the watch is over
	started     context.CancelFunc
	entered     int // nesting of entry points
	closed      bool
	err         error // what Close returned
}

// frame holds the slots of one top level or one call. A slot is used either in n
// or in r, by the type of its name.
type frame struct {
	n   []int64
	r   []any
	m   *Machine
	g   *frame // the top-level frame of the unit that the code belongs to
	def []bool // top-level frames: slots whose statement has run

	retN   int64
	retR   any
	parent *frame
	fn     *funcCode
	site   *callSite    // the call that made this frame
	call   *engine.Call // of site, made when a task is inserted
	base   int          // len(m.bases) at the start of the call

	unk        []bool // in plans: slots whose value is not known
	retUnknown bool
}

// raised is the private panic that carries an error to the entry point.
type raised struct{ err error }

// newMachine prepares a run without executing anything.
func newMachine(p *Program, cfg *Config) (*Machine, error) {
	if cfg.Runtime == nil {
		return nil, errors.New("lang: the engine's runtime is nil")
	}
	if cfg.Runtime.Closed() {
		return nil, fmt.Errorf("lang: the engine's runtime: %w", engine.ErrClosed)
	}
	m := &Machine{prog: p, cfg: cfg, rt: cfg.Runtime, devices: newDevices(cfg.Runtime), stdout: cfg.Stdout,
		late: map[string]*HostFunc{}, params: map[string]any{}, binds: map[string]*Binding{}}
	if m.stdout == nil {
		m.stdout = os.Stdout
	}
	m.digits = max(0, cfg.Digits)
	m.limits = cfg.Limits.Tighten(Limits{}) // fills in the defaults
	m.limits.CallDepth = min(m.limits.CallDepth, MaxCallDepth)
	m.recount()
	for _, f := range cfg.Late {
		m.late[f.Name] = f
	}
	for _, v := range cfg.Params {
		m.params[v.Name] = v.Value
	}
	for _, b := range cfg.Bindings {
		if b.Data == nil {
			return nil, fmt.Errorf("lang: Bind(%q): the data is nil", b.Name)
		}
		if b.Data.NoMemory {
			if err := b.checkSizes(p.plan); err != nil {
				return nil, err
			}
			m.binds[b.Name] = b.Data
			continue
		}
		if b.Data.File != "" {
			m.binds[b.Name] = b.Data
			continue
		}
		if b.Data.Fields != nil {
			m.binds[b.Name] = b.Data
			continue
		}
		if b.Data.Kind == 0 || b.Data.Elem == 0 || (b.Data.Home == nil && b.Data.mustHaveHome()) {
			return nil, fmt.Errorf("lang: Bind(%q): the data has no memory", b.Name)
		}
		m.binds[b.Name] = b.Data
	}
	if err := checkAlias(m.homes()); err != nil {
		return nil, err
	}
	for range p.units {
		m.units = append(m.units, m.newTop())
	}
	m.sites = make([]*siteState, p.nsites)
	if p.open && !p.plan {
		m.record = &record{}
	}
	if err := m.open(); err != nil {
		return nil, err
	}
	return m, nil
}

// homes are the bindings that have memory: of a name the last, and of structs each field.
func (m *Machine) homes() (out []NamedBinding) {
	all := slices.DeleteFunc(slices.Clone(m.cfg.Bindings), func(b NamedBinding) bool { return m.binds[b.Name] != b.Data || b.Data.NoMemory || b.Data.File != "" })
	for _, b := range all {
		for _, f := range b.Data.Fields {
			out = append(out, NamedBinding{b.Name + "." + f.Name, &Binding{Kind: iface.Vector, Elem: f.Elem, Dims: b.Data.Dims, Home: f.Home, Step: f.Step, ReadOnly: b.Data.ReadOnly}})
		}
		if b.Data.Fields == nil {
			out = append(out, b)
		}
	}
	return out
}

// open makes the job whose tasks the machine inserts.
func (m *Machine) open() error {
	o := engine.JobOptions{DetectStuck: true, Stats: true, Deterministic: m.cfg.Deterministic, MaxInFlight: m.limits.maxInFlight(), Bounded: true,
		MaxWorkers: m.limits.MaxWorkers, Weight: m.limits.Weight}
	if m.cfg.OnEvent != nil {
		if m.events == nil {
			m.events = newEvents(m.rt, m.cfg.OnEvent)
		}
		o.Listener = m.events
	}
	if m.record != nil {
		o.OnInternal = m.record.internal
		m.ordered = nil
	}
	switch planned := m.prog.plan; {
	case planned && m.cfg.PlanRanks > 1:
		m.ranks = cluster.NewPlan(context.Background(), m.rt, m.cfg.PlanRanks, cluster.Options{JobOptions: o})
		m.job = m.ranks.Local()
	case !planned && m.cfg.Ranks != nil:
		m.ranks = cluster.NewJob(context.Background(), m.rt, m.cfg.Ranks, cluster.Options{JobOptions: o, Describe: describeFailure})
		m.job = m.ranks.Local()
	default:
		m.job = m.rt.NewJob(context.Background(), o)
	}
	m.counts.Store(m.job)
	m.shared.Store(m.ranks)
	if m.record != nil {
		m.record.begin(m.job)
	}
	if m.cfg.Observe != nil {
		if err := protect(func() error { m.cfg.Observe(m.job); return nil }); err != nil {
			m.job.Close()
			return fmt.Errorf("lang: Observe: %w", err)
		}
	}
	return nil
}

func (m *Machine) newTop() *frame {
	f := &frame{m: m}
	f.g = f
	return f
}

// grow makes room for n slots in a top-level frame.
func (f *frame) grow(n int) {
	for len(f.n) < n {
		f.n = append(f.n, 0)
		f.r = append(f.r, nil)
		f.def = append(f.def, false)
		f.unk = append(f.unk, false)
	}
}

// Start executes the main unit of p, imported ones first, and returns when all is
// submitted. On an error nothing is left.
func Start(ctx context.Context, p *Program, cfg *Config) (*Machine, error) {
	m, err := newMachine(p, cfg)
	if err != nil {
		return nil, err
	}
	if err := m.claim(m.homes()); err != nil {
		m.events.problem(err)
		m.Close()
		return nil, err
	}
	if err := m.checkOptions(); err != nil {
		m.events.problem(err)
		m.Close()
		return nil, err
	}
	run, cancel := m.limits.Bound(ctx)
	m.started, m.runCtx = cancel, run
	m.watch = m.job.CancelWhen(run)
	if err := m.beginCheckpoints(); err != nil {
		m.events.problem(err)
		if m.ranks != nil {
			m.ranks.Fail(err)
		}
		m.Close()
		return nil, err
	}
	returned := false
	defer func() { // the host may have ended the goroutine in a function of its own
		if err != nil || !returned {
			m.meetFailed(run, err)
			m.unwatch()
			if m.ranks != nil {
				m.ranks.Fail(err)
			}
			m.job.Cancel(err)
			m.Close()
		}
	}()
	err = m.enter(run, func() {
		for k, u := range p.units {
			m.runUnit(m.units[k], u, u.unit != p.main)
		}
		m.endCheckpoints()
	})
	returned = true
	if err != nil {
		return nil, err
	}
	return m, nil
}

// runUnit executes the statements of one unit in its top-level frame. The exports of an
// imported unit are frozen.
func (m *Machine) runUnit(f *frame, u *unitCode, imported bool) {
	f.grow(u.unit.Slots)
	m.cur = f
	u.body(f)
	if !imported {
		return
	}
	for _, o := range u.unit.Objects {
		if o.Global && reprOf(o.Type) == rRef && o.Slot < len(f.r) {
			freeze(f.r[o.Slot])
		}
	}
}

// Context is ctx, or one that never ends for nil.
func Context(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}

// Bound applies the timeout of l to ctx, which may be nil.
func (l Limits) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx = Context(ctx)
	if t := l.Timeout; t > 0 {
		return context.WithTimeoutCause(ctx, t, &LimitError{Kind: "timeout", Limit: int64(t)})
	}
	return context.WithCancel(ctx)
}

// enterUntil is enter for what inserts tasks: when ctx, or the time that the limits
// allow, ends before it returns, tasks are dropped and refused. Then dropped is set, and
// there is an error.
func (m *Machine) enterUntil(ctx context.Context, fn func()) (dropped bool, err error) {
	run, cancel := m.limits.Bound(ctx)
	defer cancel()
	stop := m.job.CancelWhen(run)
	defer stop()
	err = m.enter(run, func() {
		fn()
		if stop() != nil {
			m.raiseEnded(position{})
		}
	})
	return stop() != nil, err
}

// meetTime is how long a rank whose script has failed waits for the others.
const meetTime = 3 * time.Second

// meetFailed waits for the other ranks. A script that fails does so on all of them: one that is ahead must not give up, and end
// the others, before they have printed what comes before. That it waits for itself is noticed by one rank alone.
func (m *Machine) meetFailed(ctx context.Context, err error) {
	var d *diag.Diagnostic
	if m.ranks == nil || m.failedAlone || !errors.As(err, &d) || d.Code == "R0104" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, meetTime)
	defer cancel()
	if m.ranks.Meet(ctx) == nil { // a rank that does not come has another fault
		m.reportRanks()
	}
}

// reportTime is how long a rank that has come to its end waits for the figures of the others.
const reportTime = 10 * time.Second

// reportRanks gives the host the figures of all ranks, once: those of this rank alone if the others are not there, as in a run that one of them ended.
func (m *Machine) reportRanks() {
	if m.ranks == nil || m.plan != nil || m.cfg.OnRanks == nil || m.ranksReported {
		return
	}
	m.ranksReported = true
	ctx, cancel := context.WithTimeout(context.Background(), reportTime)
	defer cancel()
	r, _ := m.ranks.Report(ctx) // an error is why the run ends, or less than that
	if err := protect(func() error { m.cfg.OnRanks(r); return nil }); err != nil && m.err == nil {
		m.err = fmt.Errorf("lang: ObserveRanks: %w", err)
	}
}

// unwatch ends the watch over the context that was given to Start.
func (m *Machine) unwatch() {
	if m.watch != nil {
		_ = m.watch() // the caller has already seen how it ended
		m.started()
		m.watch, m.started, m.runCtx = nil, nil, nil
	}
}

var errInKernel = fmt.Errorf("lang: an instance cannot be used inside a kernel: %w", engine.ErrWouldDeadlock)

var errClosed = errors.New("lang: the instance is closed")

// usable returns an error if the run takes no calls now. A kernel must not use the run:
// the run's user may be waiting for that kernel.
func (m *Machine) usable() error {
	switch {
	case m.rt.InKernel():
		return errInKernel
	case m.closed:
		return errClosed
	}
	return nil
}

// Between returns an error if an operation on a session, named by what, is not possible
// now: it was called by a kernel, or by a host function of an entry that still runs, and
// would change data that the entry uses.
func (m *Machine) Between(what string) error {
	switch {
	case m.rt.InKernel():
		return errInKernel
	case m.entered > 0:
		return fmt.Errorf("lang: %s inside an entry of the session: one at a time; do it when Eval has returned", what)
	}
	return nil
}

// enter runs fn as an entry point: errors raised in it, and panics, become the
// result. It may be entered again from a host function.
func (m *Machine) enter(ctx context.Context, fn func()) (err error) {
	if err := m.usable(); err != nil {
		return err
	}
	ctx = Context(ctx)
	ctx0, done0, cur0, depth0, bases0, outer0 := m.ctx, m.done, m.cur, m.depth, len(m.bases), m.outer
	if ctx0 != nil {
		m.outer = append(m.outer, ctx0)
	}
	m.ctx, m.done = ctx, ctx.Done()
	m.entered++
	defer func() {
		if r := recover(); r != nil {
			err = m.recovered(r)
		}
		m.entered--
		if m.entered == 0 {
			m.events.problem(err)
		}
		m.ctx, m.done, m.cur, m.depth, m.bases, m.outer = ctx0, done0, cur0, depth0, m.bases[:bases0], outer0
	}()
	if ctx.Err() != nil {
		m.raiseEnded(position{})
	}
	fn()
	return nil
}

// recovered turns what a panic carried into an error.
func (m *Machine) recovered(r any) error {
	if x, ok := r.(*raised); ok {
		return x.err
	}
	d := m.diagnostic("R0109", position{}, fmt.Sprintf("the interpreter failed: %v", r))
	d.Notes = append(d.Notes, "this is a fault of starpush: please report it with the script", string(debug.Stack()))
	return d
}

// Wait returns when all tasks of the run have ended. Its error holds the failures
// that were not raised yet.
func (m *Machine) Wait(ctx context.Context) error {
	if err := m.usable(); err != nil {
		if err == errClosed {
			return nil
		}
		return err
	}
	_, err := m.enterUntil(ctx, func() { m.waitAll(position{}) })
	if err == nil || m.entered == 0 {
		m.unwatch()
	}
	return err
}

// Call runs a function of the main unit. Handles in the result live until Close.
func (m *Machine) Call(ctx context.Context, name string, args []any) (out any, err error) {
	if err := m.usable(); err != nil {
		return nil, err
	}
	obj := m.prog.names[name]
	if obj == nil || obj.Kind != types.FuncObject || obj.Node == nil {
		return nil, fmt.Errorf("lang: the script has no function %s%s", name, m.prog.nearFunc(name))
	}
	m.recount()
	if _, err = m.enterUntil(ctx, func() { out = m.callFromHost(m.prog.funcs[obj], args) }); err != nil {
		return nil, err
	}
	return out, nil
}

// Stats returns counts and times. It may be called from any goroutine.
func (m *Machine) Stats() engine.Stats { return m.counts.Load().Stats() }

// closeJob ends the job, on all ranks.
func (m *Machine) closeJob() error {
	if m.ranks != nil {
		return m.ranks.Close()
	}
	return m.job.Close()
}

// Close waits for the tasks, writes bound data home and frees the rest. The error holds
// failures that were not reported before. It is idempotent.
func (m *Machine) Close() error {
	if m.rt.InKernel() {
		return errInKernel
	}
	if m.closed {
		return m.err
	}
	if m.entered > 0 {
		return errors.New("lang: Close inside a call of the instance")
	}
	m.err = m.enter(context.Background(), func() {
		m.endBlock(0, false)
		m.waitAll(position{})
	})
	m.reportRanks()
	m.closed = true
	m.unwatch()
	if err := m.closeJob(); err != nil && m.err == nil {
		m.err = err
		m.events.problem(err)
	}
	m.keep = nil
	m.disclaim()
	m.events.close()
	return m.err
}

// catch returns what fn raises, so that it can pass through code of others.
func (m *Machine) catch(fn func()) (r *raised) {
	defer func() {
		if x, ok := recover().(*raised); ok {
			r = x
		}
	}()
	fn()
	return nil
}

// savedProgram describes the program of this run.
func (m *Machine) savedProgram() (p savedProgram) {
	for _, u := range m.prog.units {
		s := u.unit.File.Source
		p.Scripts = append(p.Scripts, savedScript{s.Name, string(s.Text)})
	}
	for _, v := range m.cfg.Params {
		p.Params = append(p.Params, savedParam{v.Name, fmt.Sprint(v.Value)})
	}
	slices.SortStableFunc(p.Params, func(a, b savedParam) int { return strings.Compare(a.Name, b.Name) })
	for _, b := range m.cfg.Bindings {
		p.Data = append(p.Data, savedParam{b.Name, fmt.Sprintf("%v %v %v %q", b.Data.Kind, b.Data.Elem, b.Data.Dims, b.Data.File)})
	}
	return p
}

// registerData declares data, with a value if fill is not nil, on this rank.
func (m *Machine) registerData(s engine.DataSpec, fill func(*iface.Buffer) error) (*datamgr.Handle, error) {
	if fill == nil {
		return m.rt.Register(s)
	}
	if src := m.sourceOnRanks(&s); src != nil {
		return m.ranks.RegisterFrom(s, src)
	}
	return m.rt.RegisterFilled(s, fill)
}

// sourceOnRanks returns the file of data that each rank reads as far as it needs, or nil. In runs with a disk the data manager reads files by parts.
func (m *Machine) sourceOnRanks(s *engine.DataSpec) accel.Source {
	if m.ranks == nil || m.plan != nil || m.ranks.Size() == 1 || s.Source == nil || s.Capacity != nil || s.ReadOnly {
		return nil
	}
	if _, bounded := m.rt.DiskNode(); bounded {
		return nil
	}
	return s.Source()
}
