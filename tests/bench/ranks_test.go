package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/starpush/starpush/engine/cluster"
)

// smallPrograms end at once.
var smallPrograms = map[string]string{"cholesky": "nt=5 nb=8", "heat": "n=24 nb=4 t=6", "cg": "n=32 nb=4 t=5"}

// runLocal runs a workload of rank on n ranks in this process.
func runLocal(t *testing.T, n int, args ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	var group sync.WaitGroup
	ends := []cluster.Comm{alone{}}
	if n > 1 {
		ends = cluster.Local(n)
	}
	for _, end := range ends {
		c, err := parseRank(args)
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			if err := runRank(t.Context(), c, end, &out); err != nil {
				t.Errorf("rank %d of %d, %q: %v", end.Rank(), n, args, err)
			}
		})
	}
	group.Wait()
	return out.Bytes()
}

// TestRankScripts runs the scripts of ranks on several ranks: the results are those of one.
func TestRankScripts(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	o := rankOptions
	o.n = 9
	want := map[string]float64{}
	for _, r := range rankRows(&o, smallPrograms) {
		args := r.args
		if r.kind == "pruned" {
			args = append(slices.Clone(args), "n=400")
		}
		m, err := parseResult(runLocal(t, r.ranks, args...))
		if err != nil {
			t.Errorf("%s: %v", r.key, err)
			continue
		}
		name, _, _ := strings.Cut(r.key, "-")
		switch before, seen := want[name]; {
		case m.Workload != name || m.Seconds <= 0 || m.Extra == 0:
			t.Errorf("%s: got %+v", r.key, m)
		case seen && math.Abs(before-m.Extra) > closeEnough*math.Abs(before):
			t.Errorf("%s: the checksum is %v, and on one rank %v", r.key, m.Extra, before)
		}
		want[name] = m.Extra
	}
	if want["chain"] != 9 || want["pruned"] != 392 {
		t.Errorf("the chain counts to %v of 9, and %v of 392 tasks are pruned", want["chain"], want["pruned"])
	}
	if m, err := parseResult(runLocal(t, 2, "pruned", "n=400", "via=go")); err != nil || m.Tasks != 392 || m.Runtime != "starpush" {
		t.Errorf("through the Go API: %+v, %v", m, err)
	}
	// One row on each side of the border between two ranks, in each sweep.
	sent, err := parseTraffic(runLocal(t, 2, "heat", "n=24", "nb=4", "t=6", "check=0"))
	if want := (traffic{messages: 12, bytes: 12 * 24 * 8}); err != nil || sent != want {
		t.Errorf("heat sends %+v, %v, want %+v", sent, err, want)
	}
}

func TestParseRank(t *testing.T) {
	c, err := parseRank([]string{"chain", "n=7", "bytes=4096", "check=0"})
	if err != nil || c.ints["n"] != 7 || c.ints["elements"] != 512 || c.ints["check"] != 0 || c.ints["workers"] != 1 {
		t.Errorf("got %+v, %v", c, err)
	}
	for _, bad := range []string{"", "fanout", "chain nb=3", "chain n=x", "chain n=-1", "chain n", "heat via=go", "pruned via=c", "cg workers=0"} {
		if _, err := parseRank(strings.Fields(bad)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestParseTraffic(t *testing.T) {
	const peer = `{"runtime":"starpu-mpi-1.3.10","workload":"heat","workers":1,"tasks":4,"seconds":1,"us_per_task":1,"extra":0}
a word of warning
{"rank":1,"counted":4,"counted_bytes":664,"headers":2}
{"rank":0,"counted":2,"counted_bytes":332,"headers":1}
`
	const ours = `{"runtime":"starpush-script","workload":"heat","workers":1,"tasks":4,"seconds":1,"us_per_task":1,"extra":0}
{"messages":3,"bytes":900}
`
	const counted = `{"rank":0,"counted":13,"counted_bytes":950,"headers":0}
{"rank":1,"counted":10,"counted_bytes":50,"headers":1}
`
	for _, c := range []struct {
		name, text string
		want       traffic
	}{
		{"StarPU-MPI", peer, traffic{messages: 3, bytes: 900, headers: 3, counted: true}},
		{"starpush", ours + counted, traffic{messages: 3, bytes: 900, others: 20, counted: true}},
		{"starpush, ranks that end first", counted + ours, traffic{messages: 3, bytes: 900, others: 20, counted: true}},
		{"starpush, not counted", ours, traffic{messages: 3, bytes: 900}},
	} {
		if got, err := parseTraffic([]byte(c.text)); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", c.name, got, err, c.want)
		}
	}
	for _, bad := range []string{"", "{", `{"rank":0}`, strings.SplitAfter(ours, "\n")[0]} {
		if _, err := parseTraffic([]byte(bad)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestRankRows(t *testing.T) {
	keys := func(args ...string) string {
		o, err := parseOptions(args, rankOptions)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, r := range rankRows(o, smallPrograms) {
			out = append(out, r.key)
		}
		return strings.Join(out, " ")
	}
	for args, want := range map[string]string{
		"ranks=1,2":                    "cholesky-1 cholesky-2 heat-1 heat-2 cg-1 cg-2 chain-8 chain-4096 chain-65536 chain-1048576 pruned",
		"ranks=1":                      "cholesky-1 heat-1 cg-1",
		"only=heat,chain-8":            "heat-1 heat-2 heat-4 chain-8",
		"only=cholesky ranks=6 md=1":   "cholesky-6",
		"only=nothing log=x":           "",
		"only=chain ranks=4 rounds=1 ": "chain-8 chain-4096 chain-65536 chain-1048576",
	} {
		if got := keys(strings.Fields(args)...); got != want {
			t.Errorf("%s: rows %q, want %q", args, got, want)
		}
	}
	for n, want := range map[int][2]int{1: {1, 1}, 2: {1, 2}, 4: {2, 2}, 6: {2, 3}, 7: {1, 7}} {
		if p, q := gridOf(n); [2]int{p, q} != want {
			t.Errorf("%d ranks are a grid of %d x %d, want %v", n, p, q, want)
		}
	}
	for _, bad := range []string{"ranks=0", "ranks=", "ranks=1,x", "log="} {
		if _, err := parseOptions([]string{bad}, rankOptions); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
	for _, other := range []string{"ranks=2", "log=x"} {
		if _, err := parseOptions([]string{other}, peerOptions); err == nil {
			t.Errorf("%q of another command: no error", other)
		}
	}
}

// rankFakes are the sides of ranks without their programs: StarPU-MPI takes twice as long as starpush, and on several ranks more with threads
// that do not yield.
func rankFakes(t *testing.T, o *options) []*rankSide {
	t.Helper()
	sides := rankSides(&rankTools{mpibench: "mpibench", pingpong: "pingpong"}, o, "bench", t.TempDir())
	for _, s := range sides {
		s.start = func(_ context.Context, env []string, _ string, args ...string) ([]byte, error) {
			m := result{Runtime: s.name, Workload: "x", Workers: 1, Tasks: 10, Seconds: 1, USPerTask: 1e5, Extra: 3}
			switch {
			case s.name == "StarPU-MPI" && (s.variant == "lws yielding" || slices.Contains(args, "workers=2")):
				m.Seconds, m.USPerTask, m.Extra = 2, 2e5, 3*(1+1e-13)
			case s.name == "StarPU-MPI":
				m.Seconds, m.USPerTask = 4, 4e5
			case s.name == "C":
				m.Seconds, m.USPerTask = 0.25, 0.25e5
			}
			out, err := json.Marshal(m)
			switch {
			case err != nil || !slices.Contains(args, "check=0"):
			case s.name == "script":
				out = append(out, "\n{\"messages\":5,\"bytes\":400}\n{\"rank\":0,\"counted\":12,\"counted_bytes\":407,\"headers\":0}\n"...)
			default:
				out = append(out, "\n{\"rank\":0,\"counted\":10,\"counted_bytes\":560,\"headers\":5}\n"...)
			}
			return out, err
		}
	}
	return sides
}

func TestCompareRanks(t *testing.T) {
	o, err := parseOptions([]string{"rounds=3", "ranks=1,2", "md=1"}, rankOptions)
	if err != nil {
		t.Fatal(err)
	}
	rows := rankRows(o, smallPrograms)
	var out, log bytes.Buffer
	sides := rankFakes(t, o)
	tools := &rankTools{counter: "count"}
	if err := compareRanks(t.Context(), &out, io.Discard, &log, o, rows, tools, sides, []string{"without nothing"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| 2 | 2.00 (2.00 to 2.00) lws yielding | 1.00 (1.00 to 1.00) | 2.00 × | 5 | 400 | 5 | 7 |",
		"| 1 | 2.00 (2.00 to 2.00) | 1.00 (1.00 to 1.00) | 2.00 × | – | – | – | – |",
		"| 64 KiB | 25000 (25000 to 25000) | 200000 (200000 to 200000) lws yielding | 100000 (100000 to 100000) | 2.00 × | 4.00 × |",
		"without nothing",
	} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	rounds := map[int]int{}
	for line := range bytes.Lines(log.Bytes()) {
		var l rankLine
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		rounds[l.Round]++
	}
	if rounds[0] == 0 || rounds[0] != rounds[1] || rounds[1] != rounds[3] || len(rounds) != 4 {
		t.Errorf("lines of the log by round, 0 for medians: %v", rounds)
	}

	// A side that computes something else is an error, as is one whose checksum is not a number.
	for _, wrong := range []float64{3 * (1 + 1e-11), math.Inf(1)} {
		s := &rankSamples{samples: &samples{all: map[sampleKey][]result{
			{"heat-2", "script", ""}:             {{Tasks: 1, Extra: 3}},
			{"heat-2", "StarPU-MPI", "lws free"}: {{Tasks: 1, Extra: wrong}},
		}}}
		if err := s.agree([]rankRow{{row: row{key: "heat-2"}}}); err == nil || !strings.Contains(err.Error(), "StarPU-MPI lws free") {
			t.Errorf("checksums 3 and %v: %v", wrong, err)
		}
	}
}

// TestRanksAlone: without StarPU-MPI, the table has starpush.
func TestRanksAlone(t *testing.T) {
	o, err := parseOptions([]string{"rounds=1", "ranks=2", "only=cg,pruned"}, rankOptions)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	sides := slices.DeleteFunc(rankFakes(t, o), func(s *rankSide) bool { return s.name == "StarPU-MPI" || s.name == "C" })
	if err := compareRanks(t.Context(), &out, io.Discard, io.Discard, o, rankRows(o, smallPrograms), &rankTools{}, sides, nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"n=32 nb=4 t=5 2 – 1.00 – 5 400 – 7", "three operands on the other rank – 100000000 100000000 –"} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// TestRankPeer builds StarPU-MPI's program, if the machine has it, and runs it on one rank: the results are those of the scripts.
func TestRankPeer(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	tools, notes, err := buildRanks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range notes {
		t.Log(n)
	}
	if tools.mpibench == "" {
		t.Skip("StarPU-MPI is not installed, see the notes above; there is nothing to compare with")
	}
	o, err := parseOptions([]string{"ranks=1"}, rankOptions)
	if err != nil {
		t.Fatal(err)
	}
	sides := rankSides(tools, o, os.Args[0], t.TempDir())
	for _, r := range rankRows(o, smallPrograms) {
		want, err := parseResult(runLocal(t, 1, r.args...))
		if err != nil {
			t.Fatal(err)
		}
		m, err := sides[len(rankVariants)-1].measure(t.Context(), tools, &r)
		if err != nil {
			t.Fatal(err)
		}
		s := &rankSamples{samples: &samples{all: map[sampleKey][]result{{r.key, "script", ""}: {want}, {r.key, "StarPU-MPI", ""}: {m}}}}
		if err := s.agree([]rankRow{r}); err != nil {
			t.Error(err)
		}
	}
	// Without a compiler the notes say what to install, and nothing is built.
	t.Setenv("CC", "no-such-compiler")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	tools, notes, err = buildRanks(t.Context())
	if err != nil || tools.mpibench != "" || len(notes) != 3 || !strings.Contains(notes[0], "apt-get install libstarpu-dev") {
		t.Errorf("without a compiler: %+v, %q, %v", tools, notes, err)
	}
}
