package perf

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/starpush/starpush/datamgr/iface"
)

func vector(n int) iface.Desc {
	return iface.Desc{Kind: iface.Vector, Elem: iface.F32, Rank: 1, Dim: [iface.MaxRank]int{n}}
}

func onVector(n int, args ...iface.Scalar) *Call {
	return &Call{Ops: []iface.Desc{vector(n)}, Args: args, Arch: "cpu"}
}

func newBook(t *testing.T, dir string, level Calibration) *Book {
	t.Helper()
	b, err := NewBook(newStore(t, dir), level)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// session runs one program, with the given number of tasks of one footprint.
func session(t *testing.T, dir string, level Calibration, tasks int) {
	t.Helper()
	b := newBook(t, dir, level)
	tab, rec := b.Table("m", "", nil), b.NewRecorder("cpu")
	for range tasks {
		rec.Record(tab, onVector(100), 1e-3)
	}
	if err := b.Save(); err != nil {
		t.Fatal(err)
	}
	if err := b.Save(); err != nil { // nothing new: nothing counted twice
		t.Fatal(err)
	}
}

// TestVariants: what one variant of an implementation took says nothing of another, in a
// program and in its file.
func TestVariants(t *testing.T) {
	for _, m := range []*Model{{}, {Kind: Regression}, {Kind: NonLinear}} {
		dir := t.TempDir()
		seconds := map[string]float64{"": 4, "native": 1, "strips": 2}
		for run := range 2 {
			b := newBook(t, dir, Update)
			tab, rec := b.Table("m", "", m), b.NewRecorder("cpu")
			for range DefaultMinSamples {
				for v, s := range seconds {
					for n := range 4 {
						c := onVector(100 << n)
						c.Variant = v
						rec.Record(tab, c, s*float64(int(1)<<n))
					}
				}
			}
			for v, s := range seconds {
				c := onVector(200)
				c.Variant = v
				if e := tab.Estimate(c); !e.Known || math.Abs(e.Seconds-2*s) > 1e-6*s || e.Variant != v {
					t.Errorf("%v, run %d, variant %q: %+v, want %g s", m.Kind, run, v, e, 2*s)
				}
			}
			c := onVector(200)
			c.Variant = "other"
			if e := tab.Estimate(c); e.Known || e.Samples != 0 {
				t.Errorf("%v: a variant that never ran: %+v", m.Kind, e)
			}
			if err := b.Save(); err != nil {
				t.Fatal(err)
			}
		}
		f, err := newStore(t, dir).Load(Key{Codelet: "m"})
		if err != nil || len(f.Groups) != len(seconds) {
			t.Fatalf("%v: %v, %d groups", m.Kind, err, len(f.Groups))
		}
		for _, g := range f.Groups {
			if s := seconds[g.Variant]; g.Samples() != 2*4*DefaultMinSamples || g.Entries[0].Median() != s {
				t.Errorf("%v, variant %q: %d samples, %g s", m.Kind, g.Variant, g.Samples(), g.Entries[0].Median())
			}
		}
	}
}

func TestSamplesAddUpFromRunToRun(t *testing.T) {
	dir := t.TempDir()
	for _, run := range []struct {
		level Calibration
		tasks int
		want  int64
	}{{Update, 123, 123}, {Update, 123, 246}, {Anew, 123, 123}, {Anew, 123, 123}, {Update, 1, 124}, {UseOnly, 50, 124}} {
		session(t, dir, run.level, run.tasks)
		f, err := newStore(t, dir).Load(Key{Codelet: "m"})
		if err != nil || f.Samples() != run.want {
			t.Fatalf("level %d, %d tasks: %v, %d samples instead of %d", run.level, run.tasks, err, f.Samples(), run.want)
		}
	}
}

// Two programs that measure anew at the same time forget the old once.
// TestAnyName: whatever a codelet and its version are called, the next run reads what
// one has saved; what has no name is not saved.
func TestAnyName(t *testing.T) {
	for _, k := range []Key{{"", ""}, {"", "v"}, {"a\xff", ""}, {"a", "\xfe\xff"}, {"a", "\xff\xfe"}, {"x\x00é\u2028", "\\"}} {
		s, err := NewStore(t.TempDir(), "m")
		if err != nil {
			t.Fatal(err)
		}
		for run := range 3 {
			b, err := NewBook(s, Update)
			if err != nil {
				t.Fatal(err)
			}
			table, c := b.Table(k.Codelet, k.Kernel, nil), Call{Arch: "cpu"}
			want := int64(run)
			if k.Codelet == "" {
				want = 0
			}
			if got := table.Estimate(&c).Samples; got != want || table.Err() != nil {
				t.Errorf("%q in run %d: %d measurements, want %d: %v", k, run, got, want, table.Err())
			}
			b.NewRecorder("cpu").Record(table, &c, 1)
			if err := b.Save(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestLockedFolder: saving many tables while another process keeps the lock waits for it
// once, and not once a table.
func TestLockedFolder(t *testing.T) {
	s, err := NewStore(t.TempDir(), "m")
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	s.lock = func(dir string, _ time.Duration) (func(), error) {
		asked++
		return nil, &FileError{dir, errLocked, remedyLocked}
	}
	b, err := NewBook(s, Update)
	if err != nil {
		t.Fatal(err)
	}
	r := b.NewRecorder("cpu")
	for _, name := range []string{"a", "b", "c"} {
		r.Record(b.Table(name, "", nil), &Call{Arch: "cpu"}, 1)
	}
	if err := b.Save(); !errors.Is(err, errLocked) || asked != 1 {
		t.Errorf("the lock was waited for %d times: %v", asked, err)
	}
}

// TestOtherUnits: a curve does not go through what was measured for a model with sizes or
// parameters of other units, however the two take turns.
func TestOtherUnits(t *testing.T) {
	thousands := func(c *Call) float64 { return c.Bytes() / 1000 }
	models := []*Model{
		nil,
		{Kind: Regression, Size: thousands, SizeUnit: "thousands"},
		{Kind: Regression},
		{Kind: Multiple, Params: func(c *Call) []float64 { return []float64{c.Bytes()} }, ParamNames: []string{"n"}, Terms: [][]float64{{2}}},
		{Kind: Multiple, Params: func(c *Call) []float64 { return []float64{thousands(c)} }, ParamNames: []string{"k"}, Terms: [][]float64{{2}}},
	}
	dir := t.TempDir()
	seconds := func(n int) float64 { return float64(n) * float64(n) * 1e-9 }
	for round := range 3 {
		for i, m := range models {
			b := newBook(t, dir, Update)
			table, r := b.Table("g", "", m), b.NewRecorder("cpu")
			for n := 1000; n <= 32000; n *= 2 {
				for range 12 {
					r.Record(table, onVector(n), seconds(n))
				}
			}
			if e := table.Estimate(onVector(3000)); m != nil && !(math.Abs(e.Seconds-seconds(3000)) < 0.01*seconds(3000)) {
				t.Errorf("model %d in round %d: %v, want %v", i, round, e, seconds(3000))
			}
			if err := b.Save(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestTwoProgramsAnew(t *testing.T) {
	dir := t.TempDir()
	session(t, dir, Update, 50)
	var books []*Book
	for range 2 {
		b := newBook(t, dir, Anew)
		tab, rec := b.Table("m", "", nil), b.NewRecorder("cpu")
		for range 7 {
			rec.Record(tab, onVector(100), 1e-3)
		}
		books = append(books, b)
	}
	for _, b := range books {
		if err := b.Save(); err != nil {
			t.Fatal(err)
		}
	}
	f, err := newStore(t, dir).Load(Key{Codelet: "m"})
	if err != nil || f.Samples() != 14 {
		t.Errorf("%v: %d samples instead of 14", err, f.Samples())
	}
}

func TestHistoryIsKnownAfterSamples(t *testing.T) {
	dir := t.TempDir()
	b := newBook(t, dir, Update)
	tab, rec := b.Table("k", "", nil), b.NewRecorder("cpu")
	for i := range 30 {
		e := tab.Estimate(onVector(8))
		if e.Known != (i >= DefaultMinSamples) || e.Samples != int64(i) {
			t.Fatalf("after %d samples: %+v", i, e)
		}
		rec.Record(tab, onVector(8), 2e-3)
	}
	if e := tab.Estimate(onVector(9)); e.Known || e.Source != Nothing {
		t.Errorf("another footprint: %+v", e)
	}
	other := onVector(8)
	other.Arch = "cuda0"
	if e := tab.Estimate(other); e.Known || e.Seconds != 0 {
		t.Errorf("another architecture: %+v", e)
	}
	other = onVector(8)
	other.Impl = 1
	if e := tab.Estimate(other); e.Known {
		t.Errorf("another implementation: %+v", e)
	}
	if err := b.Save(); err != nil {
		t.Fatal(err)
	}
	e := newBook(t, dir, UseOnly).Table("k", "", nil).Estimate(onVector(8))
	if !e.Known || !near(e.Seconds, 2e-3, 1e-9) || e.Source != Measured || e.Samples != 30 || e.RelError > 1e-6 {
		t.Errorf("from the file: %+v", e)
	}
	if e := newBook(t, dir, UseOnly).Table("k", "v2", nil).Estimate(onVector(8)); e.Known {
		t.Errorf("of another kernel: %+v", e)
	}
}

func TestFootprints(t *testing.T) {
	mat := func(r, c int, e iface.Elem) iface.Desc {
		return iface.Desc{Kind: iface.Matrix, Elem: e, Rank: 2, Dim: [iface.MaxRank]int{r, c}}
	}
	calls := map[string]*Call{}
	add := func(m *Model, ops []iface.Desc, args ...iface.Scalar) {
		c := &Call{Ops: ops, Args: args}
		calls[fmt.Sprint(m.footprint(c, m.size(c), nil))] = c
	}
	def := &Model{}
	add(def, []iface.Desc{vector(8)})
	add(def, []iface.Desc{vector(9)})
	add(def, []iface.Desc{vector(8), vector(8)})
	add(def, []iface.Desc{mat(2, 4, iface.F32)})
	add(def, []iface.Desc{mat(4, 2, iface.F32)})
	add(def, []iface.Desc{mat(4, 2, iface.F64)})
	add(def, []iface.Desc{vector(8)}, iface.Str("n"))
	add(def, []iface.Desc{vector(8)}, iface.Str("t"))
	add(def, []iface.Desc{vector(8)}, iface.Bool(true))
	if len(calls) != 9 {
		t.Errorf("%d footprints of 9", len(calls))
	}
	add(def, []iface.Desc{vector(8)}, iface.Int(7), iface.Float(2)) // numbers take no part by themselves
	place := vector(8)
	place.Base, place.Off[0] = 64, 64
	add(def, []iface.Desc{place})
	if len(calls) != 9 {
		t.Errorf("%d footprints of 9: a number or a place took part", len(calls))
	}
	add(&Model{Args: []int{0}}, []iface.Desc{vector(8)}, iface.Int(7))
	add(&Model{Args: []int{0}}, []iface.Desc{vector(8)}, iface.Int(8))
	add(&Model{Args: []int{1, 5}}, []iface.Desc{vector(8)}, iface.Int(8), iface.Float(2))
	if len(calls) != 12 {
		t.Errorf("%d footprints of 12: a chosen argument took no part", len(calls))
	}
	add(&Model{Args: []int{}}, []iface.Desc{vector(8)}, iface.Str("n"))
	if len(calls) != 12 {
		t.Error("a text took part although no argument was chosen")
	}
	// files hold footprints: they must not change
	if got := def.footprint(onVector(8, iface.Str("n")), 0, nil).String(); got != "4235e01eaf578c12" {
		t.Errorf("the footprint of a vector and a text is %s now: files of older versions are worth nothing", got)
	}
	what := def.describe(&Call{Ops: []iface.Desc{vector(8), vector(8), mat(2, 3, iface.F64)}, Args: []iface.Scalar{iface.Str("n"), iface.Int(4)}})
	if what != `2 × vector[f32] of 8, matrix[f64] 2 x 3, "n"` {
		t.Errorf("described as %s", what)
	}
	long := &Call{}
	for i := range 100 {
		long.Ops = append(long.Ops, vector(i))
	}
	if n := len(def.describe(long)); n > maxWhat {
		t.Errorf("a description of %d bytes", n)
	}
}

func TestCurvesPredictOtherSizes(t *testing.T) {
	for _, c := range []struct {
		model *Model
		y     func(bytes float64) float64
	}{
		{&Model{Kind: Regression}, func(n float64) float64 { return 1e-9 * math.Pow(n, 1.5) }},
		{&Model{Kind: NonLinear}, func(n float64) float64 { return 1e-9*math.Pow(n, 1.5) + 1e-4 }},
		{&Model{Kind: Multiple, ParamNames: []string{"len"}, Terms: [][]float64{{0}, {2}},
			Params: func(c *Call) []float64 { return []float64{float64(c.Ops[0].Len())} }},
			func(n float64) float64 { return 1e-4 + 1e-10*n*n }},
	} {
		dir := t.TempDir()
		b := newBook(t, dir, Update)
		tab, rec := b.Table("k", "", c.model), b.NewRecorder("cpu")
		for _, n := range []int{256, 1024, 2048, 4096, 16384} {
			for range 10 {
				rec.Record(tab, onVector(n), c.y(4*float64(n)))
			}
		}
		check := func(tab *Table, where string) {
			t.Helper()
			e := tab.Estimate(onVector(3000))
			if !e.Known || e.Source != Curve || !near(e.Seconds, c.y(12000), 0.01) || e.Samples != 50 || !(e.RelError < 0.01) {
				t.Errorf("%v, %s: %+v instead of %g", c.model.Kind, where, e, c.y(12000))
			}
			if e := tab.Estimate(onVector(1 << 20)); e.Known || e.Source != Extrapolated || e.Seconds <= 0 {
				t.Errorf("%v, %s, far away: %+v", c.model.Kind, where, e)
			}
		}
		check(tab, "in the program")
		if err := b.Save(); err != nil {
			t.Fatal(err)
		}
		check(newBook(t, dir, UseOnly).Table("k", "", c.model), "from the file")
		f, err := newStore(t, dir).Load(Key{Codelet: "k"})
		if err != nil {
			t.Fatal(err)
		}
		if fit := f.Fit(f.Groups[0]); fit.Err != nil || f.Kind != c.model.Kind {
			t.Errorf("%v: the file alone gives no curve: %v", c.model.Kind, fit.Err)
		}
	}
}

func TestUserFunctions(t *testing.T) {
	b := newBook(t, t.TempDir(), Update)
	common := &Model{Kind: Common, Factor: map[string]float64{"cuda0": 0.1},
		Cost: func(c *Call) float64 { return 1e-9 * c.Bytes() }}
	perArch := &Model{Kind: PerArch, Cost: func(c *Call) float64 {
		return map[string]float64{"cpu": 1, "cuda0": 2}[c.Arch] + float64(c.Impl)
	}}
	for _, c := range []struct {
		model *Model
		arch  string
		impl  int
		want  float64
	}{
		{common, "cpu", 0, 4e-9 * 1000}, {common, "cuda0", 0, 4e-10 * 1000},
		{perArch, "cpu", 0, 1}, {perArch, "cuda0", 0, 2}, {perArch, "cpu", 3, 4},
		{perArch, "other", 0, 0},
		{&Model{Kind: Common, Cost: func(*Call) float64 { panic("no") }}, "cpu", 0, 0},
		{&Model{Kind: Common, Cost: func(*Call) float64 { return math.NaN() }}, "cpu", 0, 0},
		{&Model{Kind: Common, Cost: func(*Call) float64 { return -1 }}, "cpu", 0, 0},
		{&Model{Kind: PerArch, Cost: func(*Call) float64 { return math.Inf(1) }}, "cpu", 0, 0},
	} {
		call := onVector(1000)
		call.Arch, call.Impl = c.arch, c.impl
		if e := b.Table("k", "", c.model).Estimate(call); !near(e.Seconds, c.want, 1e-12) || e.Known != (c.want > 0) {
			t.Errorf("%v on %s, implementation %d: %+v instead of %g", c.model.Kind, c.arch, c.impl, e, c.want)
		}
	}
	rec := b.NewRecorder("cpu")
	rec.Record(b.Table("k", "", common), onVector(1000), 1)
	if err := b.Save(); err != nil {
		t.Fatal(err)
	}
	if files, _ := b.store.List(); len(files) != 0 {
		t.Error("a function was measured")
	}
}

// Functions of the user's that panic or say nonsense make a model know nothing.
func TestUserFunctionsOfMeasuredModels(t *testing.T) {
	for _, m := range []*Model{
		{Kind: Regression, Size: func(*Call) float64 { panic("no") }},
		{Kind: NonLinear, Size: func(*Call) float64 { return math.NaN() }},
		{Kind: Multiple, ParamNames: []string{"p"}, Terms: [][]float64{{1}}, Params: func(*Call) []float64 { panic("no") }},
		{Kind: Multiple, ParamNames: []string{"p"}, Terms: [][]float64{{1}}, Params: func(*Call) []float64 { return nil }},
		{Kind: Multiple, ParamNames: []string{"p"}, Terms: [][]float64{{1}}, Params: func(*Call) []float64 { return []float64{math.Inf(1)} }},
	} {
		if err := m.Check(); err != nil {
			t.Fatal(err)
		}
		b := newBook(t, t.TempDir(), Update)
		tab, rec := b.Table("k", "", m), b.NewRecorder("cpu")
		for n := range 40 {
			rec.Record(tab, onVector(100+n%4*100), 1e-3)
		}
		if e := tab.Estimate(onVector(250)); e.Known {
			t.Errorf("%v: %+v", m.Kind, e)
		}
		if err := b.Save(); err != nil {
			t.Error(err)
		}
	}
}

func TestWhatIsNoTimeIsLeftOut(t *testing.T) {
	b := newBook(t, t.TempDir(), Update)
	tab, rec := b.Table("k", "", nil), b.NewRecorder("cpu")
	for _, s := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		rec.Record(tab, onVector(8), s)
	}
	if e := tab.Estimate(onVector(8)); e.Samples != 0 {
		t.Errorf("%+v", e)
	}
}

// TestLearning: at level 0 a book whose estimates are used measures unknown times, for
// itself.
func TestLearning(t *testing.T) {
	dir := t.TempDir()
	b := newBook(t, dir, UseOnly)
	run := func(name string, tasks int) Estimate {
		tab, rec := b.Table(name, "", nil), b.NewRecorder("cpu")
		for range tasks {
			rec.Record(tab, onVector(100), 1e-3)
		}
		if err := b.Save(); err != nil {
			t.Fatal(err)
		}
		return tab.Estimate(onVector(100))
	}
	if e := run("a", 100); e.Samples != 0 {
		t.Errorf("without a request: %+v", e)
	}
	b.Learn()
	if e := run("b", 100); !e.Known || e.Samples != DefaultMinSamples {
		t.Errorf("%+v", e)
	}
	if files, _ := b.store.List(); len(files) != 0 {
		t.Errorf("level 0 wrote %v", files)
	}
	session(t, dir, Update, 15)
	if e := run("m", 1); e.Samples != 15 {
		t.Errorf("what was known grew: %+v", e)
	}
}

// A file that cannot be read: the program runs, says so, and leaves it alone.
func TestBookOverBadFile(t *testing.T) {
	s := newStore(t, t.TempDir())
	k := Key{Codelet: "m"}
	if err := os.MkdirAll(s.Dir(), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.Path(k), []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	b, err := NewBook(s, Update)
	if err != nil {
		t.Fatal(err)
	}
	tab, rec := b.Table("m", "", nil), b.NewRecorder("cpu")
	fine := b.Table("fine", "", nil)
	for range 20 {
		rec.Record(tab, onVector(100), 1e-3)
		rec.Record(fine, onVector(100), 1e-3)
	}
	if e := tab.Estimate(onVector(100)); !e.Known {
		t.Errorf("%+v", e)
	}
	if !errors.Is(tab.Err(), ErrCorrupt) || fine.Err() != nil {
		t.Errorf("%v, %v", tab.Err(), fine.Err())
	}
	if err := b.Save(); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), s.Path(k)) {
		t.Errorf("%v", err)
	}
	if data, err := os.ReadFile(s.Path(k)); err != nil || string(data) != "{" {
		t.Errorf("%q, %v", data, err)
	}
	if f, err := s.Load(Key{Codelet: "fine"}); err != nil || f.Samples() != 20 {
		t.Errorf("the other codelet: %v", err)
	}
}

func TestRecordersTogether(t *testing.T) {
	dir := t.TempDir()
	b := newBook(t, dir, Update)
	model := &Model{Kind: Regression}
	var group sync.WaitGroup
	const workers, tasks = 4, 500
	for range workers {
		rec := b.NewRecorder("cpu")
		group.Go(func() {
			for i := range tasks {
				tab := b.Table("m", "", model)
				call := onVector(100 * (1 + i%5))
				rec.Record(tab, call, 1e-8*call.Bytes())
				tab.Estimate(call)
			}
		})
	}
	group.Wait()
	if err := b.Save(); err != nil {
		t.Fatal(err)
	}
	f, err := newStore(t, dir).Load(Key{Codelet: "m"})
	if err != nil || f.Samples() != workers*tasks || len(f.Groups[0].Entries) != 5 {
		t.Errorf("%v: %d samples", err, f.Samples())
	}
}

func TestTablesAreBounded(t *testing.T) {
	b := newBook(t, t.TempDir(), Update)
	tab, rec := b.Table("m", "", nil), b.NewRecorder("cpu")
	for i := range 3 * maxEntries {
		rec.Record(tab, onVector(1+i), 1e-3)
	}
	for i := range 2 * maxGroups {
		c := onVector(8)
		c.Impl = i
		rec.Record(tab, c, 1e-3)
	}
	if g := tab.findLocked(groupKey{arch: "cpu"}); len(g.cells) > maxEntries || len(rec.cells) > maxEntries || len(tab.mu.groups) > maxGroups {
		t.Errorf("%d entries, %d in the recorder, %d groups", len(g.cells), len(rec.cells), len(tab.mu.groups))
	}
	if err := b.Save(); err != nil {
		t.Fatal(err)
	}
}

func TestModelsThatMakeNoSense(t *testing.T) {
	cost := func(*Call) float64 { return 1 }
	params := func(*Call) []float64 { return nil }
	for _, m := range []*Model{
		{Kind: 77}, {MinSamples: -1}, {Kind: Common}, {Kind: PerArch}, {Kind: Multiple}, {Args: []int{-1}},
		{Kind: Common, Cost: cost, Factor: map[string]float64{"cpu": 0}},
		{Kind: Multiple, Params: params, ParamNames: []string{"p"}, Terms: [][]float64{{1, 2}}},
		{Kind: Multiple, Params: params, ParamNames: []string{"p"}, Terms: [][]float64{{math.NaN()}}},
		{Kind: Multiple, Params: params, ParamNames: make([]string, MaxParams+1), Terms: [][]float64{{1}}},
	} {
		if m.Check() == nil {
			t.Errorf("%+v is accepted", m)
		}
	}
	if err := (&Model{}).Check(); err != nil {
		t.Error(err)
	}
	b := newBook(t, t.TempDir(), Update)
	tab, rec := b.Table("odd", "", &Model{Kind: Common}), b.NewRecorder("cpu")
	rec.Record(tab, onVector(8), 1)
	if e := tab.Estimate(onVector(8)); e.Samples != 1 || tab.Err() == nil {
		t.Errorf("a model without sense: %+v, %v", e, tab.Err())
	}
	if err := b.Save(); err == nil || !strings.Contains(err.Error(), "codelet odd") {
		t.Errorf("%v", err)
	}
	if _, err := NewBook(nil, 3); err == nil {
		t.Error("level 3 is accepted")
	}
}

// TestWorkers: each number of workers of a parallel codelet has its own times, in the
// program and in its file, and a curve goes through those of one number only.
func TestWorkers(t *testing.T) {
	for _, m := range []*Model{{MinSamples: 2}, {Kind: Regression, MinSamples: 2}} {
		dir := t.TempDir()
		b := newBook(t, dir, Update)
		tab, rec := b.Table("m", "", m), b.NewRecorder("cpu")
		for n := 1; n <= 4; n++ {
			for size := 100; size <= 800; size *= 2 {
				for range 2 {
					c := onVector(size)
					c.Workers = n
					rec.Record(tab, c, float64(size)/float64(n))
				}
			}
		}
		rec.Record(tab, onVector(100), 7)
		if err := b.Save(); err != nil {
			t.Fatal(err)
		}
		for what, tab := range map[string]*Table{"measured": tab, "loaded": newBook(t, dir, UseOnly).Table("m", "", m)} {
			for n := 1; n <= 5; n++ {
				c := onVector(200)
				c.Workers = n
				e := tab.Estimate(c)
				if want := 200 / float64(n); e.Known != (n < 5) || e.Known && (e.Seconds < 0.999*want || e.Seconds > 1.001*want) {
					t.Errorf("%v, %s: %d workers take %v, want %v", m.Kind, what, n, e, want)
				}
			}
			if e := tab.Estimate(onVector(100)); e.Samples != 1 {
				t.Errorf("%v, %s: without a number of workers %v", m.Kind, what, e)
			}
		}
	}
}
