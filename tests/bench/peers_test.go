package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// asBench in the environment makes the test binary the bench command, so that
// tests can start it as the commands do.
const asBench = "STARPUSH_TEST_AS_BENCH"

func TestMain(m *testing.M) {
	if os.Getenv(asBench) != "" {
		if err := doMain(context.Background(), os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// testSides are starpush's sides, and one that stands for StarPU with two
// policies. They run in this process, which is soon done under the race detector.
func testSides(t *testing.T) []*side {
	t.Helper()
	sides := processSides(t)
	for _, s := range sides {
		s.start = func(_ context.Context, _ []string, _ string, args ...string) ([]byte, error) {
			c, err := parse(args)
			if err != nil {
				return nil, err
			}
			r, err := run(c)
			if err != nil {
				return nil, err
			}
			return json.Marshal(r)
		}
	}
	return sides
}

// processSides are testSides in processes of their own.
func processSides(t *testing.T) []*side {
	t.Helper()
	sides, err := ours(2)
	if err != nil {
		t.Fatal(err)
	}
	peers := starpuSides(sides[0].program, t.TempDir(), 2, []string{"lws", "eager"}, false)
	sides = append(peers, sides...)
	for _, s := range sides {
		s.env = append(s.env, asBench+"=1")
	}
	return sides
}

func testOptions(t *testing.T, args ...string) *options {
	t.Helper()
	o, err := parseOptions(append([]string{"rounds=2", "n=64"}, args...), peerOptions)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestCompareTables(t *testing.T) {
	var out bytes.Buffer
	o := testOptions(t, "only=chain,random-4,stencilhalo", "md=1")
	if err := compare(t.Context(), &out, io.Discard, o, testSides(t), []string{"without nothing"}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	cells := map[string][]string{}
	for _, l := range lines {
		if c := strings.Split(l, "|"); len(c) > 2 {
			for i := range c {
				c[i] = strings.TrimSpace(c[i])
			}
			cells[c[1]] = c[2 : len(c)-1]
		}
	}
	chain, cut, halo := cells["chain, RW one vector"], cells["random, 4 fragments a handle"], cells["stencil, halo views"]
	if len(chain) != 8 || len(cut) != 8 || len(halo) != 8 {
		t.Fatalf("rows are missing:\n%s", out.String())
	}
	if !strings.HasSuffix(chain[0], " lws") && !strings.HasSuffix(chain[0], " eager") {
		t.Errorf("the peer's cell %q names no policy", chain[0])
	}
	if chain[1] != none || chain[2] == none || chain[3] != "0.080" || chain[4] == none || !strings.HasSuffix(chain[6], "×") {
		t.Errorf("row of chain: %q", chain)
	}
	// Figures that the peer cannot have are left out, not invented.
	if cut[0] != none || cut[2] == none || cut[4] == none || cut[6] != none || halo[0] != none || halo[2] == none {
		t.Errorf("rows that the peer lacks: %q %q", cut, halo)
	}
	if !strings.Contains(out.String(), "without nothing") {
		t.Error("the notes are missing")
	}
}

func TestCompareJSON(t *testing.T) {
	var out bytes.Buffer
	o := testOptions(t, "only=independent", "--json")
	if err := compare(t.Context(), &out, io.Discard, o, testSides(t), nil); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range bytes.Lines(out.Bytes()) {
		var r result
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		if r.Workload != "independent" || r.Tasks != 64 {
			t.Errorf("line %s", line)
		}
		got = append(got, r.Runtime)
	}
	if want := "starpush/lws starpush/eager starpush starpush-script"; strings.Join(got, " ") != want {
		t.Errorf("runtimes %q, want %s", got, want)
	}
}

// TestFailingSide: a peer that fails is left out; starpush failing is an error.
func TestFailingSide(t *testing.T) {
	sides := processSides(t)
	for _, s := range sides[:2] {
		s.args = []string{"workers=none"}
	}
	var out, progress bytes.Buffer
	o := testOptions(t, "only=independent")
	if err := compare(t.Context(), &out, &progress, o, sides, nil); err != nil {
		t.Errorf("a peer failed, and so did the command: %v", err)
	}
	if !strings.Contains(progress.String(), "StarPU eager, independent") {
		t.Errorf("nothing says that the peer failed: %q", progress.String())
	}
	sides[2].args = sides[0].args
	if err := compare(t.Context(), &out, &progress, o, sides, nil); err == nil {
		t.Error("starpush failed and the command did not")
	}
}

func TestBestAndMedian(t *testing.T) {
	us := func(xs ...float64) (rs []result) {
		for _, x := range xs {
			rs = append(rs, result{USPerTask: x})
		}
		return rs
	}
	for _, c := range []struct {
		in   []result
		want float64
	}{{us(3), 3}, {us(9, 1, 2), 2}, {us(5, 1, 2, 3), 3}} {
		if m, ok := median(c.in); !ok || m.USPerTask != c.want {
			t.Errorf("median of %v is %v", c.in, m.USPerTask)
		}
	}
	if _, ok := median(nil); ok {
		t.Error("nothing has a median")
	}
	s := &samples{all: map[sampleKey][]result{
		{"chain", "StarPU", "a"}:  us(1, 9, 9), // its best round is not what counts
		{"chain", "StarPU", "b"}:  us(4, 5, 6),
		{"random", "StarPU", "a"}: us(1),
		{"chain", "starpush", ""}: us(2),
	}}
	if m, v, ok := s.best("chain", "StarPU"); !ok || v != "b" || m.USPerTask != 5 {
		t.Errorf("best is %v of %q", m.USPerTask, v)
	}
	if _, _, ok := s.best("chain", "libgomp"); ok {
		t.Error("a side without measurements has a best")
	}
}

func TestParseResult(t *testing.T) {
	good := `{"runtime":"starpu-1.3.10","workload":"chain","workers":2,"tasks":10,"seconds":0.5,"us_per_task":5e4,"extra":0}`
	r, err := parseResult([]byte("[starpu] a word of warning\n" + good + "\n"))
	if err != nil || r.Runtime != "starpu-1.3.10" || r.Tasks != 10 || r.USPerTask != 5e4 {
		t.Errorf("got %+v, %v", r, err)
	}
	for _, bad := range []string{"", "no JSON", "{", `{"runtime":"x"}`, "{}"} {
		if _, err := parseResult([]byte(bad)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestOptions(t *testing.T) {
	o, err := parseOptions([]string{"--rounds=3", "n=7", "only=chain,redux", "policies=ws", "table=dense", "md=1", "--json"}, peerOptions)
	if err != nil {
		t.Fatal(err)
	}
	if o.rounds != 3 || o.n != 7 || o.workers != 2 || len(o.only) != 2 || o.policies[0] != "ws" || o.table != "dense" || !o.markdown || !o.json {
		t.Errorf("got %+v", o)
	}
	for _, bad := range []string{"rounds=0", "n=x", "rounds", "only=", "table=both", "md=maybe", "q=1", ""} {
		if _, err := parseOptions([]string{bad}, peerOptions); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
	if err := compare(t.Context(), io.Discard, io.Discard, testOptions(t, "only=nothing"), nil, nil); err == nil {
		t.Error("a row that is not there: no error")
	}
}

func TestTable(t *testing.T) {
	x := &table{title: "T", head: []string{"a", "µs"}, rows: [][]string{{"long", "1"}, {"x", "1000"}}, notes: []string{"note"}}
	for markdown, want := range map[bool]string{
		false: "T\n\na       µs\n----  ----\nlong     1\nx     1000\n\nnote\n",
		true:  "**T**\n\n| a    |   µs |\n| ---- | ---: |\n| long |    1 |\n| x    | 1000 |\n\nnote\n",
	} {
		var b bytes.Buffer
		if err := x.write(&b, markdown); err != nil || b.String() != want {
			t.Errorf("markdown %v:\n%s%v", markdown, b.String(), err)
		}
	}
	for x, want := range map[float64]string{0: "0", 0.0814: "0.081", 4.618: "4.62", 24.66: "24.7", 247.3: "247"} {
		if got := number(x); got != want {
			t.Errorf("%v is written %s, want %s", x, got, want)
		}
	}
}

// TestCompile: what cannot be compiled says why, and leaves nothing behind.
func TestCompile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("CC", filepath.Join(dir, "no-such-compiler"))
	if _, err := buildOpenMP(t.Context(), dir); !errors.As(err, new(*missing)) || !strings.Contains(err.Error(), "apt-get install gcc") {
		t.Errorf("without a compiler: %v", err)
	}
	cc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc")
	}
	t.Setenv("CC", cc)
	if _, err := compile(t.Context(), dir, "openmp", []string{"-no-such-flag"}); err == nil {
		t.Error("a wrong flag: no error")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestPeersRun builds the peers that the machine has and runs their workloads.
func TestPeersRun(t *testing.T) {
	o := testOptions(t, "policies=lws", "table=overhead", "workers=1")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	sides, notes, err := allSides(t.Context(), o, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range notes {
		t.Log(n)
	}
	for _, s := range sides {
		if s.name != "StarPU" && s.name != "libgomp" {
			continue
		}
		for _, r := range overheadRows {
			if r := o.scaled(r); s.has(r) {
				m, err := s.run(t.Context(), r.args...)
				if err != nil || m.Workload != r.args[0] || m.Tasks != 64 {
					t.Errorf("%s %s: %+v, %v", s.name, r.key, m, err)
				}
			}
		}
	}
}

// TestMETG: with an overhead of o per task, the answer is o wherever one looks.
func TestMETG(t *testing.T) {
	for _, ns := range []float64{50, 800, 30000} {
		const o = 800
		got, err := metg(result{Extra: ns / (ns + o)}, ns)
		if err != nil || math.Abs(got-o/1e3) > 1e-9 {
			t.Errorf("at %v ns: %v µs, %v", ns, got, err)
		}
	}
	for _, e := range []float64{0, -1, math.NaN()} {
		if _, err := metg(result{Extra: e}, 100); err == nil {
			t.Errorf("efficiency %v: no error", e)
		}
	}
	o := testOptions(t, "n=4096")
	if got := strings.Join(metgArgs(o, 1000), " "); got != "stencil w=16 t=256 ns=1000" {
		t.Error(got)
	}
	if got := strings.Join(metgArgs(o, 1e6), " "); got != "stencil w=16 t=64 ns=1000000" {
		t.Error(got)
	}
	var out bytes.Buffer
	if err := compare(t.Context(), &out, io.Discard, testOptions(t, "only=metg,stencil"), testSides(t), nil); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "\n"+metgRow.label+"  ") {
		t.Errorf("no row of METG:\n%s", out.String())
	}
}
