package perf

// Books: the tables of one running program, and what its workers measure.

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// Calibration says what is measured.
type Calibration int

// The calibration levels, as STARPU_CALIBRATE has them.
const (
	// UseOnly changes no file. Missing times are measured, and forgotten at the end.
	UseOnly Calibration = iota
	// Update adds to what is known.
	Update
	// Anew forgets what was known of each codelet that runs, and measures again.
	Anew
)

// Check reports that c is no level.
func (c Calibration) Check() error {
	if c < UseOnly || c > Anew {
		return fmt.Errorf("calibration level %d; the levels are 0 (use what is known), 1 (add to it) and 2 (measure anew)", int(c))
	}
	return nil
}

// Book is the tables of one running program.
type Book struct {
	store     *Store // nil: nothing is kept
	calibrate Calibration
	learn     atomic.Bool
	mu        struct {
		sync.Mutex
		tables    map[tableKey]*Table
		recorders []*Recorder
	}
}

type tableKey struct {
	Key
	model *Model
}

// defaultModel is the model of codelets that declare none.
var defaultModel = &Model{}

// NewBook opens a book over a store; nil keeps nothing. No file is read before
// its codelet is used.
func NewBook(store *Store, level Calibration) (*Book, error) {
	if err := level.Check(); err != nil {
		return nil, err
	}
	b := &Book{store: store, calibrate: level}
	b.mu.tables = map[tableKey]*Table{}
	return b, nil
}

// Learn makes a book with UseOnly measure unknown times from now on, for as long as the
// book lives, because estimates are in use.
func (b *Book) Learn() { b.learn.Store(true) }

// enough reports whether an entry that is known needs no more measurements, or an
// unknown one gets none.
func (b *Book) enough(known bool) bool {
	return b.calibrate == UseOnly && (known || !b.learn.Load())
}

// Table returns the table of a codelet. m is its model, nil for a history. It
// reads the file when the codelet is new. A file that cannot be read, and a model
// that makes no sense, are reported by Save, and by Err of the table. A codelet
// without a name has no file.
func (b *Book) Table(codelet, kernel string, m *Model) *Table {
	if m == nil {
		m = defaultModel
	}
	k := tableKey{Key{codelet, kernel}, m}
	if m.Name != "" {
		k.Key.Codelet = m.Name
	}
	b.mu.Lock()
	t := b.mu.tables[k]
	if t == nil {
		t = &Table{book: b, key: k.Key, model: m}
		t.mu.Lock() // others that find it now wait until it is loaded
		b.mu.tables[k] = t
		b.mu.Unlock()
		t.load()
		t.mu.Unlock()
		return t
	}
	b.mu.Unlock()
	return t
}

// Err returns why the table's file could not be read, as a *FileError, or what is
// wrong with its model; nil when all is well. Such a table starts empty and is not
// saved; without a good model it is a history.
func (t *Table) Err() error {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.mu.loadErr
}

// Model returns the model of the table.
func (t *Table) Model() *Model { return t.model }

// Save adds what was measured to the files, but not at UseOnly. The recorders of
// the book must be idle. It goes on after an error and returns all of them, those
// of the tables' Err too; but it waits in vain for the folder's lock only once.
func (b *Book) Save() error {
	b.mu.Lock()
	recorders := slices.Clone(b.mu.recorders)
	var tables []*Table
	for _, t := range b.mu.tables {
		tables = append(tables, t)
	}
	b.mu.Unlock()
	for _, r := range recorders {
		r.Flush()
	}
	slices.SortFunc(tables, func(x, y *Table) int {
		return cmp.Or(cmp.Compare(x.key.Codelet, y.key.Codelet), cmp.Compare(x.key.Kernel, y.key.Kernel))
	})
	var errs []error
	for _, t := range tables {
		err := t.save()
		errs = append(errs, err)
		if errors.Is(err, errLocked) {
			break // all tables have the same lock: waiting once is enough
		}
	}
	return errors.Join(errs...)
}

// Recorder collects the measurements of one worker. Its methods are called by
// one goroutine at a time.
type Recorder struct {
	book  *Book
	arch  string
	cells map[recordKey]*record
}

type recordKey struct {
	table   *Table
	fp      Footprint
	impl    int
	variant string
	workers int
}

// group returns the key of the group of k on the architecture of r.
func (r *Recorder) group(k recordKey) groupKey {
	return groupKey{r.arch, k.impl, k.variant, k.workers}
}

// record is what the worker measured of a footprint since it told the table.
type record struct {
	Sized
	every int64 // measurements between two reports to the table
	done  bool  // the table needs no more
}

// recordBatch is the number of measurements that a recorder collects before it reports
// them to a table; a table with few measurements gets each one at once.
const recordBatch = 64

// NewRecorder makes the recorder of a worker of the given architecture.
func (b *Book) NewRecorder(arch string) *Recorder {
	r := &Recorder{book: b, arch: arch, cells: map[recordKey]*record{}}
	b.mu.Lock()
	b.mu.recorders = append(b.mu.recorders, r)
	b.mu.Unlock()
	return r
}

// Record records the time of a call, in seconds. The architecture of c is the recorder's.
// Values that are no valid time are ignored.
func (r *Recorder) Record(t *Table, c *Call, seconds float64) {
	m := t.model
	if !m.Kind.measured() || !usable(seconds) {
		return
	}
	params, size := m.params(c), m.size(c)
	k := recordKey{t, m.footprint(c, size, params), c.Impl, c.Variant, c.Workers}
	e := r.cells[k]
	if e == nil {
		if len(r.cells) >= maxEntries {
			r.Flush()
			clear(r.cells)
		}
		e = &record{Sized: Sized{Footprint: k.fp, What: m.describe(c), Size: size, Params: params}, every: 1}
		r.cells[k] = e
		e.done = r.book.enough(t.known(r.group(k), k.fp))
	}
	if e.done {
		return
	}
	e.collect(seconds)
	if e.Samples() >= e.every {
		r.tell(k, e)
	}
}

// tell gives the table what was collected.
func (r *Recorder) tell(k recordKey, e *record) {
	if e.Samples() == 0 {
		return
	}
	e.Last = now()
	n := k.table.add(r.group(k), &e.Sized)
	e.Entry.clear()
	enough := k.table.model.minSamples()
	if n >= 4*enough {
		e.every = recordBatch
	}
	e.done = r.book.enough(n >= enough && k.table.known(r.group(k), k.fp))
}

// Flush gives the tables everything that was collected.
func (r *Recorder) Flush() {
	for k, e := range r.cells {
		r.tell(k, e)
	}
}
