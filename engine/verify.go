package engine

// Verification: whether kernels keep to the access modes of their operands.
//
// A task graph does not show what kernels do, but the bytes do: a copy of every R operand
// is compared after the kernel, and W and SCRATCH operands are filled with a pattern
// before it. One kernel runs at a time, so all changes are its own.
//
// A kernel may well write what the pattern has by chance; that is no rare event in data
// of 8 bits. So a kernel that depends on nothing but its operands (Codelet.Pure) runs
// three times with patterns that differ in every element: an element that holds the
// pattern each time was not written, and a result that differs was computed from it. Both
// are exact. Other kernels run once. A NaN with the pattern's payload, or 64 random bits,
// are evidence enough; in narrower elements it takes several, next to each other or in
// several tasks of the codelet (see chance and suspectLocked).

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

// verifier belongs to a runtime with Options.Verify.
type verifier struct {
	mu struct {
		sync.Mutex // held while a kernel runs
		suspects   map[suspectKey]*suspicion
		tasks      uint64 // watched so far: a run of one worker draws the same patterns each time
	}
}

func newVerifier() *verifier {
	v := &verifier{}
	v.mu.suspects = map[suspectKey]*suspicion{}
	return v
}

// verified makes fn, a kernel, one that is watched.
func (v *verifier) verified(fn Impl) Impl {
	return func(c *TaskContext) error {
		v.mu.Lock()
		defer v.mu.Unlock()
		w := newWatch(v, c, fn)
		defer w.restoreReads() // even when the kernel ends the goroutine
		return w.run()
	}
}

// role is what a kernel may do with an operand, as far as it can be checked.
type role uint8

const (
	unchecked role = iota // no elements
	reads                 // R: must not change
	writes                // W: must be written, and not read before
	spare                 // SCRATCH: must not be read before it is written
	updates               // anything goes; part of the result
)

// watched is one operand of a watched kernel.
type watched struct {
	role   role
	buf    iface.Buffer
	size   int
	before []byte // elements before the kernel: of reads and updates
	result []byte // elements after the first run: of writes and updates
	want   []byte // the pattern of the present run: of writes and scratch
	kept   []bool // holds the pattern after every run so far: of writes
}

// watch is one verified run of a kernel.
type watch struct {
	v      *verifier
	c      *TaskContext
	fn     Impl
	seed   uint64
	ops    []watched
	bufs   []iface.Buffer // the kernel may change its own
	err    error          // of the first run
	failed bool           // some run failed
}

func newWatch(v *verifier, c *TaskContext, fn Impl) *watch {
	v.mu.tasks++
	w := &watch{v: v, c: c, fn: fn, seed: mix(v.mu.tasks)}
	ops := c.t.placedOperands()
	w.ops = make([]watched, len(ops))
	for i := range ops {
		o := &w.ops[i]
		o.buf = *c.Buffer(i)
		if ops[i].Mode.Writes() {
			o.buf = c.Room(i)
		}
		o.size = int(o.buf.Elem.Size())
		if o.buf.Len() == 0 || o.size == 0 {
			continue
		}
		o.role = roleOf(ops, i)
		if h := ops[i].Handle; h != nil && h.Resizable() && o.role == writes {
			o.role = updates // it may have other sizes after each run
		}
		if o.role == reads || o.role == updates {
			o.before = o.copy()
		}
	}
	w.bufs = append(w.bufs, c.bufs...)
	return w
}

// roleOf is what the kernel may do with operand i. Operands that share elements
// have the union of their modes there. Those of a call without a task have no
// handles, and share nothing.
func roleOf(ops []Operand, i int) role {
	m := ops[i].Mode.Declared()
	if m == iface.Scratch {
		return spare
	}
	if m != iface.R && m != iface.W {
		return updates
	}
	for k := range ops {
		if o := &ops[k]; k != i && o.Mode != iface.Scratch && o.Mode != iface.Redux &&
			(m != iface.R || o.Mode != iface.R) && o.Handle != nil && o.Handle.Overlaps(ops[i].Handle) {
			return updates
		}
	}
	if m == iface.R {
		return reads
	}
	return writes
}

// run runs the kernel and returns its error, or a *VerifyError.
func (w *watch) run() error {
	w.prepare(func(int) int { return 0 })
	w.err = w.call()
	pure := w.repeatable() && w.unset()
	if w.err != nil && !pure || w.c.Context().Err() != nil {
		return w.err
	}
	var e VerifyError
	w.checkReads(&e)
	for i := range w.ops {
		o := &w.ops[i]
		switch o.role {
		case writes:
			o.result = o.copy()
			o.kept = make([]bool, len(o.result)/o.size)
			for k := range o.kept {
				o.kept[k] = bytes.Equal(o.at(o.result, k), o.at(o.want, k))
			}
		case updates:
			o.result = o.copy()
		}
	}
	if pure {
		if !w.repeat(&e) {
			return w.err // cancelled
		}
	} else {
		w.judge(&e)
	}
	// what a kernel that failed left half done is no news, unless it failed
	// because of what it read
	if len(e.Breaches) > 0 && (w.err == nil || e.Breaches[len(e.Breaches)-1].Kind == ReadsUnset) {
		return &e
	}
	if pure && w.err == nil {
		w.keepFirst()
	}
	return w.err
}

// keepFirst makes the results those of the first run, the only one there would be
// without verification: a kernel that is not as pure as it says may have made a
// mess of the others.
func (w *watch) keepFirst() {
	for i := range w.ops {
		if o := &w.ops[i]; o.result != nil {
			o.store(o.result)
		}
	}
}

// repeatable reports whether the kernel may be run again. The kernels of a
// parallel task meet once.
func (w *watch) repeatable() bool {
	c := w.c.t.codelet
	return c.Pure && (c.Traits == nil || c.Traits.Parallel == Single) &&
		!slices.ContainsFunc(w.ops, func(o watched) bool { return o.buf.Kind == iface.Object }) // its value is not put back
}

// unset reports whether some operand has content that means nothing.
func (w *watch) unset() bool {
	for i := range w.ops {
		if r := w.ops[i].role; r == writes || r == spare {
			return true
		}
	}
	return false
}

// prepare makes the memory what it was before the kernel, with pattern round(i)
// in operand i.
func (w *watch) prepare(round func(i int) int) {
	w.c.t.restoreSizes()
	copy(w.c.bufs, w.bufs)
	for i := range w.ops {
		o := &w.ops[i]
		switch o.role {
		case reads, updates:
			o.restore()
		case writes, spare:
			if o.want == nil {
				o.want = make([]byte, o.buf.Len()*o.size)
			}
			o.pattern(mix(w.seed+uint64(i)), round(i), w.repeatable())
			o.store(o.want)
		}
	}
}

// call runs the kernel; its panics are errors.
func (w *watch) call() error {
	err := callKernel(w.fn, w.c, nil)
	w.failed = w.failed || err != nil
	return err
}

// checkReads finds what was written although it is R.
func (w *watch) checkReads(e *VerifyError) {
	for i := range w.ops {
		o := &w.ops[i]
		if o.role != reads {
			continue
		}
		now := o.copy()
		if bytes.Equal(now, o.before) {
			continue
		}
		b := w.breach(WritesRead, i)
		for k := range len(now) / o.size {
			if !bytes.Equal(o.at(now, k), o.at(o.before, k)) {
				b.add(o, k)
			}
		}
		e.Breaches = append(e.Breaches, b)
	}
}

// restoreReads undoes what the kernel did to data that it has R: the task fails,
// and others go on with that data.
func (w *watch) restoreReads() {
	for i := range w.ops {
		if o := &w.ops[i]; o.role == reads {
			o.restore()
		}
	}
}

// rounds is the number of patterns.
const rounds = 3

// repeat runs a pure kernel with the other patterns and compares. It reports
// false when the job was cancelled meanwhile.
func (w *watch) repeat(e *VerifyError) bool {
	diff := -1
	for r := 1; r < rounds; r++ {
		w.prepare(func(int) int { return r })
		err := w.call()
		if w.c.Context().Err() != nil {
			w.err = err
			return false
		}
		for i := range w.ops {
			o := &w.ops[i]
			for k := range o.kept {
				o.kept[k] = o.kept[k] && bytes.Equal(o.now(k), o.at(o.want, k))
			}
		}
		if diff < 0 && w.differs(err, nil) {
			diff = r
		}
	}
	if !w.failed {
		for i := range w.ops {
			w.unwritten(e, i)
		}
	}
	if diff >= 0 {
		w.blame(e, diff)
	}
	return true
}

// differs reports whether the run that ended with err has another result than
// the first one, and notes in b where, if b is not nil. Elements that were never
// written do not count.
func (w *watch) differs(err error, b *Breach) bool {
	if (err == nil) != (w.err == nil) {
		return true
	}
	if err != nil {
		return false // what it left half done means nothing
	}
	for i := range w.ops {
		o := &w.ops[i]
		if o.result == nil {
			continue // no elements, as of void data, or none that may change
		}
		for k := range len(o.result) / o.size {
			if o.kept != nil && o.kept[k] || bytes.Equal(o.now(k), o.at(o.result, k)) {
				continue
			}
			if b != nil {
				b.Result, b.ResultIndex = i, o.index(k)
			}
			return true
		}
	}
	return false
}

// blame finds the operands whose unset content the results depend on: a kernel
// that gives something else when only the pattern of one operand changes reads
// that operand.
func (w *watch) blame(e *VerifyError, r int) {
	w.prepare(func(int) int { return 0 })
	if err := w.call(); w.differs(err, nil) {
		return // the kernel is not as pure as it says: nothing follows
	}
	found := false
	for j := range w.ops {
		if w.ops[j].role != writes && w.ops[j].role != spare {
			continue
		}
		w.prepare(func(i int) int {
			if i == j {
				return r
			}
			return 0
		})
		err := w.call()
		if w.c.Context().Err() != nil {
			return
		}
		b := w.breach(ReadsUnset, j)
		if w.differs(err, &b) {
			found = true
			e.Breaches = append(e.Breaches, b)
		}
	}
	if !found { // several together
		for j := range w.ops {
			if w.ops[j].role == writes || w.ops[j].role == spare {
				e.Breaches = append(e.Breaches, w.breach(ReadsUnset, j))
				return
			}
		}
	}
}

// unwritten reports the elements of operand i that kept their patterns.
func (w *watch) unwritten(e *VerifyError, i int) {
	o := &w.ops[i]
	if o.role != writes {
		return
	}
	b := w.breach(LeavesUnwritten, i)
	for k, kept := range o.kept {
		if kept {
			b.add(o, k)
		}
	}
	if b.Count > 0 {
		e.Breaches = append(e.Breaches, b)
	}
}

// judge draws conclusions from one run.
func (w *watch) judge(e *VerifyError) {
	for i := range w.ops {
		o := &w.ops[i]
		if o.role == writes && !telling(o.buf.Elem) && chance(o.kept, 8*o.size) {
			w.v.suspectLocked(suspectKey{w.c.t.codelet, i, o.buf.Dim}, o)
		}
		w.unwritten(e, i)
	}
	for j := range w.ops {
		u := &w.ops[j]
		if u.role != writes && u.role != spare || !telling(u.buf.Elem) {
			continue
		}
		b := w.breach(ReadsUnset, j)
		if w.contains(u.at(u.want, 0), j, &b) {
			e.Breaches = append(e.Breaches, b)
		}
	}
}

// contains looks for the pattern of operand j in the results of others.
func (w *watch) contains(pattern []byte, j int, b *Breach) bool {
	for i := range w.ops {
		o := &w.ops[i]
		if i == j || o.result == nil || o.buf.Elem != w.ops[j].buf.Elem {
			continue
		}
		for k := range len(o.result) / o.size {
			if !bytes.Equal(o.at(o.result, k), pattern) || o.before != nil && bytes.Equal(o.at(o.before, k), pattern) {
				continue
			}
			b.Result, b.ResultIndex = i, o.index(k)
			return true
		}
	}
	return false
}

func (w *watch) breach(kind BreachKind, i int) Breach {
	op := &w.c.t.operands()[i]
	return Breach{Kind: kind, Operand: i, Handle: op.Handle, Mode: op.Mode, Result: -1}
}

// ---- elements ----------------------------------------------------------------

// rows calls fn for every run of adjacent elements of the operand: the number of its first element,
// and its memory.
func (o *watched) rows(fn func(at int, mem []byte)) { eachRun(&o.buf, fn) }

// eachRun calls fn for the memory of every run of adjacent elements along the last index of b, which are single ones where that has a
// stride. first is the number of the first element of the run, row by row.
func eachRun(b *iface.Buffer, fn func(first int, mem []byte)) {
	if b.Len() == 0 {
		return
	}
	run, last := 1, int(b.Rank)-1
	if last >= 0 && (b.Stride[last] == 1 || b.Dim[last] == 1) {
		run = b.Dim[last]
		last--
	}
	size := int(b.Elem.Size())
	for first := 0; first < b.Len(); first += run {
		off, rest := 0, first/run
		for k := last; k >= 0; k-- {
			off += rest % b.Dim[k] * b.Stride[k]
			rest /= b.Dim[k]
		}
		fn(first, unsafe.Slice((*byte)(unsafe.Add(b.Ptr, off*size)), run*size))
	}
}

// copy returns the elements, row by row.
func (o *watched) copy() []byte {
	out := make([]byte, o.buf.Len()*o.size)
	o.rows(func(at int, mem []byte) { copy(out[at*o.size:], mem) })
	return out
}

// store sets the elements to those of from.
func (o *watched) store(from []byte) {
	o.rows(func(at int, mem []byte) { copy(mem, from[at*o.size:]) })
}

// restore stores what was before where that is not what there is. Others may be
// reading the elements beside: those of an R operand, and those of one that
// shares only some elements with an operand that is written.
func (o *watched) restore() {
	o.rows(func(at int, mem []byte) {
		was := o.before[at*o.size : at*o.size+len(mem)]
		if bytes.Equal(mem, was) {
			return
		}
		for k := 0; k < len(mem); k += o.size {
			if e := mem[k : k+o.size]; !bytes.Equal(e, was[k:k+o.size]) {
				copy(e, was[k:])
			}
		}
	})
}

// at is element k of elements that copy returned.
func (o *watched) at(elems []byte, k int) []byte { return elems[k*o.size : (k+1)*o.size] }

// now is element k in memory.
func (o *watched) now(k int) []byte {
	off := 0
	for a, i := range o.index(k) {
		off += i * o.buf.Stride[a]
	}
	return unsafe.Slice((*byte)(unsafe.Add(o.buf.Ptr, off*o.size)), o.size)
}

// index is the place of element k, one number for each index.
func (o *watched) index(k int) []int {
	r := int(o.buf.Rank)
	idx := make([]int, r)
	for a := r - 1; a >= 0; a-- {
		idx[a] = k % o.buf.Dim[a]
		k /= o.buf.Dim[a]
	}
	return idx
}

// Breaches, which verification finds.

// BreachKind says how a kernel broke the access mode of an operand.
type BreachKind uint8

// The kinds of breaches.
const (
	WritesRead      BreachKind = iota + 1 // an R operand has another value after the kernel
	LeavesUnwritten                       // the kernel did not write all of a W operand
	ReadsUnset                            // results depend on what a W or SCRATCH operand held before
)

var breachNames = [...]string{"", "writes R", "leaves W unwritten", "reads what is not set"}

// String describes the kind in a few words.
func (k BreachKind) String() string {
	if int(k) < len(breachNames) {
		return breachNames[k]
	}
	return "breach?"
}

// Breach is one way in which a kernel broke an access mode.
type Breach struct {
	Kind    BreachKind
	Operand int             // place in TaskSpec.Operands
	Handle  *datamgr.Handle // nil in a call without a task
	Mode    datamgr.AccessMode
	// Index is the first element concerned, one number for each index of the
	// operand, from 0, and Count how many there are. ReadsUnset: none.
	Index []int
	Count int
	// Result and ResultIndex are an operand and its element that the unset
	// content shows in. Result is -1 when it shows in whether the kernel succeeds.
	Result      int
	ResultIndex []int
}

// add counts element k.
func (b *Breach) add(o *watched, k int) {
	if b.Count == 0 {
		b.Index = o.index(k)
	}
	b.Count++
}

// String describes the breach in a sentence without a subject, such as
// "changed operand 0, `x` (vector[f64] of 8), which it has R, at [3]".
func (b *Breach) String() string {
	what := fmt.Sprintf("operand %d, %s, which it has %v", b.Operand, describe(b.Handle), b.Mode)
	switch b.Kind {
	case WritesRead:
		return "changed " + what + ", " + b.where()
	case LeavesUnwritten:
		return "did not write all of " + what + ": " + b.where() + " is missing"
	}
	text := "read " + what + ", before writing it: "
	if b.Result < 0 {
		return text + "whether the kernel succeeds depends on its content"
	}
	return text + fmt.Sprintf("%soperand %d depends on its content", ElementText(b.ResultIndex, " of "), b.Result)
}

// where names the elements.
func (b *Breach) where() string {
	s := strings.TrimSuffix(ElementText(b.Index, ""), " ")
	switch {
	case s == "":
		return "its value"
	case b.Count > 1:
		return fmt.Sprintf("element %s and %d more", s, b.Count-1)
	}
	return "element " + s
}

// ElementText writes the place of an element as "[3]" or "[1, 0]" and then
// after; "" for the element of a variable.
func ElementText(index []int, after string) string {
	if len(index) == 0 {
		return ""
	}
	return strings.ReplaceAll(fmt.Sprint(index), " ", ", ") + after
}

// VerifyError is the cause of a task whose kernel broke the access modes of its
// operands, in a runtime with Options.Verify.
type VerifyError struct{ Breaches []Breach }

func (e *VerifyError) Error() string {
	var s []string
	for i := range e.Breaches {
		s = append(s, e.Breaches[i].String())
	}
	return "the kernel broke its access modes: it " + strings.Join(s, "; it ")
}

// Patterns, with which verification fills operands, and the evidence that they give.

// mix is the finaliser of splitmix64 (Steele, Lea, Flood: Fast Splittable
// Pseudorandom Number Generators, OOPSLA 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// pattern sets want to the pattern of a round. The patterns of rounds 0 and 1
// differ in every element, so no value equals both. They are made to show in
// whatever is computed from them: NaN, then large numbers of either sign;
// integers that are random, then the complement, then 0. Elements have a pattern
// of their own, but where results are searched for it (see telling) all have
// the same.
func (o *watched) pattern(seed uint64, round int, each bool) {
	each = each || !telling(o.buf.Elem)
	part := o.buf.Elem.Part()
	if part.IsFloat() && !part.Is16() {
		seed = mix(seed + uint64(round))
	}
	for k := range len(o.want) / o.size {
		r := seed
		if each {
			r = mix(seed + uint64(k))
		}
		e := o.at(o.want, k)
		switch {
		case part == iface.F64:
			for ; len(e) > 0; e = e[8:] {
				binary.NativeEndian.PutUint64(e, pattern64[round]|r&(1<<51-1))
			}
		case part == iface.F32:
			for ; len(e) > 0; e = e[4:] {
				binary.NativeEndian.PutUint32(e, pattern32[round]|uint32(r)&(1<<22-1))
			}
		default:
			for i := range e {
				e[i] = byte(mix(r+uint64(i/8))>>(8*(i%8)))&patternAnd[round] ^ patternXor[round]
			}
		}
	}
}

// A quiet NaN, about 1e308, about -1e308, and the same for 32 bits.
var (
	pattern64  = [rounds]uint64{0x7ff8 << 48, 0x7fe8 << 48, 0xffe8 << 48}
	pattern32  = [rounds]uint32{0x7fc00000, 0x7f400000, 0xff400000}
	patternAnd = [rounds]byte{0xff, 0xff, 0}
	patternXor = [rounds]byte{0, 0xff, 0}
)

// limit is the number of bits of evidence that exclude chance.
const limit = 40

// telling reports whether an element that holds a pattern was not written by
// chance: a NaN with a random payload, or 64 random bits.
func telling(e iface.Elem) bool { return e == iface.F32 || e.Size() >= 8 }

// chance reports whether a kernel that wrote every element may have written the
// pattern where kept says so. Patterns are random and secret, so an element of
// the given bits is hit with probability p = 2^-bits whatever is written. Two
// events are held against that: a run of hits (n·p^m), and their number, whose
// probability is at most 2^(-n·D(k/n, p)), D being the Kullback-Leibler
// divergence (Chernoff). Below 2^-40 it was not chance.
func chance(kept []bool, bits int) bool {
	n, hits, run, longest := len(kept), 0, 0, 0
	for _, k := range kept {
		run++
		if !k {
			run = 0
			continue
		}
		hits++
		longest = max(longest, run)
	}
	if hits == 0 {
		return true
	}
	if float64(bits*longest)-math.Log2(float64(n)) >= limit {
		return false
	}
	p, q := math.Exp2(-float64(bits)), float64(hits)/float64(n)
	if q <= p {
		return true
	}
	d := q * math.Log2(q/p)
	if q < 1 {
		d += (1 - q) * math.Log2((1-q)/(1-p))
	}
	return float64(n)*d < limit
}

// suspectKey names an operand of the tasks of one codelet.
type suspectKey struct {
	codelet *Codelet
	operand int
	dims    [iface.MaxRank]int
}

// suspicion collects the elements that hold the pattern after several tasks, where one
// task alone could be chance.
type suspicion struct {
	elems []int // that held the pattern in every one of them
	bits  int   // of all patterns together
}

// suspectLocked adds the evidence of one task against operand o, and leaves in
// o.kept what chance does not explain any more. An element that no task writes
// holds every task's pattern; any other one is soon found innocent.
func (v *verifier) suspectLocked(key suspectKey, o *watched) {
	s := v.mu.suspects[key]
	if s == nil {
		if len(v.mu.suspects) >= 4096 { // programs have few kernels
			clear(v.mu.suspects)
		}
		s = &suspicion{}
		for k, kept := range o.kept {
			if kept {
				s.elems = append(s.elems, k)
			}
		}
		v.mu.suspects[key] = s
	} else {
		s.elems = slices.DeleteFunc(s.elems, func(k int) bool { return !o.kept[k] })
	}
	s.bits += 8 * o.size
	clear(o.kept)
	switch {
	case len(s.elems) == 0:
		delete(v.mu.suspects, key)
	case float64(s.bits)-math.Log2(float64(len(o.kept))) >= limit:
		for _, k := range s.elems {
			o.kept[k] = true
		}
	}
}
