package main

import (
	"bytes"
	"encoding/json"
	"io"
	"runtime"
	"strings"
	"testing"
)

func TestProbes(t *testing.T) {
	for args, want := range map[string]int{"live n=300 h=8": 300, "wake n=3 ms=0": 3, "views n=50 h=3": 150, "stream n=300 h=8": 300, "idle ms=1": 1,
		"parse n=100": 100, "check n=100": 100, "compile n=100": 100, "loop n=100": 100, "fib n=100": 100, "insert n=50 h=8": 50, "npy n=100": 1, "mtx n=100": 1} {
		t.Run(args, func(t *testing.T) {
			if strings.HasPrefix(args, "stream") && runtime.GOOS != "linux" {
				t.Skip("reads Linux' status of the process")
			}
			c, err := parse(strings.Fields(args))
			if err != nil {
				t.Fatal(err)
			}
			r, err := run(c)
			if err != nil {
				t.Fatal(err)
			}
			if r.Tasks != want || r.Seconds <= 0 && c.workload != "insert" { // a difference
				t.Errorf("got %+v, want %d tasks", r, want)
			}
			if c.workload == "stream" && (r.Extra < 1 || r.Extra > 1<<20) {
				t.Errorf("%v MiB resident", r.Extra)
			}
		})
	}
	for _, args := range []string{"live h=2", "live n=0", "stream h=2", "wake n=0", "views n=0", "idle sched=none", "idle via=script", "insert h=2", "insert n=0"} {
		c, err := parse(strings.Fields(args))
		if err == nil {
			_, err = run(c)
		}
		if err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

func TestStatusBytes(t *testing.T) {
	status := []byte("Name:\tbench\nVmHWM:\t   12345 kB\nVmRSS:\t     100 kB\nThreads:\t4\n")
	for line, want := range map[string]int64{"VmHWM": 12345 << 10, "VmRSS": 100 << 10} {
		if got, err := statusBytes(status, line); err != nil || got != want {
			t.Errorf("%s: %d, %v", line, got, err)
		}
	}
	for _, line := range []string{"VmPeak", "Threads", "Name"} {
		if got, err := statusBytes(status, line); err == nil {
			t.Errorf("%s: %d", line, got)
		}
	}
}

func TestMemoryCommand(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads Linux' status of the process")
	}
	s := processSides(t)[2]
	var out bytes.Buffer
	if err := probe(t.Context(), &out, io.Discard, testOptions(t, "only=stream"), s); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "default window: 64") || !strings.Contains(out.String(), "MiB") {
		t.Errorf("got\n%s", out.String())
	}
	out.Reset()
	if err := probe(t.Context(), &out, io.Discard, testOptions(t, "only=stream", "json=1"), s); err != nil {
		t.Fatal(err)
	}
	var r result
	if err := json.Unmarshal(out.Bytes(), &r); err != nil || r.Workload != "stream" || r.Tasks != 64 {
		t.Errorf("%s: %v", out.String(), err)
	}
	if err := probe(t.Context(), &out, io.Discard, testOptions(t, "only=nothing"), s); err == nil {
		t.Error("no such row: no error")
	}
}

func TestLanguageTable(t *testing.T) {
	sides := testSides(t)
	own := sides[2]
	peer := *own // stands for starlark-go
	peer.name, peer.lacks = "starlark-go", []string{"parse"}
	var out bytes.Buffer
	if err := languageTable(t.Context(), &out, io.Discard, testOptions(t, "only=parse,loop", "md=1"), []*side{own, &peer}, []string{"without nothing"}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 9 || !strings.Contains(lines[5], "adding loop") || !strings.HasSuffix(lines[5], " × |") || !strings.HasSuffix(lines[4], "– |") || lines[8] != "without nothing" {
		t.Errorf("got %d lines:\n%s", len(lines), out.String())
	}
	out.Reset()
	if err := languageTable(t.Context(), &out, io.Discard, testOptions(t, "only=loop", "json=1"), []*side{own, &peer}, nil); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), `"workload":"loop"`); n != 2 {
		t.Errorf("%d lines of JSON:\n%s", n, out.String())
	}
	if err := languageTable(t.Context(), &out, io.Discard, testOptions(t, "only=nothing"), []*side{own}, nil); err == nil {
		t.Error("no such row: no error")
	}
}
