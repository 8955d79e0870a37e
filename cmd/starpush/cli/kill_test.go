package cli

// Runs that are killed at any moment, and go on from their checkpoints.

import (
	"bytes"
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var kills = flag.Int("kills", 20, "how often TestKilledRuns kills a run")

// killedScript has data of many kinds, functions and loops around its checkpoints, and what a script reads.
const killedScript = `codelet scale(x: RW vector[T], a: T) { each i in x { x[i] = a * x[i] } }
codelet spin(v: RW variable[i64], n: int) {
    let s = 0
    for i in 0..n { s = s + i * i % 7 }
    v += s % 3 + 1
}
codelet add(x: R vector[f64], s: RW variable[f64]) { s += sum i in x { x[i] } }
codelet grow(x: RW vector[i32], k: int) {
    x.n = x.n + 1
    x[x.n - 1] = k
}
codelet turn(z: RW vector[c128]) { each i in z { z[i] = z[i] * (0.0 + 1.0i) } }
codelet flip(b: RW vector[bool]) { each i in b { b[i] = not b[i] } }
struct P { x: f64; id: i32 }
codelet move(p: RW vector[P]) { each i in p { p[i].x = p[i].x + 1.0 } }

register x = vector[f64](2000, fill = 1.5)
register h = vector[f16](9, fill = 1.0)
register z = vector[c128](3, fill = 1.0)
register b = vector[bool](5, fill = true)
register p = vector[P](4, fill = 0)
register list = vector[i32](0, capacity = 100)
register v = variable[i64](fill = 0)
register some = vector[f64](6)
register t = tensor[f32](2, 2, 2, 2, fill = 2)
partition some by blocks(3)
codelet first(x: W vector[f64]) { each i in x { x[i] = 7.0 } }
insert first(W some[1])
partition x by blocks(4)
let trace = 0.0

func round(x: vector[f64], k: int) -> float {
    register s = variable[f64](fill = 0, reduce = sum)
    for q in 0..4 { insert scale(RW x[q], 1.01) }
    for q in 0..4 { insert add(R x[q], REDUX s) }
    if k % 2 == 1 {
        checkpoint "state"
    }
    return value(s)
}

for k in 0..30 {
    insert spin(RW v, 20000)
    insert grow(RW list, k)
    insert turn(RW z)
    insert flip(RW b)
    insert move(RW p)
    insert scale(RW h, 1.0)
    trace = trace + round(x, k)
    acquire RW x[0] as xs {
        xs[0] = xs[0] + xs[1]
    }
    if k % 5 == 4 {
        wait v
        checkpoint "state"
        save(x, "x.npy")
    }
    print("round", k, trace, list.n, str(some))
}
print(v, h, z, b, p, list, t)
save(z, "z.npy")
save(list, "list.npy")
`

// saved are the files that the script writes.
var saved = []string{"x.npy", "z.npy", "list.npy"}

// TestKilledRuns kills the command at random moments, resumes until it ends, and compares what it prints and saves with a
// run that nothing disturbs.
func TestKilledRuns(t *testing.T) {
	n := *kills
	if testing.Short() {
		n = min(n, 5)
	}
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(filepath.Join(dir, "a.spu"), []byte(killedScript), 0o666))
	self, err := os.Executable()
	must(err)
	starpush := filepath.Join(dir, "starpush") // by this name TestMain knows what to do
	must(os.Symlink(self, starpush))
	command := func(ctx context.Context, dir string, args ...string) (*exec.Cmd, *bytes.Buffer, *bytes.Buffer) {
		var out, errs bytes.Buffer
		c := exec.CommandContext(ctx, starpush, args...)
		c.Dir, c.Stdout, c.Stderr = dir, &out, &errs
		c.Env = append(os.Environ(), "XDG_CACHE_HOME="+dir, "HOME="+dir)
		return c, &out, &errs
	}
	whole := filepath.Join(dir, "whole")
	must(os.Mkdir(whole, 0o777))
	began := time.Now()
	c, out, errs := command(context.Background(), whole, "run", "--deterministic", "../a.spu")
	if err := c.Run(); err != nil {
		t.Fatalf("%v\n%s", err, errs)
	}
	took := time.Since(began)
	want := out.String()
	r := rand.New(rand.NewPCG(1, uint64(n)))
	part := filepath.Join(dir, "part")
	must(os.Mkdir(part, 0o777))
	for killed := 0; ; {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.Int64N(int64(took))))
		if killed >= n {
			ctx, cancel = context.WithCancel(context.Background())
		}
		workers := []string{"1", "2", "4"}[r.IntN(3)]
		c, out, errs := command(ctx, part, "run", "--deterministic", "--cpus", workers, "--resume", "state", "../a.spu")
		err := c.Run()
		over := ctx.Err() != nil
		cancel()
		if !strings.HasSuffix(want, out.String()) && !strings.Contains(want, out.String()) {
			t.Fatalf("after %d kills it printed\n%s\nand not a part of\n%s", killed, out, want)
		}
		if err != nil && over {
			killed++
			continue
		}
		if err != nil {
			t.Fatalf("after %d kills: %v\n%s", killed, err, errs)
		}
		if !strings.HasSuffix(want, out.String()) {
			t.Fatalf("after %d kills it printed\n%s\nand not the end of\n%s", killed, out, want)
		}
		for _, name := range saved {
			a, err := os.ReadFile(filepath.Join(whole, name))
			must(err)
			b, err := os.ReadFile(filepath.Join(part, name))
			must(err)
			if !bytes.Equal(a, b) {
				t.Fatalf("after %d kills %s has other bytes", killed, name)
			}
		}
		if killed >= n {
			break
		}
		// it ended: begin again
		must(os.RemoveAll(part))
		must(os.Mkdir(part, 0o777))
	}
}
