package llvm

// Compiling a body, and running it.

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"unsafe"
	"weak"

	"github.com/starpush/starpush/lang/kernel/cpu"
	"github.com/starpush/starpush/lang/kernel/ir"
)

// Results of the function of a body.
const (
	ended   = 0
	failed  = 1 // by the fault site, with a number
	stopped = 2 // by the program, in a pause
)

// The words that every run begins with, before those of the operands.
const (
	wordPause  = iota // the address of the function that the code calls now and then
	wordRun           // the key of the run
	wordSite          // of a fault: its index in Kernel.faults
	wordNumber        // of a fault: the index or the exponent
	headWords
)

// write writes the function of a body.
func write(fn *ir.Func) (w *writer, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case unsupported:
			err = fmt.Errorf("no machine code for %s", r.why)
		default:
			panic(r)
		}
	}()
	w = newWriter(fn)
	word := func(name string, n int) {
		fmt.Fprintf(&w.entry, "  %s = getelementptr i64, ptr %%words, i64 %d\n", name, n)
	}
	word("%pause.at", wordPause)
	word("%site", wordSite)
	word("%number", wordNumber)
	fmt.Fprintf(&w.entry, "  %%pause = load ptr, ptr %%pause.at\n  %%left = alloca i64\n")
	w.emit("store i64 %d, ptr %%left", budget)
	for _, slot := range fn.Scalars {
		if slot >= 0 {
			w.setFromWord(slot)
		}
	}
	w.stmts(fn.Body, place{})
	return w, nil
}

// newWriter returns the writer of a body.
func newWriter(fn *ir.Func) *writer {
	own := *fn
	own.Slots = slices.Clone(fn.Slots) // some are added
	w := &writer{fn: &own, order: cpu.NewOrder(fn), declares: map[string]string{}, helpers: map[string]bool{}, programs: map[string]string{}, known: map[*ir.Expr]limits{}, certain: map[*ir.Expr]bool{}, locals: map[local]string{},
		operands: map[int]*operand{}, lets: map[int]*ir.Expr{}, elements: map[*ir.Stmt]*ir.Expr{}}
	ir.WalkStmts(fn.Body, func(st *ir.Stmt) {
		if st.Kind == ir.SetStmt && st.Declare && !fn.Slots[st.Slot].Assigned {
			w.lets[st.Slot] = st.Value
		}
	})
	return w
}

// setFromWord sets a local to its word of the run.
func (w *writer) setFromWord(slot int) {
	v := value{name: w.word(headWords + len(w.fn.Operands)*cpu.OperandWords + slot), typ: ir.I64}
	switch t := w.fn.Slots[slot].Type; {
	case t.IsFloat():
		w.set(slot, w.convert(w.cast("bitcast", v, ir.F64), t))
	case t == ir.Bool:
		w.set(slot, w.compare("icmp ne", v, intValue(0)))
	default:
		w.set(slot, w.convert(v, t))
	}
}

// Kernel is the machine code of a body. It is immutable and safe for concurrent use.
type Kernel struct {
	fn     *ir.Func
	bind   *cpu.Evaluator
	code   *code
	faults []fault
	pool   sync.Pool // of *run
}

// Body is a body as LLVM IR, which is compiled, or found in a cache.
type Body struct {
	fn     *ir.Func
	text   string
	faults []fault
	notes  []Note
}

// NewBody writes the IR of a body. The error is the reason why it has none.
func NewBody(fn *ir.Func) (*Body, error) {
	w, err := write(fn)
	if err != nil {
		return nil, err
	}
	return &Body{fn, w.function(), w.faults, sorted(w.notes)}, nil
}

// Text returns the LLVM IR.
func (b *Body) Text() string { return b.text }

// Cached returns the machine code that c keeps, compiled for this processor by the library that
// the machine has still, or nil. It does not load the library.
func (b *Body) Cached(c *Cache) *Kernel {
	l, ok := c.library()
	if !ok || os.Getenv(LibraryVariable) == "none" {
		return nil
	}
	object := c.get(key(b.text, l, processorID()))
	if object == nil {
		return nil
	}
	k, err := b.kernel(object)
	if err != nil {
		return nil
	}
	c.note(b.fn)
	return k
}

// Compile compiles the body, and keeps the code in c. The error is the reason why there is no
// machine code; a cache that cannot be written is no error.
func (b *Body) Compile(l *Library, c *Cache) (*Kernel, error) {
	object, err := l.Compile(b.text)
	if err != nil {
		return nil, err
	}
	k, err := b.kernel(object)
	if err != nil {
		return nil, err
	}
	if r, err := l.record(); err == nil {
		if c.put(key(b.text, r, processorID()), object, r) == nil {
			c.note(b.fn)
		}
	}
	return k, nil
}

func (b *Body) kernel(object []byte) (*Kernel, error) {
	c, err := loadCode(object)
	if err != nil {
		return nil, err
	}
	return &Kernel{fn: b.fn, bind: cpu.NewEvaluator(b.fn), code: c, faults: b.faults}, nil
}

// run is the state of one run. It is used again.
type run struct {
	words []uint64
	task  ir.Task
	cause error
	panic any
}

// newRun returns the state of a run, which pause finds by its key.
func (k *Kernel) newRun() *run {
	r := &run{words: make([]uint64, headWords+len(k.fn.Operands)*cpu.OperandWords+len(k.fn.Slots))}
	key := running.add(r)
	r.words[wordPause], r.words[wordRun] = uint64(pauseFunction()), key
	runtime.AddCleanup(r, running.remove, key)
	return r
}

// Run runs the body for a task, as cpu.Program.RunTask does.
func (k *Kernel) Run(t ir.Task) error {
	if ctx := t.Context(); ctx.Err() != nil {
		return context.Cause(ctx)
	}
	o, err := k.bind.Bind(t)
	if err != nil {
		return err
	}
	defer o.Release()
	r, _ := k.pool.Get().(*run)
	if r == nil {
		r = k.newRun()
	}
	r.task, r.cause, r.panic = t, nil, nil
	o.Words(r.words[headWords:])
	result := k.code.call(unsafe.Pointer(&r.words[0]))
	runtime.KeepAlive(k)
	runtime.KeepAlive(r)
	if p := r.panic; p != nil {
		panic(p)
	}
	err = r.cause
	if result == failed {
		err = faultError(o, &k.faults[r.words[wordSite]], int64(r.words[wordNumber]))
	}
	r.task = nil
	k.pool.Put(r)
	return err
}

// faultError returns the error of a fault with a number.
func faultError(o cpu.Bound, f *fault, number int64) error {
	switch f.kind {
	case outOfBounds:
		return o.OutOfBounds(f.at, f.axis, number)
	case zeroDivision:
		return o.ZeroDivision(f.at)
	}
	return o.NegativePower(f.at, number)
}

// runs are the states that machine code may call back for, by key.
type runs struct {
	mu struct {
		sync.Mutex
		list []weak.Pointer[run]
		free []uint64
	}
}

var running runs

// add returns a key for r, until remove is called with it.
func (s *runs) add(r *run) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.mu.free); n > 0 {
		k := s.mu.free[n-1]
		s.mu.free = s.mu.free[:n-1]
		s.mu.list[k] = weak.Make(r)
		return k
	}
	s.mu.list = append(s.mu.list, weak.Make(r))
	return uint64(len(s.mu.list) - 1)
}

func (s *runs) remove(key uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.free = append(s.mu.free, key)
}

func (s *runs) get(key uint64) *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.list[key].Value()
}

// pause is what machine code calls every few hundred microseconds, with its words: it lets
// other tasks run. A result other than 0 ends the run.
func pause(words uintptr) (stop uintptr) {
	w := *(*unsafe.Pointer)(unsafe.Pointer(&words))
	r := running.get(*(*uint64)(unsafe.Add(w, 8*wordRun)))
	defer func() {
		if p := recover(); p != nil {
			r.panic, stop = p, 1
		}
	}()
	if ctx := r.task.Context(); ctx.Err() != nil {
		r.cause = context.Cause(ctx)
		return 1
	}
	r.task.GiveWay()
	return 0
}
