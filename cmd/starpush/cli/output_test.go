package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/starpush/starpush/accel/numa"
	"github.com/starpush/starpush/engine"
)

func TestProgressText(t *testing.T) {
	s := progressSample{Done: 440, Total: 540, Codelets: []progressCount{{"gemm", 412, 512}, {"trsm", 28, 28}}}
	for _, tt := range []struct {
		width int
		want  string
	}{
		{0, "gemm 412/512  trsm 28/28   81%"},
		{80, "gemm 412/512  trsm 28/28   81%"},
		{28, "gemm 412/512  …   81%"},
		{10, "440/540 tasks   81%"},
	} {
		if got := s.text(tt.width); got != tt.want {
			t.Errorf("width %d: %q, want %q", tt.width, got, tt.want)
		}
	}
	if got := (progressSample{}).text(80); got != "0/0 tasks" {
		t.Errorf("nothing yet: %q", got)
	}
}

// syncBuffer is a buffer that goroutines may share.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// until waits for a condition that another goroutine brings about.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 2000 {
		if ok() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("never: %s", what)
}

// TestProgressFrames plays a terminal: frames replace each other, a print comes
// on a line of its own, nothing is left at the end.
func TestProgressFrames(t *testing.T) {
	var screen syncBuffer // both streams, as on a terminal
	con := newConsole(&screen, &screen, nil, "never")
	var mu sync.Mutex
	done := int64(0)
	p := startProgress(progressConfig{
		con: con, frames: true, width: func() int { return 80 },
		sample: func() (progressSample, bool) {
			mu.Lock()
			defer mu.Unlock()
			done++
			return progressSample{Done: done, Total: 1 << 40, Codelets: []progressCount{{"f", done, 1 << 40}}}, true
		},
		delay: time.Microsecond, frame: time.Millisecond, line: time.Hour,
	})
	until(t, "three frames", func() bool { return strings.Count(screen.String(), "f ") >= 3 })
	fmt.Fprintln(con.out, "printed")
	until(t, "a frame after the print", func() bool {
		_, after, ok := strings.Cut(screen.String(), "printed\n")
		return ok && strings.Contains(after, "f ")
	})
	p.stop()
	shown := play(screen.String())
	if strings.Join(shown, "|") != "printed|" {
		t.Errorf("the terminal shows %q", shown)
	}
	// Every frame was one write: it erases the one before and writes no newline.
	before, _, _ := strings.Cut(screen.String(), "printed\n")
	if strings.Contains(before, "\n") {
		t.Errorf("a frame holds a newline: %q", before)
	}
}

// play shows what a terminal makes of text with returns and erased lines.
func play(text string) []string {
	lines := []string{""}
	for text != "" {
		last := len(lines) - 1
		switch {
		case strings.HasPrefix(text, eraseLine):
			lines[last], text = "", text[len(eraseLine):]
		case text[0] == '\n':
			lines, text = append(lines, ""), text[1:]
		default:
			lines[last], text = lines[last]+text[:1], text[1:]
		}
	}
	return lines
}

func TestProgressLinesAndJSON(t *testing.T) {
	var out, errs syncBuffer
	con := newConsole(&out, &errs, nil, "never")
	sample := func() (progressSample, bool) {
		return progressSample{Done: 1, Total: 4, Codelets: []progressCount{{"f", 1, 4}}, Running: []string{"f"}}, true
	}
	p := startProgress(progressConfig{con: con, sample: sample, delay: time.Hour, line: time.Microsecond})
	until(t, "a line", func() bool { return strings.HasPrefix(errs.String(), "f 1/4   25%\n") })
	p.stop()

	j := newJSONWriter(con.out)
	p = startProgress(progressConfig{con: con, json: j, sample: sample, delay: time.Hour, line: time.Microsecond})
	until(t, "a JSON line", func() bool {
		return strings.HasPrefix(out.String(), "{\"t\":\"hello\",\"schema\":1}\n{\"t\":\"progress\",\"done\":1,\"total\":4,\"running\":[\"f\"]}\n")
	})
	p.stop()

	// A run that ends before the first frame shows nothing.
	var quiet syncBuffer
	con = newConsole(&quiet, &quiet, nil, "never")
	p = startProgress(progressConfig{con: con, frames: true, sample: sample, delay: time.Hour, frame: time.Hour})
	p.stop()
	if quiet.String() != "" {
		t.Errorf("a short run shows %q", quiet.String())
	}
	(*progress)(nil).stop() // no progress was asked for
}

func TestProgressRateAndMemory(t *testing.T) {
	s := progressSample{Codelets: []progressCount{{"gemm", 412, 512}}, Done: 412, Total: 512, Rate: 9.1e12, Memory: []string{"ram 61%", "cuda:0 97%"}}
	for width, want := range map[int]string{
		0:  "gemm 412/512   80%  9.1 Tflop/s  ram 61%  cuda:0 97%",
		80: "gemm 412/512   80%  9.1 Tflop/s  ram 61%  cuda:0 97%",
		45: "gemm 412/512   80%  9.1 Tflop/s  ram 61%",
		33: "gemm 412/512   80%  9.1 Tflop/s",
		25: "gemm 412/512   80%",
	} {
		if got := s.text(width); got != want {
			t.Errorf("%d columns: %q, want %q", width, got, want)
		}
	}
	for rate, want := range map[float64]string{12: "12 flop/s", 3400: "3.4 kflop/s", 2e9: "2.0 Gflop/s", 999.9e6: "1000 Mflop/s"} {
		if got := flopsText(rate); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	got := fullness([]engine.NodeInfo{{Name: "ram", Capacity: 1000, Allocated: 9}, {Name: "gpu 0", Capacity: 1000, Allocated: 615}, {Name: "disk"}})
	if len(got) != 1 || got[0] != "gpu 0 61%" {
		t.Errorf("%q", got)
	}
	a, b := engine.Stats{Codelets: []engine.CodeletStat{{Flops: 3}}}, engine.Stats{Codelets: []engine.CodeletStat{{Flops: 3}, {Flops: 4}}}
	if n := flops(b, a); n != 4 {
		t.Error(n)
	}
}

// schemaRow is a row of the table of lines in docs/cli.md: a kind, and its fields.
var schemaRow = regexp.MustCompile("(?m)^\\| `([a-z]+)` \\| (`.*`) \\|$")

// documentedLines reads the table: fields that end with "?" need not be there.
func documentedLines(t *testing.T) map[string][]string {
	t.Helper()
	spec, err := os.ReadFile("../../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(spec), "| Line | Fields |")
	if !ok {
		t.Fatal("docs/cli.md has no table of lines")
	}
	text, _, _ = strings.Cut(text, "\n\n")
	all := map[string][]string{}
	for _, m := range schemaRow.FindAllStringSubmatch(text, -1) {
		all[m[1]] = append(all[m[1]], strings.Fields(strings.ReplaceAll(m[2], "`", ""))...)
	}
	return all
}

// TestSchema holds what --json writes against the table: each line has the fields that
// the schema promises, and none that it does not know. A field that is lost, or means
// something else, raises jsonSchema; a new one is added to the table.
func TestSchema(t *testing.T) {
	if jsonSchema != 1 {
		t.Fatal("the table is of schema 1")
	}
	dir := t.TempDir()
	script := filepath.Join(dir, "a_test.spu")
	bad := filepath.Join(dir, "bad.spu")
	slow := filepath.Join(dir, "slow.spu")
	for name, text := range map[string]string{
		script: "register x = vector[f64](8)\npartition x by blocks(2)\ncodelet set(v: W vector[f64]) { each i in v { v[i] = 1.0 } }\n" +
			"for b in 0..2 { insert set(W x[b]) }\nprint(x)\n",
		bad:  "let unused=1\nprint( nothing )\n",
		slow: "codelet die(v: RW variable[i64], n: i64) { v = v / n }\nregister v = variable[i64](fill = 1)\nfunc f(h: variable[i64]) { for k in 0..1 { insert die(RW h, 0) }\n wait }\nf(v)\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"HOME=" + dir, "TERM=dumb", "STARPUSH_PERF_DIR=" + filepath.Join(dir, "perf"), "STARPUSH_BUS_DIR=" + filepath.Join(dir, "bus"), "STARPUSH_BLAS=gonum"}
	documented := documentedLines(t)
	seen := map[string]bool{"progress": true, "watch": true} // these take time; see below
	check := func(what, line string) {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Errorf("%s: %v in %s", what, err, line)
			return
		}
		kind := strings.Trim(string(fields["t"]), `"`)
		want, ok := documented[kind]
		if !ok {
			t.Errorf("%s: lines %q are not in docs/cli.md: %s", what, kind, line)
			return
		}
		seen[kind] = true
		for _, f := range want {
			name, optional := strings.CutSuffix(f, "?")
			if _, ok := fields[name]; !ok && !optional {
				t.Errorf("%s: a line %q has no %q: %s", what, kind, name, line)
			}
		}
		for name := range fields {
			if name != "t" && !slices.Contains(want, name) && !slices.Contains(want, name+"?") {
				t.Errorf("%s: %q of lines %q is not in docs/cli.md", what, name, kind)
			}
		}
	}
	for _, args := range [][]string{
		{"run", script, "--stats", "--profile", "--advise", "--calibrate", "1"}, {"run", bad}, {"run", slow}, {"run", "nowhere.spu"}, {"--nothing"},
		{"check", script, "--codelets"}, {"plan", script}, {"graph", script}, {"bench", script, "--runs", "2"}, {"test", dir},
		{"fmt", "--diff", bad}, {"fmt", "--check", bad}, {"explain", "E0401"}, {"examples"}, {"examples", "cg"}, {"doc"}, {"doc", "blas.gemm"}, {"info"}, {"version"},
		{"perf", "ls"}, {"perf", "show", "set"}, {"perf", "reset"},
	} {
		var out, errs bytes.Buffer
		Main(append([]string{"--json"}, args...), strings.NewReader(""), &out, &errs, env)
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if lines[0] != `{"t":"hello","schema":1}` || !strings.HasPrefix(lines[len(lines)-1], `{"t":"summary",`) {
			t.Errorf("%v: begins with %s, ends with %s", args, lines[0], lines[len(lines)-1])
		}
		for _, line := range lines {
			check(fmt.Sprint(args), line)
		}
	}
	for _, v := range []any{jsonProgress{"progress", 1, 2, nil}, jsonWatch{"watch", 0, nil}} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		check("table", string(b))
	}
	for kind := range documented {
		if !seen[kind] && kind != "fit" {
			t.Errorf("no command wrote a line %q", kind)
		}
	}
}

// TestInfoNUMA: nodes are listed by the numbers of the system, with what scripts call them.
func TestInfoNUMA(t *testing.T) {
	if _, err := numa.Local(); err != nil {
		t.Skip(err)
	}
	sys := fstest.MapFS{}
	for name, text := range map[string]string{
		"cpu/online": "0-3", "node/online": "2-3", "node/node2/cpulist": "0-1", "node/node3/cpulist": "2-3",
		"node/node2/meminfo": "Node 2 MemTotal: 1024 kB", "node/node3/meminfo": "Node 3 MemTotal: 2048 kB",
	} {
		sys["devices/system/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	topology, err := numa.Read(sys, numa.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	m := topology.Open(2)
	defer m.Close()
	shown := func(of engine.Machine, asJSON bool) string {
		rt, err := of.Planner(nil) // whose workers are bound to no processor
		if err != nil {
			t.Fatal(err)
		}
		defer rt.Close()
		var out bytes.Buffer
		a := &app{con: newConsole(&out, &out, nil, "never")}
		if asJSON {
			a.json = newJSONWriter(a.con.out)
		}
		a.showInfo(info{NUMA: infoTopology(rt, topology)})
		var rows []string
		for line := range strings.Lines(out.String()) {
			if asJSON || strings.HasPrefix(line, "NUMA node") {
				rows = append(rows, strings.TrimSpace(line))
			}
		}
		return strings.Join(rows, "\n")
	}
	apart := engine.Machine{Workers: 1, Devices: m.Devices}
	want := "NUMA node  2  processors 0-1, 1 MiB, ram\nNUMA node  3  processors 2-3, 2 MiB, numa(1)"
	if got := shown(apart, false); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	want = "NUMA node  2  processors 0-1, 1 MiB, ram\nNUMA node  3  processors 2-3, 2 MiB, ram"
	if got := shown(engine.Machine{Workers: 1}, false); got != want {
		t.Errorf("main memory is one node: got\n%s\nwant\n%s", got, want)
	}
	want = `{"number":3,"processors":[2,3],"memory":2097152,"node":"numa 3","script":"numa(1)"}`
	if got := shown(apart, true); !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
