package engine

// Programs that fail are made smaller, step by step, as long as they fail.
// Each attempt is a process of its own: it may hang or crash.

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var (
	replay = flag.String("replay", "", "run the random program in this file, many times")
	budget = flag.Duration("shrink", 5*time.Minute, "how long to make a program that fails smaller")
	kept   = flag.String("kept", filepath.Join("testdata", "random"), "where programs that failed are written")
)

// keep shrinks a program that fails, writes it to a file and returns that, with
// the program as a listing.
func keep(c randomCase) string {
	dir, err := os.MkdirTemp("", "random")
	if err != nil {
		return err.Error()
	}
	defer os.RemoveAll(dir)
	c.program = shrink(c.program, func(p *program) bool { return failsAlone(dir, randomCase{p, c.options}) }, time.Now().Add(*budget))
	file := filepath.Join(*kept, fmt.Sprintf("seed%d.txt", c.seed))
	if err = os.MkdirAll(*kept, 0o777); err == nil {
		err = os.WriteFile(file, c.encode(), 0o666)
	}
	if err != nil {
		file = err.Error()
	}
	return fmt.Sprintf("kept in %s:\n%s", file, c.listing())
}

func (p *program) listing() string {
	var b strings.Builder
	for i, d := range p.data {
		fmt.Fprintf(&b, "    d%d: %v %v, home %v, all add %v, initialiser only %v, duplicate %v\n", i, d.kind, d.dims, d.home, d.adds, d.initOnly, d.dup)
	}
	for i := range p.steps {
		if p.steps[i].kind != stepGap {
			fmt.Fprintf(&b, "%3d %v\n", i, &p.steps[i])
		}
	}
	return b.String()
}

// failsAlone runs a program in another process.
func failsAlone(dir string, c randomCase) bool {
	file := filepath.Join(dir, "program")
	if os.WriteFile(file, c.encode(), 0o666) != nil {
		return false
	}
	where := ""
	if there != nil {
		where = there.Name
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestReplay$", "-test.timeout=1m", "-replay="+file, "-machine="+where)
	return cmd.Run() != nil
}

// shrink takes steps out of p while it fails, first many at once, then fewer.
func shrink(p *program, fails func(*program) bool, end time.Time) *program {
	for size := max(len(p.steps)/2, 1); ; {
		smaller := false
		for at := 0; at < len(p.steps) && time.Now().Before(end); {
			drop := make([]bool, len(p.steps))
			left := 0
			for i := at; i < min(at+size, len(drop)); i++ {
				drop[i] = true
				if p.steps[i].kind != stepGap {
					left++
				}
			}
			q := p.without(drop)
			if left == 0 || !fails(q) {
				at += size
				continue
			}
			smaller = true
			at += size - (len(p.steps) - len(q.steps)) // gaps stay
			at = max(at, 0)
			p = q
		}
		switch {
		case time.Now().After(end):
			return p
		case size > 1:
			size = max(size/2, 1)
		case !smaller:
			return p
		}
	}
}

// runCase runs a program so often, under its own options first.
func runCase(c randomCase, times int) []string {
	for n := range times {
		o := c.options
		if n%4 == 3 {
			o = configuration(uint64(n))
		}
		if bad := execute(c.program, o, func() {}); len(bad) > 0 {
			return append(bad, fmt.Sprintf("under %+v", o))
		}
	}
	return nil
}

// TestReplay runs the program of -replay; it is how shrinking tries programs.
func TestReplay(t *testing.T) {
	if *replay == "" {
		t.Skip("for -replay")
	}
	onMachine(t, *machine)
	text, err := os.ReadFile(*replay)
	must(t, err)
	c, err := decode(text)
	must(t, err)
	for _, b := range runCase(c, 100) {
		t.Error(b)
	}
}

// Programs that failed once.
func TestKeptPrograms(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "random", "*.txt"))
	must(t, err)
	for _, f := range files {
		text, err := os.ReadFile(f)
		must(t, err)
		c, err := decode(text)
		must(t, err)
		if bad := guarded(f, func() []string { return runCase(c, 24) }); len(bad) > 0 {
			t.Errorf("%s: %v\n%s", f, bad, c.listing())
		}
	}
}

// TestProgramText: a program that was encoded decodes to the same program.
func TestProgramText(t *testing.T) {
	for seed := range uint64(200) {
		c := randomCase{makeProgram(seed), configuration(seed)}
		text := c.encode()
		d, err := decode(text)
		must(t, err)
		if d.listing() != c.listing() || string(d.encode()) != string(text) {
			t.Fatalf("program %d:\n%s\ncame back as\n%s", seed, c.listing(), d.listing())
		}
	}
}

// Programs with steps taken out are programs.
func TestProgramsWithoutSteps(t *testing.T) {
	end, s := time.Now().Add(*soak/10), *seed
	for n := 0; n < 100 || time.Now().Before(end); n++ {
		p := makeProgram(s)
		r := rand.New(rand.NewPCG(s, 3))
		for range 2 {
			drop := make([]bool, len(p.steps))
			for i := range drop {
				drop[i] = r.IntN(4) == 0
			}
			p = p.without(drop)
		}
		o := configuration(s)
		if bad := guarded(fmt.Sprintf("seed %d under %+v\n%s", s, o, p.listing()), func() []string { return execute(p, o, func() {}) }); len(bad) > 0 {
			t.Fatalf("program %d under %+v: %v\n%s", s, o, bad, p.listing())
		}
		s++
	}
}

// A program that fails is made small: here one that has a task and a copy that
// both touch what the first step registered.
func TestShrink(t *testing.T) {
	wanted := func(p *program) bool {
		task, wait := false, false
		for i := range p.steps {
			s := &p.steps[i]
			task = task || s.kind == stepTask && s.task.out == runs
			wait = wait || task && s.kind == stepWait
		}
		return wait
	}
	for seed := range uint64(20) {
		p := makeProgram(seed)
		if !wanted(p) {
			continue
		}
		p = shrink(p, wanted, time.Now().Add(time.Hour)) // it takes as long as it takes
		n := 0
		for i := range p.steps {
			if p.steps[i].kind != stepGap {
				n++
			}
		}
		if n > 12 || !wanted(p) {
			t.Errorf("program %d shrinks to %d steps\n%s", seed, n, p.listing())
		}
	}
}
