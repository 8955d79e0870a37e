package interp

// Checkpoints: a run writes its data to a folder, and a later run goes on from there.
//
// A script is a deterministic program of what it reads. While it runs, a log is kept of that: content of data, sizes
// that tasks decide, what is busy, what the machine has, results of host functions. A checkpoint has the log and all data. A run that
// goes on executes the script from its start, leaves out tasks, prints and saves, and answers what it reads from the
// log, until it comes to the statement that wrote the checkpoint. There it reads the data, and goes on normally. So loops and
// functions are where they were, and the machine may be another one.

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
)

// checkpoints is what a run keeps whose script writes checkpoints.
type checkpoints struct {
	program  string     // hash of the script, its params and what is bound
	data     []numbered // whole data that may be alive, in the order of their registers
	made     int        // registers so far
	prune    int        // when data has this length, what is dead is taken out
	passed   int        // statements that were executed
	log      []byte
	unlogged int    // what is read now has no effect on the script
	name     string // of the folder, as the script gives it

	rest   []byte             // of the log of from
	target int                // the statement that wrote from
	from   *engine.Checkpoint // nil: not, or no longer, on the way to a checkpoint
	places map[int]int64      // in the sequences of workers, before the checkpoint
	skips  int64              // tasks left out
}

// numbered is data with the number of its register.
type numbered struct {
	n int
	h *Handle
}

// add notes that h was registered.
func (c *checkpoints) add(h *Handle) {
	c.made++
	c.data = append(c.data, numbered{c.made, h})
	if len(c.data) >= max(c.prune, 64) {
		c.data = slices.DeleteFunc(c.data, func(x numbered) bool { return !x.h.h.Alive() })
		c.prune = 2 * len(c.data)
	}
}

// checkpointState is the caller's part of a checkpoint.
type checkpointState struct {
	Program string
	Passed  int
	Folder  string
}

// recordKind says what a record of the log is. A record has a kind, the line of the script, and bytes.
type recordKind byte

const (
	recordContent recordKind = iota + 1
	recordText
	recordBusy
	recordSizes
	recordLoad
	recordWorkers
	recordNodes
	recordCall
)

var recordNames = [...]string{"nothing", "reads data", "makes a text of data", "asks what is busy", "reads a size", "loads a file", "asks for workers", "asks for nodes", "calls a host function"}

// beginCheckpoints is called before the script starts.
func (m *Machine) beginCheckpoints() error {
	if !m.prog.checkpoints {
		if m.cfg.Resume != nil {
			return errors.New("lang: the script has no `checkpoint` statement, so there is nothing to go on from; run it without resuming")
		}
		return nil
	}
	c := &checkpoints{program: m.fingerprint(), places: map[int]int64{}}
	if from := m.cfg.Resume; from != nil {
		state := from.State()
		var s checkpointState
		n, k := binary.Uvarint(state)
		if k <= 0 || n > uint64(len(state)-k) || json.Unmarshal(state[k:k+int(n)], &s) != nil {
			return fmt.Errorf("lang: the checkpoint in %s was not written by a script; resume the program that wrote it", from.Dir())
		}
		if s.Program != c.program {
			return fmt.Errorf("lang: the checkpoint in %s was written by another script, or with other params or data; resume with what wrote it, or start anew in an empty folder", from.Dir())
		}
		log, err := io.ReadAll(flate.NewReader(bytes.NewReader(state[k+int(n):])))
		if err != nil {
			return fmt.Errorf("lang: the log of the checkpoint in %s: %w", from.Dir(), err)
		}
		c.from, c.target, c.rest, c.log, c.name = from, s.Passed, log, slices.Clone(log), s.Folder
	}
	m.checkpoints = c
	return nil
}

// endCheckpoints is called when the script has come to its end.
func (m *Machine) endCheckpoints() {
	if c := m.checkpoints; c != nil && c.from != nil {
		m.misfit(position{}, "it ends before its checkpoint %d", c.target)
	}
	m.checkpoints = nil
}

// fingerprint is a hash of what decides what the script does, besides what it reads.
func (m *Machine) fingerprint() string {
	h := sha256.New()
	for _, u := range m.prog.units {
		fmt.Fprintf(h, "%d\n%s", len(u.unit.File.Source.Text), u.unit.File.Source.Text)
	}
	params := slices.Clone(m.cfg.Params)
	slices.SortStableFunc(params, func(a, b NamedValue) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) })
	for _, p := range params {
		fmt.Fprintf(h, "param %q = %v\n", p.Name, p.Value)
	}
	for _, b := range m.cfg.Bindings {
		fmt.Fprintf(h, "data %q %v %v %v %q\n", b.Name, b.Data.Kind, b.Data.Elem, b.Data.Dims, b.Data.File)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// replays reports whether the run is on its way to the checkpoint that it goes on from.
func (m *Machine) replays() bool { return m.checkpoints != nil && m.checkpoints.from != nil }

// misfit ends a run whose script does not do what the log says.
func (m *Machine) misfit(at position, format string, args ...any) {
	d := m.diagnostic("R0107", at, fmt.Sprintf("the checkpoint in `%s` does not fit the script: ", m.checkpoints.from.Dir())+fmt.Sprintf(format, args...))
	d.Help = []string{"resume with the script, params and files that wrote it, or run without `--resume`"}
	m.raise(d)
}

// The log.

// logged returns what now gives, and keeps it; on the way to a checkpoint, what it gave then.
func (m *Machine) logged(at position, kind recordKind, now func() []byte) []byte {
	c := m.checkpoints
	switch {
	case c == nil || c.unlogged > 0:
		return now()
	case c.from != nil:
		return m.recorded(at, kind)
	}
	c.unlogged++
	var b []byte
	func() {
		defer func() { c.unlogged-- }()
		b = now()
	}()
	m.keepRecord(at, kind, b)
	return b
}

func (m *Machine) keepRecord(at position, kind recordKind, b []byte) {
	m.alloc(int64(len(b))+16, at)
	c := m.checkpoints
	c.log = append(c.log, byte(kind))
	c.log = binary.AppendUvarint(c.log, uint64(at.span().Start.Line))
	c.log = append(binary.AppendUvarint(c.log, uint64(len(b))), b...)
}

// recorded takes the next record out of the log.
func (m *Machine) recorded(at position, kind recordKind) []byte {
	c := m.checkpoints
	line := at.span().Start.Line
	if len(c.rest) == 0 {
		m.misfit(at, "line %d %s, and the run that wrote it did not", line, recordNames[kind])
	}
	was := recordKind(c.rest[0])
	wasLine, n := binary.Uvarint(c.rest[1:])
	var size uint64
	k := 0
	if n > 0 {
		size, k = binary.Uvarint(c.rest[1+n:])
	}
	rest := c.rest[min(len(c.rest), 1+max(n, 0)+max(k, 0)):]
	if n <= 0 || k <= 0 || size > uint64(len(rest)) || int(was) >= len(recordNames) {
		m.misfit(at, "its log is damaged")
	}
	if was != kind || int(wasLine) != line {
		m.misfit(at, "line %d %s, and the next thing in its log is that line %d %s", line, recordNames[kind], wasLine, recordNames[was])
	}
	m.alloc(int64(size)+16, at)
	c.rest = rest[size:]
	return rest[:size]
}

// loggedJSON is logged for v, which now sets.
func (m *Machine) loggedJSON(at position, kind recordKind, v any, now func()) {
	if m.checkpoints == nil {
		now()
		return
	}
	made := false
	b := m.logged(at, kind, func() []byte {
		now()
		made = true
		b, err := json.Marshal(v)
		if err != nil {
			m.misfit(at, "%v", err)
		}
		return b
	})
	if made {
		return
	}
	if err := json.Unmarshal(b, v); err != nil {
		m.misfit(at, "its log is damaged: %v", err)
	}
}

// loggedText is handleText. What is printed has no effect on the script, so it is left out of the log.
func (m *Machine) loggedText(h *Handle, at position) string {
	c := m.checkpoints
	if !m.showing {
		return string(m.logged(at, recordText, func() []byte { return []byte(m.handleText(h, at)) }))
	}
	if c.from != nil {
		return ""
	}
	c.unlogged++
	defer func() { c.unlogged-- }()
	return m.handleText(h, at)
}

// loggedCall calls a host function. Of results that are not numbers, bools, strings and lists of these nothing is kept: the
// function is called again.
func (m *Machine) loggedCall(fn *HostFunc, args []any, at position) any {
	c := m.checkpoints
	if c.from == nil {
		v := m.callHostNow(fn, args, at)
		b, ok := appendValue(nil, v)
		if !ok {
			b = nil
		}
		if c.unlogged == 0 {
			m.keepRecord(at, recordCall, b)
		}
		return v
	}
	b := m.recorded(at, recordCall)
	if len(b) == 0 {
		return m.callHostNow(fn, args, at)
	}
	v, rest, ok := readValue(b)
	if !ok || len(rest) > 0 {
		m.misfit(at, "its log is damaged")
	}
	m.allocValue(v, at)
	return v
}

// appendValue writes a value of the language.
func appendValue(b []byte, v any) ([]byte, bool) {
	word := func(tag byte, x uint64) []byte { return binary.LittleEndian.AppendUint64(append(b, tag), x) }
	switch v := v.(type) {
	case nil:
		return append(b, 'n'), true
	case bool:
		return append(b, 'b', byte(b2i(v))), true
	case int64:
		return word('i', uint64(v)), true
	case float64:
		return word('f', *(*uint64)(unsafe.Pointer(&v))), true
	case complex128:
		re, im := real(v), imag(v)
		return binary.LittleEndian.AppendUint64(word('c', *(*uint64)(unsafe.Pointer(&re))), *(*uint64)(unsafe.Pointer(&im))), true
	case string:
		return append(word('s', uint64(len(v))), v...), true
	case *List:
		b = append(word('l', uint64(v.Len())), byte(v.kind))
		for k := range v.Len() {
			var ok bool
			if b, ok = appendValue(b, v.at(k)); !ok {
				return nil, false
			}
		}
		return b, true
	}
	return nil, false
}

// readValue reads what appendValue wrote.
func readValue(b []byte) (v any, rest []byte, ok bool) {
	if len(b) == 0 {
		return nil, nil, false
	}
	tag := b[0]
	b = b[1:]
	switch {
	case tag == 'n':
		return nil, b, true
	case tag == 'b' && len(b) > 0:
		return b[0] != 0, b[1:], true
	case len(b) < 8:
		return nil, nil, false
	}
	x := binary.LittleEndian.Uint64(b)
	b = b[8:]
	switch tag {
	case 'i':
		return int64(x), b, true
	case 'f':
		return *(*float64)(unsafe.Pointer(&x)), b, true
	case 'c':
		if len(b) < 8 {
			return nil, nil, false
		}
		y := binary.LittleEndian.Uint64(b)
		return complex(*(*float64)(unsafe.Pointer(&x)), *(*float64)(unsafe.Pointer(&y))), b[8:], true
	case 's':
		if x > uint64(len(b)) {
			return nil, nil, false
		}
		return string(b[:x]), b[x:], true
	case 'l':
		if len(b) == 0 || x > uint64(len(b)) {
			return nil, nil, false
		}
		l := emptied(repr(b[0]), int(x))
		b = b[1:]
		for range x {
			var item any
			if item, b, ok = readValue(b); !ok {
				return nil, nil, false
			}
			l.push(item)
		}
		return l, b, true
	}
	return nil, nil, false
}

// Content of data that the script acquires: on the way to a checkpoint it is put into the data first.

// keepsContent reports whether the content of h, acquired in a mode, is in the log. What never changes is not.
func (c *checkpoints) keepsContent(h *Handle, mode iface.AccessMode) bool {
	structure := h.memberName() != "" && !h.sparse.Format.Fields && h != h.sparse.values()
	return c.unlogged == 0 && !structure && !h.h.ReadOnly() && h.h.Desc().Kind != iface.Void && (mode.Reads() || h.h.Resizable())
}

// contentOf is the record of a buffer: the sizes of the whole data, if tasks decide them, its own, and, if it is read, elements.
func contentOf(h *Handle, mode iface.AccessMode, b *iface.Buffer) (out []byte) {
	if h.h.Resizable() {
		whole := h.root.h.Content()
		out = appendDims(out, &whole)
	}
	out = appendDims(out, &b.Desc)
	if mode.Reads() {
		eachElem(b, func(_ int, p unsafe.Pointer) {
			out = append(out, unsafe.Slice((*byte)(p), b.Elem.Size())...)
		})
	}
	return out
}

func appendDims(out []byte, d *iface.Desc) []byte {
	for k := range int(d.Rank) {
		out = binary.AppendUvarint(out, uint64(d.Dim[k]))
	}
	return out
}

// takeDims reads sizes that appendDims wrote.
func takeDims(b []byte, rank int) (dims []int, rest []byte, ok bool) {
	for range rank {
		n, k := binary.Uvarint(b)
		if k <= 0 || n > 1<<48 {
			return nil, nil, false
		}
		dims, b = append(dims, int(n)), b[k:]
	}
	return dims, b, true
}

// afterHold keeps the content of h, which the script has acquired.
func (c *checkpoints) afterHold(m *Machine, h *Handle, mode iface.AccessMode, a *engine.Access, at position) {
	if c.from != nil || !c.keepsContent(h, mode) {
		return
	}
	if raised := m.catch(func() { m.keepRecord(at, recordContent, contentOf(h, mode, a.Buffer())) }); raised != nil {
		_ = a.Release() // the limit of memory is what is reported
		panic(raised)
	}
}

// beforeHold gives h, which the script is about to acquire, the content that it had.
func (c *checkpoints) beforeHold(m *Machine, h *Handle, mode iface.AccessMode, at position) error {
	if c.from == nil || !c.keepsContent(h, mode) {
		return nil
	}
	b := m.recorded(at, recordContent)
	ok := true
	site := engine.AcquireOptions{Site: m.siteFor(at)}
	if h.h.Resizable() {
		var dims []int
		whole := h.root.h.Desc()
		if dims, b, ok = takeDims(b, int(whole.Rank)); !ok {
			m.misfit(at, "its log is damaged")
		}
		a, err := m.acquireData(h.root, iface.W, site)
		if err != nil {
			return err
		}
		err = a.Resize(dims...)
		if e := a.Release(); err == nil {
			err = e
		}
		if err != nil {
			return err
		}
	}
	desc := h.h.Desc()
	dims, b, ok := takeDims(b, int(desc.Rank))
	if !ok {
		m.misfit(at, "its log is damaged")
	}
	if !mode.Reads() {
		return nil
	}
	a, err := m.acquireData(h, iface.W, site)
	if err != nil {
		return err
	}
	to := a.Buffer()
	size := int(to.Elem.Size())
	if !slices.Equal(dims, to.Shape()) || len(b) != to.Len()*size {
		_ = a.Release() // the run ends
		m.misfit(at, "`%s` has the sizes %v, and had %v", h.Name(), to.Shape(), dims)
	}
	eachElem(to, func(k int, p unsafe.Pointer) { copy(unsafe.Slice((*byte)(p), size), b[k*size:]) })
	return a.Release()
}

// Tasks that are left out.

// skipInsert evaluates an insert, whose arguments may have effects, without its task.
func (m *Machine) skipInsert(f *frame, s *insertSite) any {
	c := m.checkpoints
	st := m.state(s)
	raised := m.catch(func() { st, _ = m.describe(f, s) })
	if raised != nil {
		var d *diag.Diagnostic
		if !errors.As(raised.err, &d) || d.Code != "E0802" && d.Code != "E0803" { // workers that this machine lacks
			panic(raised)
		}
	}
	c.skips++
	if s.opts.order != nil && raised == nil {
		w := st.spec.Workers[0]
		c.places[w] = max(c.places[w], st.options.Place)
	}
	return &Task{codelet: s.codelet.Name, site: s, id: c.skips}
}

// place returns the place of a task among those that this run inserts.
func (c *checkpoints) place(worker int, place int64) int64 {
	if c.from != nil {
		return place
	}
	return place - c.places[worker]
}

// The statement.

// checkpoint compiles checkpoint "dir".
func (c *compiler) checkpoint(s *syntax.Checkpoint) stmt {
	c.prog.checkpoints = true
	dir, at, dirAt := c.ref(s.Dir), c.positionOf(s), c.positionOf(s.Dir)
	return func(f *frame) ctl {
		name, _ := dir(f).(string)
		f.m.checkpoint(name, at, dirAt)
		return next
	}
}

func (m *Machine) checkpoint(name string, at, dirAt position) {
	if m.plan != nil {
		m.waitAll(at)
		return
	}
	c := m.checkpoints
	switch {
	case m.ranks != nil:
		m.oneRankOnly("a checkpoint", "leave it out, or run on one rank", at)
	case c == nil:
		m.failHelp("E0705", at, "", "write it where the script runs from its start to its end: neither at the prompt, nor in functions that a Go program calls",
			"there is no checkpoint here: the position of the script is not known")
	case m.cfg.Checkpoints == nil:
		m.failHelp("R0107", at, "", "the embedding program decides: lang.WithCheckpoints", "checkpoint needs files, and the host allows none")
	case name == "":
		m.failHelp("R0107", dirAt, "", "name a folder, which is made if need be", "the name of the folder is empty")
	case c.name != "" && c.name != name:
		m.failHelp("E0705", dirAt, fmt.Sprintf("the checkpoints before are in `%s`", c.name), "write all checkpoints of a script to one folder; it keeps the two newest", "a script has one folder of checkpoints")
	case m.holding > 0:
		m.failHelp("E0405", at, "", "release what is acquired before", "this waits for itself: a checkpoint needs all data, and the script holds some")
	}
	m.poll(at)
	c.passed++
	c.name = name
	if c.from != nil {
		if c.passed == c.target {
			m.goOn(at)
		}
		return
	}
	m.waitAll(at)
	dir, err := m.cfg.Checkpoints(name)
	if err == nil {
		var state []byte
		if state, err = c.state(); err == nil {
			err = m.job.Checkpoint(m.ctx, dir, c.live(), state)
		}
	}
	if err != nil {
		m.checkpointFailed(err, name, at)
	}
}

// checkpointFailed raises why a checkpoint could not be written.
func (m *Machine) checkpointFailed(err error, name string, at position) {
	var pe *fs.PathError
	if !errors.As(err, &pe) {
		var gone *engine.FailedDataError
		if errors.As(err, &gone) || m.ctx.Err() != nil || errors.Is(err, engine.ErrClosed) {
			m.raiseEngine(err, at, nil)
		}
	}
	d := m.diagnostic("R0107", at, fmt.Sprintf("cannot write a checkpoint to `%s`: %s", name, firstLine(err.Error())))
	if pe != nil {
		d.Message = fmt.Sprintf("cannot write a checkpoint to `%s`: %v", name, pe.Err)
	}
	d.Help = []string{"name a folder that this program may make and write, with room for all data twice; the checkpoint before is still there"}
	d.Cause = err
	m.raise(d)
}

// state is what a checkpoint has besides the data.
func (c *checkpoints) state() ([]byte, error) {
	head, err := json.Marshal(checkpointState{Program: c.program, Passed: c.passed, Folder: c.name})
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.Write(binary.AppendUvarint(nil, uint64(len(head))))
	out.Write(head)
	w, err := flate.NewWriter(&out, flate.BestSpeed)
	if err == nil {
		_, err = w.Write(c.log)
	}
	if err == nil {
		err = w.Close()
	}
	return out.Bytes(), err
}

// live lists the data that there is, with names by the order of registers.
func (c *checkpoints) live() (all []engine.NamedData) {
	for _, x := range c.data {
		for k, d := range x.h.data() {
			if d.h.Alive() {
				all = append(all, engine.NamedData{Name: strconv.Itoa(x.n) + "." + strconv.Itoa(k) + " " + d.h.Name(), Handle: d.h})
			}
		}
	}
	return all
}

// goOn gives all data the values of the checkpoint. The run is normal from here on.
func (m *Machine) goOn(at position) {
	c := m.checkpoints
	if len(c.rest) > 0 {
		m.misfit(at, "line %d comes before all that its log has was read", at.span().Start.Line)
	}
	live := c.live()
	var names []string
	for _, d := range live {
		names = append(names, d.Name)
	}
	if was := c.from.Names(); !slices.Equal(names, was) {
		m.misfit(at, "there are %d data, and were %d", len(names), len(was))
	}
	m.waitAll(at)
	for _, d := range live {
		if err := c.from.Restore(m.ctx, m.job, d.Name, d.Handle); err != nil {
			if m.ctx.Err() != nil {
				m.raiseEngine(err, at, nil)
			}
			m.misfit(at, "%s", firstLine(err.Error()))
		}
	}
	c.from, c.rest = nil, nil
}
