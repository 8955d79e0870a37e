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
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"github.com/starpush/starpush/engine"
)

// checkpoints is what a run keeps whose script writes checkpoints.
type checkpoints struct {
	program  savedProgram
	passed   int // statements that were executed
	log      []byte
	unlogged int    // what is read now has no effect on the script
	name     string // of the folder, as the script gives it
	written  bool   // one is in the folder, of this run or the one that it goes on from

	rest   []byte             // of the log of from
	target int                // the statement that wrote from
	from   *engine.Checkpoint // nil: not, or no longer, on the way to a checkpoint
	places map[int]int64      // in the sequences of workers, before the checkpoint
	skips  int64              // tasks left out
}

// checkpointState is the caller's part of a checkpoint.
type checkpointState struct {
	Program savedProgram
	Passed  int
	Folder  string
}

// savedProgram is what decides what a script does, besides what it reads.
type savedProgram struct {
	Scripts []savedScript // imported ones first
	Params  []savedParam
	Data    []savedParam // from the command line, or the embedding program
}

type savedScript struct{ Name, Text string }

type savedParam struct{ Name, Value string }

// difference says what p has first that was, which wrote a checkpoint, had not, or the other way round; "" if they are the same.
func (p *savedProgram) difference(was *savedProgram) string {
	for i := range max(len(p.Scripts), len(was.Scripts)) {
		switch {
		case i >= len(was.Scripts):
			return fmt.Sprintf("it imports `%s`, and did not", p.Scripts[i].Name)
		case i >= len(p.Scripts):
			return fmt.Sprintf("it imported `%s`, and does not any more", was.Scripts[i].Name)
		}
		if d := firstDifference(&p.Scripts[i], &was.Scripts[i]); d != "" {
			return d
		}
	}
	for _, list := range [...]struct {
		what    string
		is, was []savedParam
	}{{"the param", p.Params, was.Params}, {"the data", p.Data, was.Data}} {
		value := func(in []savedParam, name string) (string, bool) {
			i := slices.IndexFunc(in, func(v savedParam) bool { return v.Name == name })
			if i < 0 {
				return "", false
			}
			return in[i].Value, true
		}
		for _, v := range list.is {
			if old, ok := value(list.was, v.Name); !ok {
				return fmt.Sprintf("%s `%s` is given, and was not", list.what, v.Name)
			} else if old != v.Value {
				return fmt.Sprintf("%s `%s` is %s, and was %s", list.what, v.Name, quoted(v.Value), quoted(old))
			}
		}
		for _, v := range list.was {
			if _, ok := value(list.is, v.Name); !ok {
				return fmt.Sprintf("%s `%s` was given, and is not: it was %s", list.what, v.Name, quoted(v.Value))
			}
		}
	}
	return ""
}

// firstDifference says in which line a script differs, "" for none.
func firstDifference(is, was *savedScript) string {
	if is.Text == was.Text {
		return ""
	}
	a, b := strings.Split(strings.TrimSuffix(is.Text, "\n"), "\n"), strings.Split(strings.TrimSuffix(was.Text, "\n"), "\n")
	k := 0
	for k < len(a) && k < len(b) && a[k] == b[k] {
		k++
	}
	switch {
	case k == len(a) && k == len(b):
		return fmt.Sprintf("the line break at the end of `%s`", is.Name)
	case k == len(a):
		return fmt.Sprintf("`%s` ends with line %d, and went on with %s", is.Name, k, quoted(b[k]))
	case k == len(b):
		return fmt.Sprintf("line %d of `%s`, %s, was not there", k+1, is.Name, quoted(a[k]))
	}
	return fmt.Sprintf("line %d of `%s` is %s, and was %s", k+1, is.Name, quoted(a[k]), quoted(b[k]))
}

// quoted returns a line as a message shows it.
func quoted(line string) string {
	const most = 80
	line = strings.TrimSpace(line)
	if line == "" {
		return "empty"
	}
	if r := []rune(line); len(r) > most {
		line = string(r[:most]) + "…"
	}
	return "`" + line + "`"
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
	from := m.cfg.Resume
	if !m.prog.checkpoints {
		if from != nil {
			return errors.New("lang: the script has no `checkpoint` statement, so there is nothing to go on from; run it without resuming")
		}
		return nil
	}
	var inUse *engine.CheckpointInUseError
	if from != nil && (m.ranks == nil || m.ranks.Rank() == 0) { // other faults of the folder show when something is written
		errors.As(m.job.LockCheckpoints(filepath.Dir(from.Dir())), &inUse)
	}
	if m.ranks != nil {
		var err error
		if from, err = m.resumeOnRanks(from, inUse); err != nil {
			return err
		}
	} else if inUse != nil {
		return inUse
	}
	c := &checkpoints{program: m.savedProgram(), places: map[int]int64{}}
	if from != nil {
		state := from.State()
		var s checkpointState
		n, k := binary.Uvarint(state)
		if k <= 0 || n > uint64(len(state)-k) || json.Unmarshal(state[k:k+int(n)], &s) != nil {
			return fmt.Errorf("lang: the checkpoint in %s was not written by a script; resume the program that wrote it", from.Dir())
		}
		if d := c.program.difference(&s.Program); d != "" {
			return fmt.Errorf("lang: the checkpoint in %s was written by another script, or with other params or data: %s; resume with what wrote it, or start anew in an empty folder", from.Dir(), d)
		}
		log, err := io.ReadAll(flate.NewReader(bytes.NewReader(state[k+int(n):])))
		if err != nil {
			return fmt.Errorf("lang: the log of the checkpoint in %s is damaged: %w; put back a copy of the checkpoint, or run without resuming", from.Dir(), err)
		}
		c.from, c.target, c.rest, c.log, c.name, c.written = from, s.Passed, log, slices.Clone(log), s.Folder, true
	}
	m.checkpoints = c
	return nil
}

// resumeOnRanks gives all ranks the checkpoint that rank 0 goes on from, nil for none. Each opens it itself.
func (m *Machine) resumeOnRanks(from *engine.Checkpoint, inUse *engine.CheckpointInUseError) (*engine.Checkpoint, error) {
	ctx := Context(m.runCtx)
	var say struct{ Dir, Sum, Failed string }
	if from != nil {
		say.Dir, say.Sum = from.Dir(), from.Sum()
	}
	if inUse != nil {
		say.Failed = inUse.Error()
	}
	b, err := json.Marshal(&say)
	if err != nil {
		return nil, err
	}
	if b, err = m.ranks.Share(ctx, 0, b); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, &say); err != nil {
		return nil, err
	}
	switch {
	case say.Failed != "":
		return nil, errors.New(say.Failed)
	case say.Dir == "":
		return nil, nil
	}
	failed := ""
	if m.ranks.Rank() > 0 {
		if from, err = engine.OpenGeneration(say.Dir); err != nil {
			failed = err.Error()
		} else if from.Sum() != say.Sum {
			failed = "it is another one there"
		}
	}
	all, err := m.ranks.Gather(ctx, []byte(failed))
	if err != nil {
		return nil, err
	}
	for r, text := range all {
		if len(text) > 0 {
			return nil, fmt.Errorf("lang: rank %d cannot read the checkpoint in %s that rank 0 goes on from: %s; all ranks need one file system, and the same working folder", r, say.Dir, text)
		}
	}
	return from, nil
}

// endCheckpoints is called when the script has come to its end.
func (m *Machine) endCheckpoints() {
	if c := m.checkpoints; c != nil && c.from != nil {
		m.misfit(position{}, "it ends before its checkpoint %d", c.target)
	}
	m.checkpoints = nil
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

// place returns the place of a task among those that this run inserts.
func (c *checkpoints) place(worker int, place int64) int64 {
	if c.from != nil {
		return place
	}
	return place - c.places[worker]
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
