package oracle

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/starpush/starpush/lang/vocab"
)

var (
	soak   = flag.Duration("soak", 0, "run random programs for this long")
	seed   = flag.Uint64("seed", 1, "first seed of the random programs")
	only   = flag.Uint64("only", 0, "print this program, and what the oracle says of it")
	budget = flag.Duration("shrink", 2*time.Minute, "how long to make a program that fails smaller")
	on     = flag.String("machine", "", "run the random programs on this machine alone: cpu, disk, or one that package enginetest names")
	kept   = flag.String("kept", keptDir, "the folder for programs that fail")
)

// keptDir holds programs that once did something else than the oracle says.
const keptDir = "testdata"

// TestOnly shows a program.
func TestOnly(t *testing.T) {
	if *only == 0 {
		t.Skip("for -only")
	}
	p := Generate(*only)
	text := p.Text()
	o, reason := Run(p)
	t.Logf("%s\n%s\n%s%+v at the end %+v, %d tasks, %d failed, %d cancelled", reason, text, o.Output, o.Err, o.AtEnd, len(o.Tasks), o.Failed, o.Lost)
}

// programs is how many a test looks at.
const programs = 200

// TestRandomPrograms holds random programs against the oracle. One that differs is made
// small and written to testdata. With STARPUSH_KERNELS=native all bodies run as machine code.
func TestRandomPrograms(t *testing.T) {
	end := time.Now().Add(*soak)
	n, accepted, tasks := uint64(0), 0, 0
	for ; n < programs || time.Now().Before(end); n++ {
		p := Generate(*seed + n)
		text := p.Text()
		want, reason := Run(p)
		if reason != "" {
			t.Fatalf("the oracle cannot predict program %d: %s\n%s", *seed+n, reason, text)
		}
		modes := modesOf(*on, n)
		bad, ok := check(t, text, want, modes)
		if bad != "" {
			t.Fatalf("program %d: %s\n%s", *seed+n, bad, keep(t, p, *seed+n, modes, bad))
		}
		if ok {
			accepted++
		}
		tasks += len(want.Tasks)
	}
	t.Logf("%d of %d programs were accepted, with %d tasks", accepted, n, tasks)
}

// modesOf are the ways in which program n is run on a machine; "": on all of them in turn.
func modesOf(machine string, n uint64) []mode {
	turn := func(k uint64, from []mode) mode { return from[k%uint64(len(from))] }
	switch cpu := slices.DeleteFunc(slices.Clone(allModes), func(m mode) bool { return m.machine != "" || m.ram }); machine {
	case "":
		return []mode{allModes[0], turn(n, allModes[1:]), turn(n/3, allModes[1:])}
	case "cpu":
		return []mode{turn(n, cpu), turn(n/3, cpu)}
	case "disk":
		return []mode{{workers: 2, policy: "lws", ram: true}, {workers: 1, policy: "eager", ram: true}}
	}
	return []mode{{machine: machine, policy: "dmdas"}, {machine: machine, policy: "eager"}}
}

// keep makes p smaller while it differs from the oracle as bad says, and writes it to a
// file. It returns what it is then.
func keep(t testing.TB, p *Program, seed uint64, modes []mode, bad string) string {
	end := time.Now().Add(*budget)
	Shrink(p, func(p *Program) (fails bool) {
		defer func() {
			if recover() != nil {
				fails = false // this is no program
			}
		}()
		text := p.Text()
		want, reason := Run(p)
		if reason != "" {
			return false
		}
		now, _ := check(t, text, want, modes)
		return now != "" && class(now) == class(bad)
	}, func() bool { return time.Now().Before(end) })
	text := p.Text()
	want, _ := Run(p)
	bad, _ = check(t, text, want, modes)
	wants, err := json.MarshalIndent(want, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(*kept, fmt.Sprintf("seed%d.txt", seed))
	archive := txtar.Format(&txtar.Archive{Files: []txtar.File{{Name: "program.spu", Data: []byte(text)}, {Name: "wants.json", Data: append(wants, '\n')}}})
	if err = os.MkdirAll(*kept, 0o777); err == nil {
		err = os.WriteFile(file, archive, 0o666)
	}
	if err != nil {
		t.Error(err)
	}
	return fmt.Sprintf("kept in %s: %s\n%s", file, bad, text)
}

// class is what a difference is about, without the names and numbers in it.
func class(bad string) string {
	return regexp.MustCompile("`[^`]*`|[0-9]+|\".*\"|\\[.*\\]").ReplaceAllString(bad, "")
}

// TestKeptPrograms runs the programs that once went wrong, in all modes.
func TestKeptPrograms(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(keptDir, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil || len(a.Files) != 2 {
				t.Fatal(err, "a program and what it does are expected")
			}
			var want Outcome
			if err := json.Unmarshal(a.Files[1].Data, &want); err != nil {
				t.Fatal(err)
			}
			if bad, _ := check(t, string(a.Files[0].Data), &want, allModes); bad != "" {
				t.Errorf("%s\n%s", bad, a.Files[0].Data)
			}
		})
	}
}

// TestGeneratorCovers counts what the programs of TestRandomPrograms contain: all of the
// language that the generator knows, enough tasks, and failures, but not too many.
func TestGeneratorCovers(t *testing.T) {
	used := map[string]int{}
	tasks, failed, cancelled, ended := 0, 0, 0, 0
	for seed := range uint64(programs) {
		p := Generate(1 + seed)
		p.Text()
		o, reason := Run(p)
		if reason != "" {
			t.Fatalf("program %d: %s", 1+seed, reason)
		}
		for f, n := range o.Used {
			used[f] += n
		}
		tasks, failed, cancelled = tasks+len(o.Tasks), failed+o.Failed, cancelled+o.Lost
		if o.Err != nil {
			ended++
			used["error "+o.Err.Codes[0]]++
		}
	}
	t.Logf("%d tasks, %d failed, %d cancelled; %d programs end with an error\n%v", tasks, failed, cancelled, ended, used)
	for _, want := range features() {
		if used[want] == 0 {
			t.Errorf("none of %d programs has: %s", programs, want)
		}
	}
	if tasks < 10*programs || failed < programs/20 || failed+cancelled > tasks/4 || ended > programs/4 {
		t.Errorf("%d tasks, %d failed, %d cancelled, %d programs end with an error", tasks, failed, cancelled, ended)
	}
}

// features are what programs must use, as Machine counts it.
func features() []string {
	var out []string
	for _, m := range []Mode{R, W, RW, Commute, Redux, Scratch} {
		out = append(out, "mode "+m.String())
	}
	for s := Variable; s <= Void; s++ {
		out = append(out, "shape "+s.String())
	}
	for _, e := range slices.Concat(Elems, ComplexElems, []Type{Bool}) {
		out = append(out, "elem "+e.String())
	}
	for _, r := range []string{"sum", "prod", "min", "max", "reducer"} {
		out = append(out, "reduce "+r)
	}
	for _, m := range []Mode{R, W, RW} {
		out = append(out, "acquire "+m.String())
	}
	out = append(out, "COMMUTE of W", "without order", "mixed types", "script call", "script ~", "body ~", "body while", "body break", "body continue", "body return")
	for op := range bitOps {
		out = append(out, "script "+op, "body "+op)
	}
	out = append(out, "complex REDUX", "csr W", "csr COMMUTE", "layout = aos", "checkpoint", "REDUX bool", "REDUX f16", "REDUX bf16")
	for _, s := range []string{"R", "W", "RW", "COMMUTE", "copy", "print", "view"} {
		out = append(out, "struct "+s)
	}
	for _, e := range slices.Concat(Elems, ComplexElems, []Type{Bool}) {
		out = append(out, "field "+e.String())
	}
	out = append(out, "acquire field")
	for _, op := range append(slices.Clone(complexOps), "**", "==", "!=") {
		out = append(out, "complex script "+op, "complex body "+op)
	}
	for _, name := range []string{"complex", "re", "im", "conj", "abs"} {
		out = append(out, "complex body "+name)
	}
	for _, f := range []string{"csr", "csc", "coo", "bcsr"} {
		out = append(out, "from "+f, "part of a "+f, f+" R", f+" RW")
	}
	out = append(out, "from matrix")
	for _, f := range append(slices.Sorted(maps.Keys(vocab.Filters)), "then", "halo", "inside", "slice", "sizes", "range", "part of a part") {
		out = append(out, "filter "+f)
	}
	return out
}

// TestShrink makes programs small that have something in them, not because they fail.
func TestShrink(t *testing.T) {
	for seed := range uint64(5) {
		p := Generate(seed)
		wanted := func(p *Program) (ok bool) {
			defer func() { ok = recover() == nil && ok }()
			p.Text()
			o, reason := Run(p)
			return reason == "" && o.Used["mode RW"] > 0 && slices.ContainsFunc(p.Body, func(s *Stmt) bool { return s.Kind == Print })
		}
		if !wanted(p) {
			continue
		}
		Shrink(p, wanted, func() bool { return true })
		if len(p.Body) > 6 || len(p.Codelets) != 1 || !wanted(p) {
			t.Errorf("program %d shrinks to\n%s", seed, p.Text())
		}
	}
}
