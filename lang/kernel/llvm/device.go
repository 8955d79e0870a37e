package llvm

// The kernels of a body for a device, as LLVM IR: what each thread does. Package steps divides
// the body. A thread computes one round after another in scalar code, with the operations, the
// order of folds and the checks of machine code for the processor, so the bits are the same.

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/starpush/starpush/lang/kernel/analysis"
	"github.com/starpush/starpush/lang/kernel/cpu"
	"github.com/starpush/starpush/lang/kernel/ir"
	"github.com/starpush/starpush/lang/kernel/steps"
)

// thread is what a writer knows of the thread whose code it writes.
type thread struct {
	nvptx bool
	lanes *lanes        // the rounds of an each, or of a strip of a fold; nil: a single round
	round func() string // writes the number of the current round, in the order of the language
	next  string        // where the thread goes on after a fault; "": it ends
	frame map[int]int   // places of carried locals: the memory of arrays
}

// word returns the parameter for word n of a run.
func (t *thread) word(n int) string { return fmt.Sprintf("%%w%d", n) }

// differs reports whether a fold differs between the rounds that the processor runs side by side:
// then its values are combined one after another, as cpu.Order says.
func (t *thread) differs(e *ir.Expr) bool {
	return t.lanes != nil && t.lanes.of(e).motion != uniform
}

// The words of the record of faults, in the memory of the device. Word recordFirst + k has the
// number of the first round with a fault, above part k of what happened in it: parts of 16 bits,
// the lowest that of the index in Device.faults, the others of the number of the fault. Threads
// lower the words, and a round fails once, so in the end all five are of the first round that
// fails, whatever the order of the threads. Only a fold inside a round that runs in lanes, as it
// does on the processor, may report another of its own rounds.
const (
	recordLaunch = iota // the launch that failed; all ones: none
	recordFirst
	recordParts = 5
	recordWords = recordFirst + recordParts
	partBits    = 16
	// maxRound is the largest number of a round in the record. Loops of more rounds than
	// maxDeviceRounds, which is less, have ranges that depend on data.
	maxRound = 1<<(64-partBits) - 1
)

// failThread ends the round with a fault: the thread too, if its rounds are in order.
func (w *writer) failThread(site int, number value) {
	w.emit("call void @fail(i64 %%record, i64 %%launch, i64 %s, i64 %d, i64 %s)", w.thread.round(), site, number.name)
	if w.thread.next != "" {
		w.jump(w.thread.next)
	} else {
		w.emit("ret void")
	}
}

// inOrder writes a round of a thread. If the rounds of a thread are not in the order of the
// language, the thread goes on after a fault: an earlier round may fail, too.
func (w *writer) inOrder(ordered bool, round func()) {
	if ordered {
		round()
		return
	}
	next := w.label("next")
	w.thread.next = next
	round()
	w.thread.next = ""
	w.jump(next)
	w.start(next)
}

// failHelper returns the function that records a fault, unless an earlier round has had one.
func failHelper() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("define internal void @fail(i64 %%record, i64 %%launch, i64 %%round, i64 %%site, i64 %%number) #2 {\nentry:")
	line("  %%p = inttoptr i64 %%record to ptr\n  store i64 %%launch, ptr %%p, align 8")
	line("  %%fits = icmp ult i64 %%round, %d\n  %%r = select i1 %%fits, i64 %%round, i64 %[1]d\n  %%high = shl i64 %%r, %d", uint64(maxRound), partBits)
	for k := range recordParts {
		if k == 0 {
			line("  %%part0 = and i64 %%site, %d", 1<<partBits-1)
		} else {
			line("  %%shifted%d = lshr i64 %%number, %d\n  %%part%[1]d = and i64 %%shifted%[1]d, %[3]d", k, (k-1)*partBits, 1<<partBits-1)
		}
		line("  %%word%d = or i64 %%high, %%part%[1]d\n  %%at%[1]d = getelementptr i64, ptr %%p, i64 %d", k, recordFirst+k)
		line("  %%before%d = atomicrmw umin ptr %%at%[1]d, i64 %%word%[1]d monotonic, align 8", k)
		if k == 0 {
			line("  %%first = icmp ult i64 %%word0, %%before0\n  br i1 %%first, label %%others, label %%end\nothers:")
		}
	}
	line("  br label %%end\nend:\n  ret void\n}")
	return b.String()
}

// threadParams are the parameters of every kernel before the words: the thread's number in each
// of two directions, the numbers of threads in these, the number of the launch in its run, and
// addresses of the record of faults (0 if nothing can fail), of the carried locals and of memory
// for folds.
const (
	threadParams = "i64 %x, i64 %nx, i64 %y, i64 %ny, " + launchParams
	launchParams = "i64 %launch, i64 %record, i64 %frame, i64 %scratch"
)

// deviceKernel is a kernel.
type deviceKernel struct {
	number int
	name   string
	words  []int // the words of a run that are its parameters
	text   string
}

// beginText returns the kernel that empties the record of faults.
func beginText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "define internal void @begin(%s) #0 {\nentry:\n  %%p = inttoptr i64 %%record to ptr\n", threadParams)
	for k := range recordWords {
		fmt.Fprintf(&b, "  %%p%d = getelementptr i64, ptr %%p, i64 %[1]d\n  store i64 -1, ptr %%p%[1]d, align 8\n", k)
	}
	return b.String() + "  ret void\n}\n"
}

// deviceStep is a step with its kernels.
type deviceStep struct {
	*steps.Step
	kernels []*deviceKernel // of a fold: values, groups, total
	lo, hi  []cpu.IntValue  // of the domain; nil: the host cannot know
	axis    int             // of the rounds that x counts; of a fold: -1 if its values are results
	product bool            // a fold without partial sums
	inner   []*deviceStep
}

// Device is a body as kernels for a device.
type Device struct {
	fn      *ir.Func
	eval    *cpu.Evaluator
	demands func(cpu.Bound) bool // whether nothing can fail; nil: it depends on data
	faults  []fault
	steps   []*deviceStep
	kernels []*deviceKernel
	frame   map[int]int // places of carried locals, in words
	words   int         // of all of them
	others  string
	nvptx   bool
}

// NewDevice returns the kernels of a body. The error is the reason why it can run on the
// processor only.
func NewDevice(fn *ir.Func) (*Device, error) { return newDevice(fn, true) }

// newDevice is NewDevice, for NVIDIA devices or for the processor, where tests run the kernels.
func newDevice(fn *ir.Func, nvptx bool) (d *Device, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case unsupported:
			err = fmt.Errorf("no kernels for %s", r.why)
		default:
			panic(r)
		}
	}()
	if err := fn.TakesComplex(); err != nil {
		return nil, err
	}
	plan, err := steps.Split(fn, steps.Options{Folds: true, Host: true})
	if err != nil {
		return nil, err
	}
	own := *plan.Func
	d = &Device{fn: &own, eval: cpu.NewEvaluator(&own), frame: map[int]int{}, nvptx: nvptx}
	if want, _ := analysis.WholeBody(fn).AllDemands(fn.Body); want != nil && !want.ReadsElements() {
		d.demands = d.eval.Holds(want)
	}
	for slot := range plan.Carried {
		d.frame[slot] = 0
	}
	for _, slot := range sortedKeys(d.frame) {
		d.frame[slot] = d.words
		d.words += max(own.Slots[slot].Len, 1)
	}
	d.kernels = append(d.kernels, &deviceKernel{name: "begin", text: beginText()})
	b := &deviceWriter{d: d, plan: plan, programs: map[string]string{}, helpers: map[string]bool{}, declares: map[string]string{}}
	if d.steps, err = b.steps(plan.Steps); err != nil {
		return nil, err
	}
	if len(d.faults) > 1<<partBits {
		return nil, errors.New("too many operations may fail")
	}
	last := &writer{declares: b.declares, helpers: b.helpers, programs: b.programs}
	d.others = failHelper() + last.others() + "attributes #2 = { noinline cold nounwind }\n"
	return d, nil
}

func sortedKeys[V any](m map[int]V) []int {
	var out []int
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// deviceWriter writes the kernels of a body.
type deviceWriter struct {
	d    *Device
	plan *steps.Plan

	// shared by the kernels of the module
	programs map[string]string
	helpers  map[string]bool
	declares map[string]string
	names    int
}

func (b *deviceWriter) steps(list []*steps.Step) ([]*deviceStep, error) {
	var out []*deviceStep
	for _, st := range list {
		s := &deviceStep{Step: st}
		known := true
		for k := range st.Domain {
			lo, hi := b.plan.HostValue(st.Domain[k].Lo), b.plan.HostValue(st.Domain[k].Hi)
			if known = known && lo != nil && hi != nil; known {
				s.lo, s.hi = append(s.lo, b.d.eval.Int(lo)), append(s.hi, b.d.eval.Int(hi))
			}
			if hasFolds(nil, st.Domain[k].Lo) || hasFolds(nil, st.Domain[k].Hi) {
				return nil, errors.New("the range of a loop has a fold")
			}
		}
		if !known {
			s.lo, s.hi = nil, nil
		}
		switch {
		case st.Inner != nil:
			if !known {
				return nil, errors.New("the range of a `for` depends on data, and it has other loops in it")
			}
			inner, err := b.steps(st.Inner)
			if err != nil {
				return nil, err
			}
			s.inner = inner
		case st.Fold != nil:
			for k := range st.Fold.Domain {
				r := &st.Fold.Domain[k]
				lo, hi := b.plan.HostValue(r.Lo), b.plan.HostValue(r.Hi)
				if lo == nil || hi == nil {
					return nil, errors.New("the range of a fold depends on data")
				}
				s.lo, s.hi = append(s.lo, b.d.eval.Int(lo)), append(s.hi, b.d.eval.Int(hi))
			}
			b.fold(s)
		case st.Domain != nil:
			b.rounds(s)
		default:
			b.once(s)
		}
		out = append(out, s)
	}
	return out, nil
}

// workers are the threads that run a kernel.
type workers uint8

const (
	oneThread workers = iota
	oneRow            // those with y = 0
	allThreads
)

// kernel writes a kernel of step s, whose body emit writes for the workers.
func (b *deviceWriter) kernel(s *deviceStep, by workers, emit func(w *writer)) {
	k := &deviceKernel{number: len(b.d.kernels), name: fmt.Sprintf("k%d", len(b.d.kernels))}
	w := newWriter(b.d.fn)
	w.programs, w.helpers, w.declares, w.names = b.programs, b.helpers, b.declares, b.names
	w.faults = b.d.faults
	w.thread = &thread{nvptx: b.d.nvptx, round: func() string { return "0" }, frame: b.d.frame}
	stop, run := w.label("stop"), w.label("run")
	// a launch does nothing after a fault in an earlier one; faults of its own do not end it
	look := w.label("look")
	w.branch(w.ins("icmp eq i64 %%record, 0"), run, look)
	w.start(look)
	failed := w.ins("load i64, ptr %s, align 8", w.ins("getelementptr i64, ptr %s, i64 %d", w.global("%record"), recordLaunch))
	w.branch(w.ins("icmp ugt i64 %%launch, %s", failed), stop, run)
	w.start(stop)
	w.emit("ret void")
	w.start(run)
	if by != allThreads {
		others := "%y"
		if by == oneThread {
			others = w.ins("or i64 %%x, %%y")
		}
		no, yes := w.label("no"), w.label("yes")
		w.branch(w.ins("icmp eq i64 %s, 0", others), yes, no)
		w.start(no)
		w.emit("ret void")
		w.start(yes)
	}
	for slot := range b.d.fn.Slots {
		if b.d.fn.Slots[slot].Kind == ir.ScalarSlot || slices.Contains(s.Indices, slot) {
			if s.uses(slot) {
				w.setFromWord(slot)
			}
		}
	}
	for _, slot := range s.Carried {
		if b.d.fn.Slots[slot].Len > 0 { // it stays in memory
			continue
		}
		w.set(slot, w.loadCarried(b.d.frame[slot], b.d.fn.Slots[slot].Type))
	}
	for _, g := range s.Guards {
		cond := w.get(g.Slot, 0)
		if !g.Want {
			cond = w.not(cond)
		}
		no, yes := w.label("no"), w.label("yes")
		w.branch(cond.name, yes, no)
		w.start(no)
		w.emit("ret void")
		w.start(yes)
	}
	w.stmts(s.Repeated, place{})
	emit(w)
	code := fmt.Sprintf("%s  br label %%body\nbody:\n%s  ret void\n}\n", w.entry.String(), w.code.String())
	params := threadParams
	for _, n := range wordsIn(code) {
		k.words = append(k.words, n)
		params += fmt.Sprintf(", i64 %%w%d", n)
	}
	k.text = fmt.Sprintf("define internal void @%s(%s) #0 {\nentry:\n%s", k.name, params, code)
	b.d.faults, b.names = w.faults, w.names
	b.d.kernels = append(b.d.kernels, k)
	s.kernels = append(s.kernels, k)
}

var wordPattern = regexp.MustCompile(`%w(\d+)\b`)

// wordsIn returns the words that a text uses.
func wordsIn(text string) []int {
	in := map[int]bool{}
	for _, m := range wordPattern.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1])
		in[n] = true
	}
	return sortedKeys(in)
}

// uses reports whether s uses a local.
func (s *deviceStep) uses(slot int) bool {
	found := false
	look := func(e *ir.Expr) {
		ir.WalkExpr(e, func(x *ir.Expr) bool { found = found || x.Op == ir.OpSlot && x.Slot == slot; return !found })
	}
	for _, r := range s.Domain {
		look(r.Lo)
		look(r.Hi)
	}
	look(s.Fold)
	for _, list := range [][]*ir.Stmt{s.Body, s.Repeated} {
		ir.WalkStmts(list, func(st *ir.Stmt) { st.Exprs(look) })
	}
	return found
}

// carried returns the address of a carried local in memory.
func (w *writer) carried(place int) string {
	return w.ins("getelementptr i64, ptr %s, i64 %d", w.global("%frame"), place)
}

func (w *writer) loadCarried(place int, t ir.Type) value {
	if t == ir.Bool {
		return w.cast("trunc", value{name: w.ins("load i8, ptr %s, align 8", w.carried(place)), typ: ir.I8}, ir.Bool)
	}
	return value{name: w.ins("load %s, ptr %s, align 8", scalarType(t), w.carried(place)), typ: t}
}

func (w *writer) storeCarried(place int, v value) {
	if v.typ == ir.Bool {
		v = w.cast("zext", v, ir.I8)
	}
	w.emit("store %s, ptr %s, align 8", v.text(), w.carried(place))
}

// once writes the kernel of statements that one thread runs.
func (b *deviceWriter) once(s *deviceStep) {
	b.kernel(s, oneThread, func(w *writer) {
		w.stmts(s.Body, place{})
		sets := map[int]bool{}
		ir.WalkStmts(s.Body, func(st *ir.Stmt) {
			if st.Kind == ir.SetStmt && b.d.fn.Slots[st.Slot].Len == 0 {
				sets[st.Slot] = true
			}
		})
		for _, slot := range sortedKeys(sets) {
			if place, ok := b.d.frame[slot]; ok {
				w.storeCarried(place, w.get(slot, 0))
			}
		}
	})
}

// rounds writes the kernel of a loop whose rounds are independent. x counts the rounds along one
// index, and y those along the others together, so that threads next to each other have elements
// next to each other.
func (b *deviceWriter) rounds(s *deviceStep) {
	b.kernel(s, allThreads, func(w *writer) {
		s.axis = -1
		if s.Loop.Kind == ir.EachStmt {
			s.axis = w.order.Each(s.Loop)
		}
		if s.axis >= 0 {
			w.thread.lanes = newLanes(w.fn, s.Domain[s.axis].Slot, 0, s.Body)
		} else {
			s.axis = len(s.Domain) - 1
		}
		w.inNest([]*ir.Stmt{s.Loop}, nil, place{}, func(p place) {
			d := w.domain(s.Domain, place{checked: true})
			w.thread.round = func() string { return w.roundNumber(d) }
			w.bothForms(p, func(p place) {
				w.every("%y", "%ny", w.sizeOf(d, s.axis), func(at value) {
					w.setIndices(d, s.axis, at)
					w.every("%x", "%nx", d.n[s.axis], func(at value) {
						w.inOrder(s.axis == len(s.Domain)-1, func() {
							w.set(s.Domain[s.axis].Slot, w.binary("add", d.lo[s.axis], at))
							w.stmts(s.Body, p)
						})
					})
				})
			})
		})
	})
}

// bothForms writes two forms of code, without and with checks of the elements that the nest has
// proved in bounds. The check of the nest chooses one.
func (w *writer) bothForms(p place, code func(p place)) {
	holds := w.nest.holds
	if holds.isConstant() {
		p.checked = false
		code(p)
		return
	}
	fast, slow, end := w.label("fast"), w.label("slow"), w.label("end")
	w.branch(holds.name, fast, slow)
	w.start(fast)
	code(place{})
	w.jump(end)
	w.start(slow)
	code(place{checked: true})
	w.jump(end)
	w.start(end)
}

// every runs body with first, first+step, … below n.
func (w *writer) every(first, step string, n value, body func(at value)) {
	k := w.alloca("i64")
	w.emit("store i64 %s, ptr %s", first, k)
	w.counted(k, step, n, body)
}

// setIndices sets the indices of a domain but that at skip for round number at of theirs.
func (w *writer) setIndices(d *domain, skip int, at value) {
	for k := len(d.ranges) - 1; k >= 0; k-- {
		if k == skip {
			continue
		}
		first := true
		for j := range k {
			first = first && j == skip
		}
		r := at
		if !first {
			r = w.binary("urem", at, d.n[k])
			at = w.binary("udiv", at, d.n[k])
		}
		w.set(d.ranges[k].Slot, w.binary("add", d.lo[k], r))
	}
}

// roundNumber writes the number of the current round of a domain, in the order of the language.
func (w *writer) roundNumber(d *domain) string {
	n := intValue(0)
	for k := range d.ranges {
		i := w.binary("sub", w.get(d.ranges[k].Slot, 0), d.lo[k])
		n = w.binary("add", w.binary("mul", n, d.n[k]), i)
	}
	return n.name
}

// sizeOf returns the rounds of a domain along all indices but that at skip.
func (w *writer) sizeOf(d *domain, skip int) value {
	n := intValue(1)
	for k := range d.n {
		if k != skip {
			n = w.binary("mul", n, d.n[k])
		}
	}
	return n
}

// groupResults is the number of results of a fold that its first level adds, as cpu.Order.Fold
// says.
const groupResults = 64

// fold writes the kernels of a fold that runs once: one computes the partial sums of all strips,
// the next adds the results of 64 strips each, and the last adds these.
func (b *deviceWriter) fold(s *deviceStep) {
	e := s.Fold
	s.axis, s.product = newWriter(b.d.fn).order.Fold(e), false
	if s.axis >= 0 {
		s.product = e.Reduce == ir.OpMul && e.Type.IsFloat()
	}
	partial := 1
	if s.axis >= 0 && !s.product {
		partial = partialSums
	}
	size := e.Type.Size()
	typ := scalarType(e.Type)
	cell := func(w *writer, base string, k value) string {
		return w.ins("getelementptr %s, ptr %s, i64 %s", typ, base, k.name)
	}
	scratch := func(w *writer) string { return w.global("%scratch") }
	// put and get write accesses of scratch memory
	put := func(w *writer, v, to string) { w.emit("store %s %s, ptr %s, align %d", typ, v, to, size) }
	get := func(w *writer, from string) value {
		return value{name: w.ins("load %s, ptr %s, align %d", typ, from, size), typ: e.Type}
	}
	shape := func(w *writer) (d *domain, strips, results value) {
		d = w.domain(e.Domain, place{checked: true})
		if s.axis < 0 {
			return d, intValue(1), w.sizeOf(d, -1)
		}
		strips = w.binary("udiv", w.binary("add", d.n[s.axis], intValue(cpu.StripRounds-1)), intValue(cpu.StripRounds))
		return d, strips, w.binary("mul", w.sizeOf(d, s.axis), strips)
	}
	// groups follow the partial sums
	groups := func(w *writer, results value) string {
		bytes := w.binary("mul", results, intValue(int64(partial)*int64(size)))
		return w.ins("getelementptr i8, ptr %s, i64 %s", scratch(w), bytes.name)
	}
	b.kernel(s, oneRow, func(w *writer) {
		w.inNest(nil, e, place{}, func(p place) {
			d, strips, results := shape(w)
			w.thread.round = func() string { return w.roundNumber(d) }
			to := scratch(w)
			if s.axis < 0 {
				w.bothForms(p, func(p place) {
					w.every("%x", "%nx", results, func(at value) {
						w.setIndices(d, -1, at)
						put(w, w.expr(e.X[0], p).name, cell(w, to, at))
					})
				})
				return
			}
			w.thread.lanes = newLanes(w.fn, e.Domain[s.axis].Slot, 0, []*ir.Stmt{{Kind: ir.IfStmt, Value: e.X[0]}})
			first := neutral(e)
			if e.Reduce == ir.OpAdd {
				first = constant(e.Type, 0, 0)
			}
			part := w.alloca(typ)
			w.bothForms(p, func(p place) {
				w.every("%x", "%nx", w.binary("mul", results, intValue(int64(partial))), func(at value) {
					lane, strip := intValue(0), at
					if partial > 1 {
						lane, strip = w.binary("and", at, intValue(int64(partial-1))), w.binary("udiv", at, intValue(int64(partial)))
					}
					w.setIndices(d, s.axis, w.binary("udiv", strip, strips))
					done := w.binary("mul", w.binary("urem", strip, strips), intValue(cpu.StripRounds))
					left := w.combine(ir.OpMin, w.binary("sub", d.n[s.axis], done), intValue(cpu.StripRounds))
					start := w.binary("add", d.lo[s.axis], done)
					w.emit("store %s, ptr %s", first.text(), part)
					w.every(lane.name, strconv.Itoa(partial), left, func(k value) {
						w.inOrder(s.axis == len(e.Domain)-1, func() {
							w.set(e.Domain[s.axis].Slot, w.binary("add", start, k))
							v := w.expr(e.X[0], p)
							old := value{name: w.ins("load %s, ptr %s", typ, part), typ: e.Type}
							w.emit("store %s, ptr %s", w.combine(e.Reduce, old, v).text(), part)
						})
					})
					put(w, w.ins("load %s, ptr %s", typ, part), cell(w, to, at))
				})
			})
		})
	})
	b.kernel(s, oneRow, func(w *writer) {
		_, _, results := shape(w)
		from, to := scratch(w), groups(w, results)
		all := w.binary("udiv", w.binary("add", results, intValue(groupResults-1)), intValue(groupResults))
		level := w.alloca(typ)
		w.every("%x", "%nx", all, func(g value) {
			begin := w.binary("mul", g, intValue(groupResults))
			left := w.combine(ir.OpMin, w.binary("sub", results, begin), intValue(groupResults))
			w.emit("store %s, ptr %s", neutral(e).text(), level)
			w.every("0", "1", left, func(k value) {
				at := w.binary("mul", w.binary("add", begin, k), intValue(int64(partial)))
				var list []value
				for j := range partial {
					p := cell(w, from, w.binary("add", at, intValue(int64(j))))
					list = append(list, get(w, p))
				}
				for len(list) > 1 { // 0+4, 1+5, …; then (0+4)+(2+6), …
					half := len(list) / 2
					for j := range half {
						list[j] = w.combine(e.Reduce, list[j], list[j+half])
					}
					list = list[:half]
				}
				old := value{name: w.ins("load %s, ptr %s", typ, level), typ: e.Type}
				w.emit("store %s, ptr %s", w.combine(e.Reduce, old, list[0]).text(), level)
			})
			put(w, w.ins("load %s, ptr %s", typ, level), cell(w, to, g))
		})
	})
	b.kernel(s, oneThread, func(w *writer) {
		_, _, results := shape(w)
		from := groups(w, results)
		full := w.binary("udiv", results, intValue(groupResults))
		second, third := w.alloca(typ), w.alloca(typ)
		for _, l := range []string{second, third} {
			w.emit("store %s, ptr %s", neutral(e).text(), l)
		}
		load := func(p string) value { return value{name: w.ins("load %s, ptr %s", typ, p), typ: e.Type} }
		w.every("0", "1", full, func(g value) {
			w.emit("store %s, ptr %s", w.combine(e.Reduce, load(second), get(w, cell(w, from, g))).text(), second)
			n := w.binary("add", g, intValue(1))
			yes, end := w.label("full"), w.label("end")
			w.rarely(w.ins("icmp eq i64 %s, 0", w.binary("and", n, intValue(groupResults-1)).name), yes, end)
			w.start(yes)
			w.emit("store %s, ptr %s", w.combine(e.Reduce, load(third), load(second)).text(), third)
			w.emit("store %s, ptr %s", neutral(e).text(), second)
			w.jump(end)
			w.start(end)
		})
		rest := w.either(w.compare("icmp eq", w.binary("urem", results, intValue(groupResults)), intValue(0)), e.Type, 0,
			func() value { return neutral(e) }, func() value { return get(w, cell(w, from, full)) })
		total := w.combine(e.Reduce, load(third), w.combine(e.Reduce, load(second), rest))
		w.storeCarried(b.d.frame[s.Slot], total)
	})
}

// Text returns the module, with an entry for each kernel that finds the number of its thread.
func (d *Device) Text() string {
	var b strings.Builder
	for _, k := range d.kernels {
		b.WriteString(k.text)
	}
	if !d.nvptx {
		d.loops(&b)
		return b.String() + d.others
	}
	var list []string
	for _, k := range d.kernels {
		params, args := launchParams, threadParams
		for _, n := range k.words {
			params, args = params+fmt.Sprintf(", i64 %%w%d", n), args+fmt.Sprintf(", i64 %%w%d", n)
		}
		fmt.Fprintf(&b, "define void @%s_entry(%s) {\n", k.name, params)
		for _, axis := range []string{"x", "y"} {
			for _, what := range []string{"tid", "ntid", "ctaid", "nctaid"} {
				fmt.Fprintf(&b, "  %%%[1]s.%[2]s32 = call i32 @llvm.nvvm.read.ptx.sreg.%[1]s.%[2]s()\n  %%%[1]s.%[2]s = zext i32 %%%[1]s.%[2]s32 to i64\n", what, axis)
			}
			fmt.Fprintf(&b, "  %%before.%[1]s = mul i64 %%ctaid.%[1]s, %%ntid.%[1]s\n  %%%[1]s = add i64 %%before.%[1]s, %%tid.%[1]s\n  %%n%[1]s = mul i64 %%nctaid.%[1]s, %%ntid.%[1]s\n", axis)
		}
		fmt.Fprintf(&b, "  call void @%s(%s) #3\n  ret void\n}\n", k.name, args)
		list = append(list, fmt.Sprintf("!{ptr @%s_entry, !\"kernel\", i32 1}", k.name))
	}
	for _, what := range []string{"tid", "ntid", "ctaid", "nctaid"} {
		for _, axis := range []string{"x", "y"} {
			fmt.Fprintf(&b, "declare i32 @llvm.nvvm.read.ptx.sreg.%s.%s()\n", what, axis)
		}
	}
	b.WriteString(d.others + "attributes #3 = { alwaysinline }\n")
	for k, one := range list {
		fmt.Fprintf(&b, "!%d = %s\n", k+1, one)
	}
	b.WriteString("!nvvm.annotations = !{")
	for k := range list {
		if k > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "!%d", k+1)
	}
	b.WriteString("}\n")
	return b.String()
}

// The words of the function that runs a kernel on the processor, before those of the kernel:
// threads first, first+step, … run, one after another, modulo their number.
const (
	loopKernel = iota // its number
	loopNX            // the numbers of threads in x and y
	loopNY
	loopFirst
	loopStep
	loopLaunch // the parameters of all kernels
	loopRecord
	loopFrame
	loopScratch
	loopWords
)

// loops writes the function that runs a kernel on the processor.
func (d *Device) loops(b *strings.Builder) {
	fmt.Fprintf(b, "define i32 @%s(ptr %%words) {\nentry:\n", entryName)
	read := func(name string, n int) {
		fmt.Fprintf(b, "  %s.at = getelementptr i64, ptr %%words, i64 %d\n  %s = load i64, ptr %s.at\n", name, n, name, name)
	}
	for k, name := range []string{"%kernel", "%nx", "%ny", "%first", "%step", "%launch", "%record", "%frame", "%scratch"} {
		read(name, k)
	}
	b.WriteString("  %all = mul i64 %nx, %ny\n  br label %threads\n")
	b.WriteString("threads:\n  %k = phi i64 [ 0, %entry ], [ %k2, %after ]\n  %t = phi i64 [ %first, %entry ], [ %t2, %after ]\n  %more = icmp ult i64 %k, %all\n  br i1 %more, label %thread, label %end\n")
	b.WriteString("thread:\n  %x = urem i64 %t, %nx\n  %y = udiv i64 %t, %nx\n  switch i64 %kernel, label %after [")
	for k := range d.kernels {
		fmt.Fprintf(b, " i64 %d, label %%run%d", k, k)
	}
	b.WriteString(" ]\n")
	for k, kernel := range d.kernels {
		fmt.Fprintf(b, "run%d:\n", k)
		args := threadParams
		for j := range kernel.words {
			name := fmt.Sprintf("%%k%d.%d", k, j)
			read(name, loopWords+j)
			args += ", i64 " + name
		}
		fmt.Fprintf(b, "  call void @%s(%s)\n  br label %%after\n", kernel.name, args)
	}
	fmt.Fprintf(b, "after:\n  %%k2 = add i64 %%k, 1\n  %%sum = add i64 %%t, %%step\n  %%t2 = urem i64 %%sum, %%all\n  br label %%threads\nend:\n  ret i32 %d\n}\n", ended)
}
