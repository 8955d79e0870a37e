package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/starpush/starpush/accel/mpi"
)

// rankOptions are the defaults of ranks. policies are those of StarPU.
var rankOptions = options{rounds: 5, n: 300, workers: 2, policies: []string{"lws"}, ranks: []int{1, 2, 4}}

// rankRow is a row of the tables of ranks: a workload, for all sides.
type rankRow struct {
	row
	kind  string // "program", "chain", "pruned"
	ranks int
	bytes int // of the data of a chain
}

// chainSizes are the bytes of the data of the chains.
var chainSizes = []int{8, 4 << 10, 64 << 10, 1 << 20}

// rankRows are the rows that o asks for; size has the arguments of the programs, and how many tasks the chains have.
func rankRows(o *options, size map[string]string) []rankRow {
	var out []rankRow
	for _, w := range []struct{ key, label string }{
		{"cholesky", "Cholesky f64, block-cyclic"}, {"heat", "heat, bands of rows"}, {"cg", "CG, dense"},
	} {
		for _, n := range o.ranks {
			args := append([]string{w.key}, strings.Fields(size[w.key])...)
			if w.key == "cholesky" {
				p, q := gridOf(n)
				args = append(args, fmt.Sprintf("p=%d", p), fmt.Sprintf("q=%d", q))
			}
			if n == 1 {
				args = append(args, "workers="+strconv.Itoa(o.workers))
			}
			label := w.label + ", " + strings.Join(strings.Fields(size[w.key]), " ")
			out = append(out, rankRow{row{key: w.key + "-" + strconv.Itoa(n), label: label, args: args}, "program", n, 0})
		}
	}
	if slices.Max(o.ranks) > 1 {
		for _, b := range chainSizes {
			args := []string{"chain", "n=" + strconv.Itoa(o.n), "bytes=" + strconv.Itoa(b)}
			out = append(out, rankRow{row{key: "chain-" + strconv.Itoa(b), label: bytesLabel(b), args: args}, "chain", 2, b})
		}
		out = append(out, rankRow{row{key: "pruned", label: "three operands on the other rank", args: []string{"pruned"}}, "pruned", 2, 0})
	}
	return slices.DeleteFunc(out, func(r rankRow) bool {
		name, _, _ := strings.Cut(r.key, "-")
		return len(o.only) > 0 && !slices.Contains(o.only, name) && !slices.Contains(o.only, r.key)
	})
}

// programSizes are the arguments of the programs of ranks.
var programSizes = map[string]string{"cholesky": "nt=20 nb=256", "heat": "n=4096 nb=8 t=60", "cg": "n=4096 nb=8 t=40"}

// gridOf returns the most square grid of n ranks, with no more rows than columns.
func gridOf(n int) (p, q int) {
	for p = int(math.Sqrt(float64(n))); n%p != 0; p-- {
	}
	return p, n / p
}

func bytesLabel(b int) string {
	switch {
	case b >= 1<<20:
		return fmt.Sprintf("%d MiB", b>>20)
	case b >= 1<<10:
		return fmt.Sprintf("%d KiB", b>>10)
	}
	return fmt.Sprintf("%d bytes", b)
}

// rankSide is a side of ranks: a program that mpirun starts.
type rankSide struct {
	*side
	kinds []string // of rows that it has
	first []string // arguments in front of the workload
	more  []string // arguments behind it
	count string   // the variable by which the program gets the library that counts messages
	bound bool     // to cores, which is for several ranks
	free  bool     // the opposite, which needs a CPU for each worker and each thread for MPI
}

// rankTools are the programs that the comparison needs besides starpush, "" for each that the machine lacks.
type rankTools struct {
	mpirun, mpibench, pingpong, counter string
}

// runLimit ends a run that does not end.
const runLimit = time.Minute

// mpiEnv makes Open MPI start more ranks than there are CPUs, for any user, as starpush run --ranks does.
var mpiEnv = []string{"OMPI_MCA_rmaps_base_oversubscribe=1", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}

// mpiRun runs a program on n ranks and returns what they print. One rank needs no mpirun.
func (t *rankTools) mpiRun(ctx context.Context, env []string, n int, program string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	all := append([]string{program}, args...)
	if n > 1 {
		all = append([]string{t.mpirun, "-n", strconv.Itoa(n)}, all...)
	}
	cmd := exec.CommandContext(ctx, all[0], all[1:]...)
	cmd.Env = slices.Concat(os.Environ(), mpiEnv, env)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // mpirun ends the ranks
	cmd.WaitDelay = 10 * time.Second
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		err = fmt.Errorf("%s %s did not end in %v", filepath.Base(program), strings.Join(args, " "), runLimit)
	case err != nil:
		lines := strings.SplitN(strings.TrimSpace(complaints.String()), "\n", 4)
		err = fmt.Errorf("%s %s: %w: %s", filepath.Base(program), strings.Join(args, " "), err, strings.Join(lines[:min(3, len(lines))], "; "))
	}
	return out.Bytes(), err
}

// has reports whether s has a row.
func (s *rankSide) has(r *rankRow) bool {
	return slices.Contains(s.kinds, r.kind) && !(s.bound && r.ranks == 1) && !(s.free && r.ranks > 1 && 2*r.ranks > runtime.NumCPU())
}

// run runs the program of s, by the side's own start if it has one.
func (s *rankSide) run(ctx context.Context, t *rankTools, env []string, n int, args ...string) ([]byte, error) {
	if s.start != nil {
		return s.start(ctx, env, s.program, args...)
	}
	return t.mpiRun(ctx, env, n, s.program, args...)
}

// measure runs a row on a side.
func (s *rankSide) measure(ctx context.Context, t *rankTools, r *rankRow) (result, error) {
	out, err := s.run(ctx, t, s.env, r.ranks, s.argsOf(r)...)
	if err != nil {
		return result{}, err
	}
	return parseResult(out)
}

// argsOf is the command line of a row.
func (s *rankSide) argsOf(r *rankRow) []string {
	if s.name == "C" {
		return []string{strconv.Itoa(r.bytes)}
	}
	args := slices.Concat(s.first, r.args, s.more)
	if !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "workers=") }) {
		args = append(args, "workers=1")
	}
	return args
}

// traffic is what all ranks of a run have sent.
type traffic struct {
	messages, bytes int64 // with data
	headers, others int64 // messages besides
	counted         bool  // between the program and MPI; otherwise others is not known
}

// sent runs a row once more, without a checksum, and counts its messages.
func (s *rankSide) sent(ctx context.Context, t *rankTools, r *rankRow) (traffic, error) {
	env := s.env
	if t.counter != "" {
		env = append(slices.Clone(env), s.count+"="+t.counter)
	}
	out, err := s.run(ctx, t, env, r.ranks, append(s.argsOf(r), "check=0")...)
	if err != nil {
		return traffic{}, err
	}
	return parseTraffic(out)
}

// parseTraffic adds up what the ranks of a run have printed about messages: lines of the library that counts, and that of starpush.
// Those that StarPU-MPI sends are data and headers.
func parseTraffic(out []byte) (t traffic, err error) {
	var all, bytesOf int64
	reported := false
	for line := range bytes.Lines(out) {
		if line = bytes.TrimSpace(line); !bytes.HasPrefix(line, []byte("{")) {
			continue
		}
		var l struct {
			Messages, Bytes, Counted, Headers *int64
			CountedBytes                      int64 `json:"counted_bytes"`
		}
		if err := json.Unmarshal(line, &l); err != nil {
			return t, fmt.Errorf("%s: %w", line, err)
		}
		switch {
		case l.Messages != nil && l.Bytes != nil:
			t.messages, t.bytes, reported = *l.Messages, *l.Bytes, true
		case l.Counted != nil && l.Headers != nil:
			t.counted = true
			all += *l.Counted
			bytesOf += l.CountedBytes
			t.headers += *l.Headers
		}
	}
	switch {
	case !t.counted && !reported:
		return t, fmt.Errorf("no line with messages in %q", out)
	case t.counted && !reported:
		t.messages, t.bytes = all-t.headers, bytesOf-32*t.headers
	case t.counted:
		t.headers, t.others = 0, all-t.messages
	}
	return t, nil
}

// ranks compares starpush on ranks with StarPU-MPI, as far as the machine has it.
func ranks(ctx context.Context, args []string) error {
	o, err := parseOptions(args, rankOptions)
	if err != nil {
		return err
	}
	rows := rankRows(o, programSizes)
	if len(rows) == 0 {
		return fmt.Errorf("no row of only=%s; there are cholesky heat cg chain pruned", strings.Join(o.only, ","))
	}
	home, err := os.MkdirTemp("", "starpu-home")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	tools, notes, err := buildRanks(ctx)
	if err != nil {
		return err
	}
	for _, n := range notes {
		fmt.Fprintln(os.Stderr, n)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	sides := rankSides(tools, o, self, home)
	if tools.mpibench != "" { // one rank measures the buses alone: several would write the same file at the same time
		if _, err := tools.mpiRun(ctx, sides[0].env, 1, tools.mpibench, "chain", "n=1", "workers=1"); err != nil {
			return err
		}
	}
	if tools.mpirun == "" {
		rows = slices.DeleteFunc(rows, func(r rankRow) bool { return r.ranks > 1 })
	}
	log := io.Discard
	if o.log != "" {
		f, err := os.OpenFile(o.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
		if err != nil {
			return err
		}
		defer f.Close()
		log = f
	}
	return compareRanks(ctx, os.Stdout, os.Stderr, log, o, rows, tools, sides, notes)
}

// buildRanks builds the programs in C, and finds mpirun. notes say which of them are missing, and what to install.
func buildRanks(ctx context.Context) (tools *rankTools, notes []string, err error) {
	t := &rankTools{}
	dir, err := cacheDir()
	if err != nil {
		return nil, nil, err
	}
	lib, err := mpi.Open()
	if err != nil {
		return t, []string{"on one rank alone: " + err.Error()}, nil
	}
	names := []string{"mpirun.openmpi", "mpirun"}
	if lib.Implementation() == "MPICH" {
		names = []string{"mpirun.mpich", "mpiexec.hydra", "mpirun"}
	}
	for _, name := range names {
		if t.mpirun, err = exec.LookPath(name); err == nil {
			break
		}
	}
	if err != nil {
		return t, []string{fmt.Sprintf("on one rank alone: there is no %s, which starts the ranks of %s; on Debian: apt-get install openmpi-bin, or mpich", strings.Join(names, ", "), lib)}, nil
	}
	for _, p := range []struct {
		what, file, install string
		to                  *string
		modules, flags      []string
	}{
		{"StarPU-MPI", "mpibench", "libstarpu-dev libopenmpi-dev libopenblas0 gcc pkg-config", &t.mpibench, []string{"starpumpi-1.3", "ompi-c"},
			[]string{"-O3", "-march=native", "-fopenmp-simd", "-l:libopenblas.so.0", "-lm"}},
		{"the ping-pong in C", "pingpong", "libopenmpi-dev gcc pkg-config", &t.pingpong, []string{"ompi-c"}, nil},
		{"counted messages", "count", "libopenmpi-dev gcc pkg-config", &t.counter, []string{"ompi-c"}, []string{"-shared", "-fPIC"}},
	} {
		if lib.Implementation() == "MPICH" {
			err = errors.New("the MPI library is MPICH, and they need Open MPI")
		} else {
			*p.to, err = buildRankPeer(ctx, dir, p.file, p.modules, p.flags)
		}
		if err != nil {
			notes = append(notes, (&missing{p.what, p.install, err}).Error())
		}
	}
	return t, notes, nil
}

// buildRankPeer compiles a file of peers/starpu-mpi, with the flags of modules of pkg-config.
func buildRankPeer(ctx context.Context, dir, name string, modules, flags []string) (string, error) {
	out, err := output(ctx, "pkg-config", append([]string{"--cflags", "--libs"}, modules...)...)
	if err != nil {
		return "", err
	}
	src, err := peerSources.ReadFile("peers/starpu-mpi/" + name + ".c")
	if err != nil {
		return "", err
	}
	return compileSource(ctx, dir, name, src, append(strings.Fields(string(out)), flags...))
}

// rankVariants are the settings of StarPU-MPI that are tried, besides policies: none is the best for all programs.
var rankVariants = []struct {
	name  string
	bound bool   // the worker and the thread for MPI of a rank are bound to one core
	yield string // whether Open MPI lets other threads go first while it waits
}{{"bound", true, "0"}, {"yielding", true, "1"}, {"free", false, "0"}}

// rankSides are the peers, and starpush from a script and through its Go API.
func rankSides(t *rankTools, o *options, self, home string) []*rankSide {
	var out []*rankSide
	policies := o.policies
	if t.mpibench == "" {
		policies = nil
	}
	for _, policy := range policies {
		env := append([]string{"STARPU_SCHED=" + policy, "STARPU_SILENT=1", "STARPU_HOME=" + home, "OMPI_MCA_hwloc_base_binding_policy=none"}, blasEnv()...)
		for _, v := range rankVariants {
			cores := 0
			if v.bound {
				cores = runtime.NumCPU()
			}
			out = append(out, &rankSide{
				side:  &side{name: "StarPU-MPI", variant: policy + " " + v.name, program: t.mpibench, env: append(slices.Clone(env), "OMPI_MCA_mpi_yield_when_idle="+v.yield)},
				kinds: []string{"program", "chain", "pruned"}, more: []string{"bind=" + strconv.Itoa(cores)}, count: "LD_PRELOAD", bound: v.bound, free: !v.bound,
			})
		}
	}
	out = append(out, &rankSide{side: &side{name: "script", program: self, env: blasEnv()}, kinds: []string{"program", "chain", "pruned"}, first: []string{"rank"}, count: mpi.LibraryVariable},
		&rankSide{side: &side{name: "starpush", program: self, env: blasEnv()}, kinds: []string{"pruned"}, first: []string{"rank"}, more: []string{"via=go"}})
	if t.pingpong != "" {
		out = append(out, &rankSide{side: &side{name: "C", program: t.pingpong}, kinds: []string{"chain"}})
	}
	return out
}

// rankSamples are the measurements of ranks, and the messages by row and side.
type rankSamples struct {
	*samples
	sent map[[2]string]traffic
}

// compareRanks measures and prints rows. log gets a line of JSON for each measurement, and for the median of each.
func compareRanks(ctx context.Context, w, progress, log io.Writer, o *options, rows []rankRow, t *rankTools, sides []*rankSide, notes []string) error {
	got := &rankSamples{&samples{all: map[sampleKey][]result{}, failed: map[sampleKey]error{}}, map[[2]string]traffic{}}
	if err := got.collect(ctx, progress, log, o, rows, t, sides); err != nil {
		return err
	}
	if err := got.writeMedians(log, rows); err != nil {
		return err
	}
	if o.json {
		if err := got.writeMedians(w, rows); err != nil {
			return err
		}
	} else {
		notes = append([]string{"First submission to the end of the last task on all ranks: median (lowest to highest). StarPU-MPI: its policy and the setting of its threads that was the best."}, notes...)
		notes = append(notes, machineNotes(ctx, fmt.Sprintf("%d rounds in turn", o.rounds))...)
		all := rankTables(rows, got)
		all[len(all)-1].notes = append(all[len(all)-1].notes, notes...)
		for _, table := range all {
			if err := table.write(w, o.markdown); err != nil {
				return err
			}
		}
	}
	for key, err := range got.failed {
		if key.side == "starpush" || key.side == "script" {
			return fmt.Errorf("%s, %s: %w", key.side, key.row, err)
		}
	}
	return got.agree(rows)
}

// collect runs every row on every side in turn, o.rounds times, and once more to count messages.
func (s *rankSamples) collect(ctx context.Context, progress, log io.Writer, o *options, rows []rankRow, t *rankTools, sides []*rankSide) error {
	enc := json.NewEncoder(log)
	for round := range o.rounds {
		for i := range rows {
			r := &rows[i]
			fmt.Fprintf(progress, "\rround %d of %d: %d of %d  ", round+1, o.rounds, i+1, len(rows))
			for k := range sides {
				x := sides[(k+round)%len(sides)]
				key := sampleKey{r.key, x.name, x.variant}
				if !x.has(r) || s.failed[key] != nil {
					continue
				}
				m, err := x.measure(ctx, t, r)
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if err != nil {
					s.failed[key] = err
					fmt.Fprintf(progress, "\n%s %s, %s: %v\n", x.name, x.variant, r.key, err)
					continue
				}
				s.all[key] = append(s.all[key], m)
				if err := enc.Encode(rankLine{r.key, x.name, x.variant, round + 1, m}); err != nil {
					return err
				}
			}
		}
	}
	for i := range rows {
		r := &rows[i]
		for _, x := range sides {
			if key := [2]string{r.key, x.name}; r.kind == "program" && r.ranks > 1 && s.sent[key] == (traffic{}) && x.has(r) {
				if x.name != "script" && t.counter == "" {
					continue
				}
				m, err := x.sent(ctx, t, r) // the first variant; all send the same
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if err != nil {
					fmt.Fprintf(progress, "\n%s %s, messages of %s: %v\n", x.name, x.variant, r.key, err)
					continue
				}
				s.sent[key] = m
			}
		}
	}
	fmt.Fprintln(progress)
	return nil
}

// rankLine is a line of the log: a measurement, or with round 0 a median.
type rankLine struct {
	Row     string `json:"row"`
	Side    string `json:"side"`
	Variant string `json:"variant,omitempty"`
	Round   int    `json:"round"`
	Result  result `json:"result"`
}

// writeMedians prints the medians of all sides and variants, one line each.
func (s *rankSamples) writeMedians(w io.Writer, rows []rankRow) error {
	enc := json.NewEncoder(w)
	keys := slices.SortedFunc(maps.Keys(s.all), func(a, b sampleKey) int {
		return strings.Compare(a.side+"\n"+a.variant, b.side+"\n"+b.variant)
	})
	for _, r := range rows {
		for _, key := range keys {
			if m, ok := median(s.all[key]); ok && key.row == r.key {
				if err := enc.Encode(rankLine{r.key, key.side, key.variant, 0, m}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// closeEnough is how far a checksum may be from that of the script, relative to it.
const closeEnough = 1e-12

// agree reports sides whose results differ from those of the script.
func (s *rankSamples) agree(rows []rankRow) error {
	for _, r := range rows {
		want, _, ok := s.best(r.key, "script")
		if !ok {
			continue
		}
		for key, all := range s.all {
			if key.row != r.key || key.side == "C" {
				continue
			}
			for _, m := range all {
				if a, b := m.Extra, want.Extra; !(math.Abs(a-b) <= closeEnough*math.Abs(b)) || m.Tasks != want.Tasks {
					return fmt.Errorf("%s: the result of %s %s is %.17g after %d tasks, and that of the script %.17g after %d", r.key, key.side, key.variant, a, m.Tasks, b, want.Tasks)
				}
			}
		}
	}
	return nil
}

// spanOf writes the median and, if there are several measurements, the lowest and the highest, then the variant, if there are several.
func (s *rankSamples) spanOf(r *rankRow, side string, value func(result) float64) (text string, mid float64, ok bool) {
	m, variant, ok := s.best(r.key, side)
	if !ok {
		return none, 0, false
	}
	mid = value(m)
	text = number(mid)
	lo, hi := mid, mid
	all := s.all[sampleKey{r.key, side, variant}]
	for _, x := range all {
		lo, hi = min(lo, value(x)), max(hi, value(x))
	}
	if len(all) > 1 {
		text += fmt.Sprintf(" (%s to %s)", number(lo), number(hi))
	}
	if variant != "" && r.ranks > 1 {
		text += " " + variant
	}
	return text, mid, true
}

// rankTables are what ranks prints.
func rankTables(rows []rankRow, got *rankSamples) []*table {
	programs := &table{
		title: "Programs on ranks, seconds",
		head:  []string{"program", "ranks", "StarPU-MPI", "starpush, script", "StarPU-MPI / starpush", "messages with data", "bytes", "headers of StarPU-MPI", "other messages of starpush"},
	}
	chains := &table{
		title: "A chain of tasks on two ranks, µs a hop",
		head:  []string{"data", "message, C", "StarPU-MPI", "starpush, script", "StarPU-MPI / starpush", "starpush / C"},
	}
	tasks := &table{
		title: "A task that the other rank runs, ns",
		head:  []string{"", "StarPU-MPI", "starpush, Go API", "starpush, script", "StarPU-MPI / Go API"},
	}
	seconds := func(r result) float64 { return r.Seconds }
	us := func(r result) float64 { return r.USPerTask }
	ns := func(r result) float64 { return 1e3 * r.USPerTask }
	for i := range rows {
		r := &rows[i]
		switch r.kind {
		case "program":
			peer, a, has := got.spanOf(r, "StarPU-MPI", seconds)
			script, b, _ := got.spanOf(r, "script", seconds)
			programs.add(append([]string{r.label, strconv.Itoa(r.ranks), peer, script, quotient(a, b, has)}, got.trafficCells(r.key)...)...)
		case "chain":
			peer, a, has := got.spanOf(r, "StarPU-MPI", us)
			script, b, _ := got.spanOf(r, "script", us)
			message, c, hasC := got.spanOf(r, "C", us)
			chains.add(r.label, message, peer, script, quotient(a, b, has), quotient(b, c, hasC))
		case "pruned":
			peer, a, has := got.spanOf(r, "StarPU-MPI", ns)
			api, b, _ := got.spanOf(r, "starpush", ns)
			script, _, _ := got.spanOf(r, "script", ns)
			tasks.add(r.label, peer, api, script, quotient(a, b, has))
		}
	}
	return slices.DeleteFunc([]*table{programs, chains, tasks}, func(t *table) bool { return len(t.rows) == 0 })
}

// quotient writes a / b, if both are known.
func quotient(a, b float64, known bool) string {
	if !known || b == 0 {
		return none
	}
	return ratio(a / b)
}

// trafficCells are the cells of a row about messages: those with data, bytes, headers and others. Where the sides do not send the same, both are there.
func (s *rankSamples) trafficCells(row string) []string {
	cells := []string{none, none, none, none}
	ours, has := s.sent[[2]string{row, "script"}]
	peer, hasPeer := s.sent[[2]string{row, "StarPU-MPI"}]
	both := func(a, b int64) string {
		if hasPeer && a != b {
			return fmt.Sprintf("%d, StarPU-MPI %d", a, b)
		}
		return strconv.FormatInt(a, 10)
	}
	if has {
		cells[0], cells[1] = both(ours.messages, peer.messages), both(ours.bytes, peer.bytes)
		if ours.counted {
			cells[3] = strconv.FormatInt(ours.others, 10)
		}
	}
	if hasPeer {
		cells[2] = strconv.FormatInt(peer.headers, 10)
	}
	return cells
}
