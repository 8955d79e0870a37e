package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// small makes each workload end at once.
var small = []string{"n=300", "h=16", "w=4", "t=10", "nb=3", "b=8"}

// TestWorkloads runs every workload, through the Go API and from a script.
func TestWorkloads(t *testing.T) {
	tasks := map[string]int{"stencil": 40, "stencilhalo": 40, "cholesky": 10, "gemm": 27}
	for _, w := range workloads {
		for _, via := range []string{"go", "script"} {
			for _, p := range []string{"s", "d"} {
				t.Run(w+"/"+via+"/"+p, func(t *testing.T) {
					c, err := parse(append([]string{w, "via=" + via, "p=" + p, "workers=2"}, small...))
					if err != nil {
						t.Fatal(err)
					}
					r, err := run(c)
					if err != nil {
						t.Fatal(err)
					}
					want := 300
					if n, ok := tasks[w]; ok {
						want = n
					}
					if r.Tasks != want || r.Workload != w || r.Workers != 2 || r.Seconds <= 0 {
						t.Errorf("got %+v, want %d tasks", r, want)
					}
					if (w == "commute" || w == "redux") && r.Extra != 300 {
						t.Errorf("sum %v, want 300", r.Extra)
					}
				})
			}
		}
	}
}

// TestVariants runs what the defaults of the workloads leave out.
func TestVariants(t *testing.T) {
	for _, args := range []string{"random frags=4", "random frags=4 via=script", "fanout readers=0", "fanout readers=7 via=script", "limit n=2 b=8 p=s", "limit n=2 b=8"} {
		t.Run(args, func(t *testing.T) {
			c, err := parse(append(strings.Fields(args), "workers=2", "h=8"))
			if err != nil {
				t.Fatal(err)
			}
			if c.workload != "limit" {
				c.ints["n"] = 300
			}
			r, err := run(c)
			if err != nil {
				t.Fatal(err)
			}
			if want := map[bool]int{true: 4, false: 300}[c.workload == "limit"]; r.Tasks != want {
				t.Errorf("got %+v, want %d tasks", r, want)
			}
		})
	}
}

// TestFields holds the line against the fields that the peers print.
func TestFields(t *testing.T) {
	line, err := json.Marshal(result{})
	if err != nil {
		t.Fatal(err)
	}
	rest := string(line)
	for _, f := range strings.Fields("runtime workload workers tasks seconds us_per_task extra") {
		_, after, ok := strings.Cut(rest, `"`+f+`":`)
		if !ok {
			t.Fatalf("%s: no field %q behind the ones before it", line, f)
		}
		rest = after
	}
}

// TestDraws compares the first operands with those of the peers' generator.
func TestDraws(t *testing.T) {
	x := draws(2000, 1024)
	for i := 0; i < len(x); i += 3 {
		a, b, c := x[i], x[i+1], x[i+2]
		if a == b || b == c || a == c || min(a, b, c) < 0 || max(a, b, c) >= 1024 {
			t.Fatalf("task %d has the operands %d %d %d", i/3, a, b, c)
		}
	}
	// By hand from the recurrence: s1 = 12345·6364136223846793005 + 1442695040888963407 mod 2^64.
	s := uint64(12345)
	s = s*6364136223846793005 + 1442695040888963407
	if want := int64((s >> 33) % 1024); x[0] != want {
		t.Errorf("first operand %d, want %d", x[0], want)
	}
}

func TestWrongArguments(t *testing.T) {
	for _, args := range []string{"", "nothing", "chain n", "chain n=-1", "chain n=x", "chain q=1", "chain via=air", "gemm p=q", "random h=2", "random frags=0", "stencil w=1", "stencilhalo w=1", "limit b=0", "limit nb=0", "limit via=script", "gemm nb=0", "chain sched=none"} {
		c, err := parse(strings.Fields(args))
		if err == nil {
			_, err = run(c)
		}
		if err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}
