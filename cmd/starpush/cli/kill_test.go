package cli

// Runs that are killed at any moment, and go on from their checkpoints.

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/starpush/starpush/engine/enginetest"
)

var kills = flag.Int("kills", 0, "how often runs are killed; 0: 20 times, and 4 on ranks")

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
	n := cmp.Or(*kills, 20)
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
		sameFiles(t, whole, part, saved...)
		if killed >= n {
			break
		}
		// it ended: begin again
		must(os.RemoveAll(part))
		must(os.Mkdir(part, 0o777))
	}
}

func sameFiles(t *testing.T, dir, other string, names ...string) {
	t.Helper()
	for _, name := range names {
		a, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(other, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a, b) {
			t.Fatalf("%s has other bytes", name)
		}
	}
}

// ofLibrary are lines that the library below MPICH writes.
var ofLibrary = regexp.MustCompile(`(?m)^\[[0-9.]+\] .* UCX .*\n`)

// killedRanksScript has data of the kinds that ranks have, with tasks that run on others than the owners, and sums that are exact, whatever the
// number of ranks.
const killedRanksScript = `codelet add(x: RW vector[T], a: T) { each i in x { x[i] = x[i] + a } }
codelet spin(v: RW variable[i64], n: int) {
    let s = 0
    for i in 0..n { s = s + i * i % 7 }
    v += s % 3 + 1
}
codelet total(x: R vector[f64], s: RW variable[f64]) { s += sum i in x { x[i] } }
codelet mix(c: RW matrix[f64], a: R matrix[f64]) { each i, j in c { c[i, j] = c[i, j] + a[i, j] * 0.5 } }
codelet turn(z: RW vector[c128]) { each i in z { z[i] = z[i] * (0.0 + 1.0i) } }
codelet flip(b: RW vector[bool]) { each i in b { b[i] = not b[i] } }
codelet move(p: RW vector[P]) { each i in p { p[i].x = p[i].x + 1.0 } }
codelet first(x: W vector[f64]) { each i in x { x[i] = 7.0 } }
codelet order(v: RW void) { }
struct P { x: f64; id: i32 }

register x = vector[f64](2000, fill = 1.5)
register m = matrix[f64](12, 10, fill = 1.0)
register g = matrix[f64](12, 10, fill = 2.0)
register h = vector[f16](9, fill = 1.0)
register z = vector[c128](3, fill = 1.0)
register b = vector[bool](5, fill = true)
register p = vector[P](4, fill = 0)
register _list = vector[i32](0, capacity = 100)
register v = variable[i64](fill = 0)
register some = vector[f64](6)
register nix = vector[f64](0, fill = 0)
register t = tensor[f32](2, 2, 2, 2, fill = 2)
register o = void()
register acc = variable[f64](fill = 0, reduce = sum)
partition some by blocks(3)
insert first(W some[1])
partition x by blocks(4)
partition m by tiles(3, 2)
let trace = 0.0

func round(x: vector[f64], k: int) -> float {
    register s = variable[f64](fill = 0, reduce = sum)
    for q in 0..4 { insert add(RW x[q], 1.0) }
    for q in 0..4 {
        insert total(R x[q], REDUX s)
        insert total(R x[q], REDUX acc)
    }
    if k % 2 == 1 { checkpoint "state" }
    return value(s)
}

for k in 0..30 {
    insert spin(RW v, 20000)
    insert turn(RW z)
    insert flip(RW b)
    insert move(RW p)
    insert add(RW h, 1.0)
    insert order(RW o) with rank = k
    for i in 0..3 { for j in 0..2 {
        partition g by tiles(3, 2)
        insert mix(RW m[i, j], R g[i, j]) with rank = k * i + j
        unpartition g
    } }
    if k % 7 == 3 {
        unpartition m
        insert mix(RW g, R m)
        partition m by tiles(3, 2)
    }
    trace = trace + round(x, k)
    acquire RW x[0] as xs {
        xs[0] = xs[0] + xs[1]
    }
    if k % 5 == 4 {
        wait v
        checkpoint "state"
        save(x, "x.npy")
    }
    print("round", k, trace, str(some), str(v))
}
print(v, h, z, b, p, t, acc, nix)
print(m, g)
save(z, "z.npy")
save(m, "m.npy")
`

// TestKilledRanks is TestKilledRuns for runs on several ranks: one rank is killed, the others end, and the run that goes on may have another number.
func TestKilledRanks(t *testing.T) {
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		t.Skip("there is no list of processes: ", err)
	}
	var launchers []string
	for _, name := range []string{"mpirun.openmpi", "mpirun.mpich"} {
		if _, err := exec.LookPath(name); err == nil {
			launchers = append(launchers, name)
		} else if os.Getenv("STARPUSH_NEED_MPI") != "" {
			t.Fatal(err)
		}
	}
	if len(launchers) == 0 {
		t.Skip("there is no MPI on this machine")
	}
	launchers = append(launchers, "") // starpush run --ranks
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	n := cmp.Or(*kills, 4)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(err)
	script := filepath.Join(dir, "a.spu")
	must(os.WriteFile(script, []byte(killedRanksScript), 0o666))
	self, err := os.Executable()
	must(err)
	starpush := filepath.Join(dir, "starpush") // by this name TestMain knows what to do
	if os.Link(self, starpush) != nil {
		b, err := os.ReadFile(self)
		must(err)
		must(os.WriteFile(starpush, b, 0o777))
	}
	// processes lists those of a run: its ranks, and a starpush that has started them.
	processes := func() (ranks, all []int) {
		list, err := os.ReadDir("/proc")
		must(err)
		for _, e := range list {
			pid, err := strconv.Atoi(e.Name())
			if err != nil {
				continue
			}
			args, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
			if name, rest, _ := strings.Cut(string(args), "\x00"); name == starpush {
				if all = append(all, pid); !strings.Contains(rest, "--ranks") {
					ranks = append(ranks, pid)
				}
			}
		}
		return ranks, all
	}
	r := rand.New(rand.NewPCG(1, uint64(n)))
	run := func(dir, launcher string, size int, args ...string) (*exec.Cmd, *bytes.Buffer, *bytes.Buffer) {
		args = append([]string{"run"}, args...)
		program := starpush
		switch {
		case size == 1:
		case launcher == "":
			args = append(args, "--ranks", strconv.Itoa(size))
		default:
			program, args = launcher, append([]string{"-n", strconv.Itoa(size), starpush}, args...)
		}
		var out, errs bytes.Buffer
		c := exec.Command(program, append(args, script)...)
		c.Dir, c.Stdout, c.Stderr = dir, &out, &errs
		c.WaitDelay = 5 * time.Second
		c.Env = append(os.Environ(), "XDG_CACHE_HOME="+dir, "HOME="+dir, "OMPI_MCA_rmaps_base_oversubscribe=1", "OMPI_MCA_orte_execute_quiet=1",
			"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
		return c, &out, &errs
	}
	whole, part := filepath.Join(dir, "whole"), filepath.Join(dir, "part")
	must(os.Mkdir(whole, 0o777))
	c, out, errs := run(whole, "", 1)
	if err := c.Run(); err != nil {
		t.Fatalf("%v\n%s", err, errs)
	}
	want := out.String()
	must(os.Mkdir(part, 0o777))
	took := time.Second
	var did []string // since the start
	for killed := 0; ; {
		launcher, size := launchers[r.IntN(len(launchers))], 1+r.IntN(4)
		c, out, errs := run(part, launcher, size, "--resume", "state")
		began := time.Now()
		must(c.Start())
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		did = append(did, fmt.Sprintf("%d ranks, %q", size, launcher))
		victim := 0
		if killed < n {
			delay := time.After(time.Duration(r.Int64N(int64(took))))
			select {
			case <-delay:
			case err := <-ended: // it was faster
				ended <- err
			}
			for len(ended) == 0 && victim == 0 {
				if ranks, _ := processes(); len(ranks) == size { // all were started
					victim = ranks[r.IntN(size)]
					p, err := os.FindProcess(victim)
					must(err)
					if p.Kill() != nil {
						victim = 0 // it has ended just now
					}
				}
				time.Sleep(time.Millisecond)
			}
		}
		select {
		case err = <-ended:
		case <-time.After(2 * time.Minute):
			_ = c.Process.Kill()
			t.Fatalf("%v, then %d was killed: it goes on for ever\n%s\n%s", did, victim, out, errs)
		}
		enginetest.Eventually(t, "no process of a run that has ended is left", func() bool { _, all := processes(); return len(all) == 0 })
		said, _, _ := strings.Cut(out.String(), "\n====") // MPICH, and what it uses, write about the end of a rank to the output
		said = ofLibrary.ReplaceAllString(said, "")
		if !strings.Contains(want, said) {
			t.Fatalf("%v, %d kills: it printed\n%s\nand not a part of\n%s", did, killed, said, want)
		}
		if victim != 0 && err != nil {
			if launcher == "" && size > 1 && c.ProcessState.ExitCode() != exitFailed {
				t.Fatalf("%v: %v, and not exit status 1\n%s", did, err, errs)
			}
			killed++
			continue
		}
		if err != nil {
			t.Fatalf("%v, %d kills: %v\n%s", did, killed, err, errs)
		}
		if !strings.HasSuffix(want, said) {
			t.Fatalf("%v, %d kills: it printed\n%s\nand not the end of\n%s", did, killed, said, want)
		}
		took = max(took, time.Since(began))
		sameFiles(t, whole, part, "x.npy", "z.npy", "m.npy")
		if killed >= n {
			t.Logf("%d kills", killed)
			break
		}
		did = nil // begin again
		must(os.RemoveAll(part))
		must(os.Mkdir(part, 0o777))
	}
}
