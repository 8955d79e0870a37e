package kernel

// How bodies run on CPU workers: in strips, or as machine code.

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/kernel/cpu"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/kernel/llvm"
)

// Mode is how bodies run on CPU workers. Their results are the same in all modes, bit for
// bit.
type Mode uint8

const (
	// Auto runs a body in strips, and as machine code once its runs have taken some
	// milliseconds and the LLVM library of the machine has compiled it, which happens beside
	// the tasks. A body whose machine code is in the cache runs as that from its first task
	// on. Without a library all bodies stay in strips.
	Auto Mode = iota
	// Strips runs every body in strips, and never loads a library.
	Strips
	// Native compiles a body before its first run. A body that has no machine code runs in
	// strips; without a library, and without machine code in the cache, its tasks fail.
	Native
)

var modeNames = []string{Auto: "auto", Strips: "strips", Native: "native"}

// String returns the name of m.
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return "unknown"
}

// ModeVariable is the environment variable that replaces Auto by the mode of that name.
const ModeVariable = "STARPUSH_KERNELS"

// chosen returns the mode that the environment chooses in place of m.
func (m Mode) chosen() Mode {
	if name := os.Getenv(ModeVariable); m == Auto && name != "" {
		if k := slices.Index(modeNames, name); k >= 0 {
			return Mode(k)
		}
	}
	return m
}

// Options say how bodies run.
type Options struct {
	Mode  Mode
	Cache *llvm.Cache // where machine code is kept; nil: nowhere
	// Instead runs a task in place of strips, with the same results; nil: strips do. In mode Native it also runs
	// tasks of a body that has no machine code.
	Instead func(t Task) error
}

// NewCache returns the cache in a folder, or one that keeps nothing for "".
func NewCache(dir string) *llvm.Cache { return llvm.NewCache(dir) }

// In mode Auto, a body whose runs in strips have taken lookAfter is looked up in the cache, and
// is compiled after compileAfter. A look takes a millisecond, and comes before the first run if
// Cache.MayHave says that it will not be in vain. Compiling takes 20 to 150 ms of a core, which
// shorter scripts would not win back.
const (
	lookAfter    = time.Millisecond
	compileAfter = 25 * time.Millisecond
)

// Program is a body compiled for CPU workers and concrete element types. It is safe for
// concurrent use.
type Program struct {
	strips *cpu.Program
	opts   Options

	native  atomic.Pointer[llvm.Kernel]
	contest contest
	settled atomic.Bool  // native does not change any more
	spent   atomic.Int64 // nanoseconds in strips, until it is settled

	look, once sync.Once  // of the look into the cache, and of compiling
	ask        sync.Once  // of handing the look to the compiler
	body       *llvm.Body // once it was looked up
	why        error      // the reason why there is no machine code; valid once settled
}

// IR returns the representation of the body.
func (p *Program) IR() *ir.Func { return p.strips.IR() }

// SlowLoops returns the loops of the body that have to run one round at a time in strips.
func (p *Program) SlowLoops() []SlowLoop { return p.strips.SlowLoops() }

// Version returns a hash of the body, for performance models.
func (p *Program) Version() string { return p.IR().Hash() }

// Variant is a way in which a body runs on CPU workers: a place in Variants.
type Variant int

// The variants.
const (
	InStrips Variant = iota
	AsCode
)

// Variants names the variants, as performance models call them.
var Variants = []string{InStrips: "strips", AsCode: "native"}

// Next holds the Variant in which a task would run now. In mode Auto it changes once the body
// has machine code, and again if strips are faster.
func (p *Program) Next() *atomic.Int32 { return &p.contest.next }

// Prepare gets the machine code of the body before its first task: in mode Native always, which may
// compile it, and in mode Auto if the cache has it. In mode Strips it does nothing.
func (p *Program) Prepare() {
	switch p.opts.Mode {
	case Native:
		_ = p.compileNow() // the tasks return the error
	case Auto:
		if !p.settled.Load() && p.opts.Cache.MayHave(p.IR()) {
			p.look.Do(p.lookUp)
		}
	}
}

// RunTask runs the body for a task, and returns in which variant. The memory of its operands must
// stay valid until RunTask returns. If the context of t ends, RunTask returns its cause soon. The
// error of a body that fails is a *Fault; then operands that the body writes may hold any values.
// If keep is not nil, *keep holds scratch memory between the runs of one goroutine at a time, of
// any programs.
func (p *Program) RunTask(t ir.Task, keep *any) (Variant, error) {
	if k := p.native.Load(); k != nil {
		if p.opts.Mode == Native {
			return AsCode, k.Run(t)
		}
		return p.contest.run(t, k, p.interpret, keep)
	}
	if p.opts.Mode == Strips || p.settled.Load() {
		return InStrips, p.interpret(t, keep)
	}
	if p.opts.Mode == Native {
		if err := p.compileNow(); err != nil && p.opts.Instead != nil {
			return InStrips, p.opts.Instead(t)
		} else if err != nil {
			return AsCode, err
		}
		return p.RunTask(t, keep)
	}
	start := time.Now()
	err := p.interpret(t, keep)
	if spent := p.spent.Add(int64(time.Since(start))); err != nil {
		return InStrips, err
	} else if spent > int64(compileAfter) {
		p.once.Do(func() { compilations.begin(p.compile) })
	} else if spent > int64(lookAfter) {
		p.ask.Do(func() { compilations.begin(func() { p.look.Do(p.lookUp) }) })
	}
	return InStrips, nil
}

// interpret runs the body in strips, or what Options put in their place.
func (p *Program) interpret(t ir.Task, keep *any) error {
	if p.opts.Instead != nil {
		return p.opts.Instead(t)
	}
	return p.strips.RunTask(t, keep)
}

// contest finds the faster of machine code and strips for the tasks of a body. A task takes some
// ten nanoseconds more as machine code than in strips, which very short ones do not win back.
type contest struct {
	next     atomic.Int32 // Variant in which a task would run now: the winner, once there is one
	over     atomic.Bool  // there is one
	runs     atomic.Int64
	lastCode atomic.Int64 // nanoseconds of the last run as machine code
	// strips is how many runs in strips were faster than the run as machine code before
	// them, less how many were not. A run that other work of the machine held up counts
	// no more than another.
	strips atomic.Int64
}

const (
	contestRuns = 64                    // of both together
	longTask    = 20 * time.Microsecond // machine code wins, whatever a call costs
)

// run runs a task by the faster of both, and returns which that was.
func (c *contest) run(t ir.Task, k *llvm.Kernel, strips func(t ir.Task, keep *any) error, keep *any) (Variant, error) {
	if c.over.Load() {
		if Variant(c.next.Load()) == AsCode {
			return AsCode, k.Run(t)
		}
		if rand.Uint32()%16 != 0 {
			return InStrips, strips(t, keep)
		}
		start := time.Now() // tasks may have grown
		err := strips(t, keep)
		if time.Since(start) > longTask {
			c.won(AsCode)
		}
		return InStrips, err
	}
	n := c.runs.Add(1)
	start := time.Now()
	if n%2 == 1 { // the first: in strips it may take ten times as long
		err := k.Run(t)
		took := time.Since(start)
		if c.lastCode.Store(int64(took)); took > longTask {
			c.won(AsCode)
		}
		return AsCode, err
	}
	err := strips(t, keep)
	took := time.Since(start)
	vote := int64(-1)
	if int64(took) < c.lastCode.Load() {
		vote = 1
	}
	votes := c.strips.Add(vote)
	switch {
	case took > longTask:
		c.won(AsCode)
	case n > contestRuns && votes > 0:
		c.won(InStrips)
	case n > contestRuns:
		c.won(AsCode)
	}
	return InStrips, err
}

// won ends the contest.
func (c *contest) won(v Variant) {
	c.next.Store(int32(v))
	c.over.Store(true)
}

// lookUp writes the IR of the body, and takes its machine code from the cache, if it is there.
// It runs once.
func (p *Program) lookUp() {
	body, err := llvm.NewBody(p.IR())
	if err != nil {
		p.settle(nil, err)
		return
	}
	p.body = body
	if k := body.Cached(p.opts.Cache); k != nil {
		p.settle(k, nil)
	}
}

// compile looks the body up, if that was not done, and compiles it. It runs once.
func (p *Program) compile() {
	p.look.Do(p.lookUp)
	if p.settled.Load() {
		return
	}
	l, err := llvm.Open()
	if err != nil {
		p.settle(nil, err)
		return
	}
	p.settle(p.body.Compile(l, p.opts.Cache))
}

// compileNow is compile in mode Native. The error is that of the library.
func (p *Program) compileNow() error {
	p.once.Do(func() {
		if p.look.Do(p.lookUp); p.settled.Load() {
			return
		}
		if _, err := llvm.Open(); err != nil {
			p.why = fmt.Errorf("bodies of codelets cannot run as machine code: %w; leave out `--kernels native`, or install LLVM 15 or later (Debian: libllvm15)", err)
			return
		}
		p.compile()
	})
	if !p.settled.Load() {
		return p.why
	}
	return nil
}

// settle ends the question whether p has machine code.
func (p *Program) settle(k *llvm.Kernel, why error) {
	p.why = why
	if why == nil {
		p.contest.next.Store(int32(AsCode)) // before a run can end the contest
		p.native.Store(k)
	} else {
		p.contest.next.Store(int32(InStrips))
	}
	p.settled.Store(true)
}

// compilations are the bodies that wait to be looked up or compiled. A goroutine takes one after
// another, and ends when none is left.
var compilations compiler

type compiler struct {
	mu struct {
		sync.Mutex
		queue   []func()
		working bool
		idle    *sync.Cond // of the mutex: no longer working
	}
}

// begin has do run, beside the caller.
func (c *compiler) begin(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.queue = append(c.mu.queue, do)
	if !c.mu.working {
		c.mu.working = true
		go c.work()
	}
}

func (c *compiler) work() {
	for {
		c.mu.Lock()
		if len(c.mu.queue) == 0 {
			c.mu.working = false
			if c.mu.idle != nil {
				c.mu.idle.Broadcast()
			}
			c.mu.Unlock()
			return
		}
		do := c.mu.queue[0]
		c.mu.queue = c.mu.queue[1:]
		c.mu.Unlock()
		do()
	}
}

// Wait waits until the library compiles no body, which takes a moment for each body that has
// run for some time. Programs need not call it: the goroutine ends by itself.
func Wait() {
	c := &compilations
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.idle == nil {
		c.mu.idle = sync.NewCond(&c.mu.Mutex)
	}
	for c.mu.working {
		c.mu.idle.Wait()
	}
}

// Library loads the library that makes machine code, and returns its name, its version and the
// processor. The error is the reason why there is none.
func Library() (string, error) {
	l, err := llvm.Open()
	if err != nil {
		return "", err
	}
	return l.String(), nil
}

// CodeNote says how a loop of a body runs as machine code.
type CodeNote struct {
	Span diag.Span
	Text string
}

// CodeNotes returns how the loops of the body run as machine code, in the order of the source.
// The error is the reason why the body has none. It needs no library.
func (p *Program) CodeNotes() ([]CodeNote, error) {
	b, err := llvm.NewBody(p.IR())
	if err != nil {
		return nil, err
	}
	var out []CodeNote
	for _, n := range b.Notes() {
		out = append(out, CodeNote{p.IR().Source.Span(int(n.Pos.Lo), int(n.Pos.Hi)), n.Text})
	}
	return out, nil
}
