//go:build unix

package mpi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"go.uber.org/goleak"

	"github.com/starpush/starpush/accel"
)

// Tests that need ranks start this binary through a launcher. These variables tell a rank what to do.
const (
	caseVariable    = "STARPUSH_MPI_TEST_CASE"
	threadsVariable = "STARPUSH_MPI_TEST_THREADS" // a ThreadLevel
	silenceVariable = "STARPUSH_MPI_TEST_SILENCE" // Options.Silence
)

func TestMain(m *testing.M) {
	if name := os.Getenv(caseVariable); name != "" {
		os.Exit(rank(name))
	}
	goleak.VerifyTestMain(m)
}

// limit is how long a case may take before it counts as hanging.
const limit = 2 * time.Minute

// rank is what a rank does: it returns the exit code.
func rank(name string) int {
	fail := func(err error) int {
		fmt.Printf("case %s, process %d: %v\n", name, os.Getpid(), err)
		return 1
	}
	run, ok := rankCases[name]
	if !ok {
		return fail(errors.New("there is no such case"))
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var o Options
	if s := os.Getenv(threadsVariable); s != "" {
		if _, err := fmt.Sscan(s, (*int)(&o.Threads)); err != nil {
			return fail(err)
		}
	}
	if s := os.Getenv(silenceVariable); s != "" {
		var err error
		if o.Silence, err = time.ParseDuration(s); err != nil {
			return fail(err)
		}
	}
	o.small = name == "large"
	w, err := Init(ctx, o)
	if err != nil {
		return fail(err)
	}
	fmt.Printf("rank %d of %d is process %d\n", w.Rank(), w.Size(), os.Getpid())
	if err := run(ctx, w); err != nil {
		fail(fmt.Errorf("rank %d: %w", w.Rank(), err))
		w.Abort(1)
	}
	if err := w.Close(ctx); err != nil {
		return fail(fmt.Errorf("rank %d: %w", w.Rank(), err))
	}
	if err := goleak.Find(); err != nil {
		return fail(err)
	}
	return 0
}

// implementation is an MPI that may be installed.
type implementation struct {
	family    family
	launchers []string // the first that is installed is used
	args      []string
	keepOn    []string // makes the launcher go on when a rank dies
}

var implementations = []implementation{
	{openMPI, []string{"mpirun.openmpi", "mpirun"}, []string{"--allow-run-as-root", "--oversubscribe"},
		[]string{"--enable-recovery"}},
	{mpich, []string{"mpirun.mpich", "mpiexec.hydra", "mpirun"}, nil, []string{"-disable-auto-cleanup"}},
}

// launcher returns the path of the launcher, and skips the test if it or its library is not there.
func (i implementation) launcher(t *testing.T) string {
	t.Helper()
	skip := t.Skipf
	if os.Getenv("STARPUSH_NEED_MPI") != "" {
		skip = t.Fatalf
	}
	found := false
	for _, name := range fileNames()[i.family] {
		if l, err := load(name); err == nil && l.family == i.family {
			found = true
			break
		}
	}
	if !found {
		skip("there is no library of %s; %s", i.family, remedy)
	}
	for _, name := range i.launchers {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		version, _ := exec.Command(path, "--version").CombinedOutput()
		if bytes.Contains(version, []byte("Open MPI")) == (i.family == openMPI) {
			return path
		}
	}
	skip("there is no launcher of %s; %s", i.family, remedy)
	return ""
}

// eachMPI runs a test with all implementations.
func eachMPI(t *testing.T, test func(t *testing.T, i implementation)) {
	for _, i := range implementations {
		t.Run(strings.ReplaceAll(string(i.family), " ", ""), func(t *testing.T) { test(t, i) })
	}
}

// result is how a launcher ended.
type result struct {
	output string
	code   int
	pids   map[int]int // of ranks
}

// launch runs a case on n ranks.
func (i implementation) launch(t *testing.T, n int, name string, args []string, env ...string) result {
	t.Helper()
	path := i.launcher(t)
	args = append(append(append([]string(nil), i.args...), args...), "-n", fmt.Sprint(n), os.Args[0], "-test.run", "^$")
	return start(t, path, args, append(env, caseVariable+"="+name)...)
}

func start(t *testing.T, path string, args []string, env ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	r := result{output: string(out), code: cmd.ProcessState.ExitCode(), pids: map[int]int{}}
	if ctx.Err() != nil {
		t.Fatalf("%s hangs:\n%s", name(args), out)
	}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	for line := range strings.Lines(r.output) {
		var rank, size, pid int
		if at := strings.Index(line, "rank "); at >= 0 {
			if n, _ := fmt.Sscanf(line[at:], "rank %d of %d is process %d", &rank, &size, &pid); n == 3 {
				r.pids[rank] = pid
			}
		}
	}
	return r
}

func name(args []string) string { return strings.Join(args, " ") }

// pass runs a case that must succeed.
func (i implementation) pass(t *testing.T, n int, name string, env ...string) {
	t.Helper()
	r := i.launch(t, n, name, nil, env...)
	if r.code != 0 || len(r.pids) != n {
		t.Errorf("exit code %d, %d ranks began:\n%s", r.code, len(r.pids), r.output)
	}
}

// noOrphans waits until no process of a run is left.
func (r result) noOrphans(t *testing.T) {
	t.Helper()
	for rank, pid := range r.pids {
		end := time.Now().Add(limit)
		for !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			if time.Now().After(end) {
				t.Errorf("rank %d, process %d, is still there", rank, pid)
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

func TestNone(t *testing.T) {
	for value, want := range map[string]string{
		"none":            "mpi: the environment variable STARPUSH_MPI is none; unset it to use the MPI library of this machine",
		"libnosuchmpi.so": "mpi: libnosuchmpi.so cannot be loaded: ",
	} {
		_, err := find(func(name string) string {
			if name == LibraryVariable {
				return value
			}
			return ""
		})
		if un := (*accel.UnavailableError)(nil); !errors.As(err, &un) || un.Driver != "mpi" || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", value, err)
		}
		if value != "none" && !strings.HasSuffix(err.Error(), "; correct or unset STARPUSH_MPI") {
			t.Errorf("%v does not name the variable", err)
		}
	}
}

// TestBrokenLibrary shows that a file that is there but does not load is reported, and not as missing.
func TestBrokenLibrary(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "libmpi.so")
	if err := os.WriteFile(broken, []byte("not a library"), 0o600); err != nil {
		t.Fatal(err)
	}
	order := []family{openMPI, mpich}
	for _, c := range []struct {
		file, want string
	}{
		{broken, "mpi: " + broken + " cannot be loaded: "},
		{"libnosuchmpi.so.1", "mpi: neither libnosuchmpi.so.1 nor libnosuchmpich.so was found; "},
	} {
		_, err := search(order, map[family][]string{openMPI: {c.file}, mpich: {"libnosuchmpich.so"}})
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || !strings.HasSuffix(err.Error(), remedy) {
			t.Errorf("%s: %v", c.file, err)
		}
	}
	for text, want := range map[string]bool{
		"libmpi.so: cannot open shared object file: No such file or directory":                                                    true,
		"libmpi.so: cannot open shared object file: Permission denied":                                                            false,
		"libopen-pal.so.40: cannot open shared object file: No such file or directory":                                            false,
		"libmpi.so: invalid ELF header":                                                                                           false,
		"Error loading shared library libmpi.so: No such file or directory":                                                       true,
		"Error loading shared library libmpi.so: No such file or directory (needed by /lib/libmpi.so)":                            false,
		"Error loading shared library libhwloc.so.15: No such file or directory (needed by /lib/libmpi.so)":                       false,
		"dlopen(libmpi.so, 0x000A): tried: 'libmpi.so' (no such file), '/usr/lib/libmpi.so' (no such file, not in dyld cache)":    true,
		"dlopen(libmpi.so, 0x000A): tried: 'libmpi.so' (mach-o file, but is an incompatible architecture (have 'x86_64'))":        false,
		"dlopen(libmpi.so, 0x000A): Library not loaded: libhwloc.dylib\n Reason: tried: '/usr/lib/libhwloc.dylib' (no such file)": false,
	} {
		if isMissing("libmpi.so", text) != want {
			t.Errorf("%q is missing: %t", text, !want)
		}
	}
}

// TestHandles: a handle of MPICH is a signed int.
func TestHandles(t *testing.T) {
	for f, want := range map[family]handle{mpich: ^handle(0x7bfffffe), openMPI: 0x84000001} {
		l := &Library{layout: layouts[f]}
		var cell uint64
		l.store(unsafe.Pointer(&cell), 0x84000001)
		if got := l.fetch(unsafe.Pointer(&cell)); got != want {
			t.Errorf("%s: %#x instead of %#x", f, got, want)
		}
		cell = 0
		if l.store(unsafe.Pointer(&cell), want); cell != 0x84000001 {
			t.Errorf("%s: %#x is stored as %#x", f, want, cell)
		}
	}
}

func TestFamily(t *testing.T) {
	for _, c := range []struct {
		objects bool
		version string
		want    family
		short   string
	}{
		{true, "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022\x00", openMPI, "Open MPI v4.1.4"},
		{false, "MPICH Version:      4.0.2\nMPICH Release date: Thu Apr  7 12:34:45 CDT 2022\n", mpich, "MPICH Version: 4.0.2"},
		{false, "Intel(R) MPI Library 2021.10 for Linux* OS\n\x00", mpich, "Intel(R) MPI Library 2021.10 for Linux* OS"},
		{false, "MVAPICH2 Version      :\t2.3.7\n", mpich, "MVAPICH2 Version : 2.3.7"},
		{false, "HP MPI 2.1", "", "HP MPI 2.1"},
	} {
		if got := shortVersion(c.version); got != c.short {
			t.Errorf("%q became %q", c.version, got)
		}
		if got := familyOf(c.objects, shortVersion(c.version)); got != c.want {
			t.Errorf("%q is of %q", c.version, got)
		}
	}
}

func TestLaunched(t *testing.T) {
	for _, c := range []struct {
		env  string
		want Launch
		ok   bool
	}{
		{"", Launch{}, false},
		{"PMI_RANK=0 PMI_SIZE=3 MPI_LOCALNRANKS=2", Launch{Launcher: "Hydra", Rank: 0, Size: 3, Local: 2}, true},
		{"OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4 PMIX_RANK=2", Launch{Launcher: "Open MPI", Rank: 2, Size: 4, Local: -1}, true},
		{"PMI_RANK=0 PMI_SIZE=3 PMI_FD=5", Launch{Launcher: "Hydra", Rank: 0, Size: 3, Local: -1}, true},
		{"PMI_RANK=1 PMI_SIZE=3 SLURM_STEP_ID=0 SLURM_PROCID=1", Launch{Launcher: "PMI", Rank: 1, Size: 3, Local: -1}, true},
		{"PMIX_RANK=1", Launch{Launcher: "PMIx", Rank: 1, Size: -1, Local: -1}, true},
		{"PMIX_RANK=1 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=8", Launch{Launcher: "PMIx", Rank: 1, Size: 8, Local: -1}, true},
		{"SLURM_PROCID=5 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=8", Launch{Launcher: "Slurm", Rank: 5, Size: 8, Local: -1}, true},
		{"SLURM_PROCID=0 SLURM_NTASKS=8", Launch{}, false}, // a batch script
		{"MV2_COMM_WORLD_RANK=1 MV2_COMM_WORLD_SIZE=2", Launch{Launcher: "MVAPICH", Rank: 1, Size: 2, Local: -1}, true},
		{"PMI_RANK=x", Launch{}, false},
	} {
		env := map[string]string{}
		for _, kv := range strings.Fields(c.env) {
			k, v, _ := strings.Cut(kv, "=")
			env[k] = v
		}
		if got, _, ok := launched(func(k string) string { return env[k] }); got != c.want || ok != c.ok {
			t.Errorf("%s: %+v, %t", c.env, got, ok)
		}
	}
}

func TestSplit(t *testing.T) {
	for _, c := range []struct{ bytes, blocks, rest int64 }{
		{0, 0, 0}, {1, 0, 1}, {maxCount, 1, maxCount - block}, {maxCount + 1, 2, 0}, {maxCount + 2, 2, 1},
		{3 << 30, 3, 0}, {1 << 40, 1024, 0}, {1<<40 + 12345, 1024, 12345}, {1<<61 - 1, 1<<31 - 1, 1<<30 - 1},
	} {
		blocks, rest := split(c.bytes, block)
		if blocks != c.blocks || rest != c.rest || blocks*block+rest != c.bytes || blocks > maxCount || rest > maxCount {
			t.Errorf("%d bytes: %d blocks and %d", c.bytes, blocks, rest)
		}
	}
}

func TestMismatch(t *testing.T) {
	env := map[string]string{"PMI_RANK": "0", "PMI_SIZE": "4"}
	getenv := func(k string) string { return env[k] }
	l := &Library{file: "libmpi.so.40", family: openMPI, version: "Open MPI v4.1.4"}
	err := mismatch(l, getenv, 1)
	want := "mpi: Hydra started 4 processes, but Open MPI v4.1.4 (libmpi.so.40) makes a world of 1: install the library of MPICH, or start the program with the mpirun of Open MPI"
	if err == nil || err.Error() != want {
		t.Error(err)
	}
	if err := mismatch(l, getenv, 4); err != nil {
		t.Error(err)
	}
}

// TestAlarm: the alarm for short naps rings at the end of each time, also of one that comes before the end of another.
func TestAlarm(t *testing.T) {
	a := newAlarm()
	defer a.close()
	if a == nil {
		t.Skip("timers of Go end short naps here")
	}
	for range 100 {
		a.set(time.Hour)
		select {
		case <-a.set(20 * time.Microsecond):
		case <-time.After(time.Minute):
			t.Fatal("the alarm does not ring")
		}
	}
}

// TestPollsAfterKernel: a goroutine that says that it was elsewhere polls for Options.Spin again.
func TestPollsAfterKernel(t *testing.T) {
	p := (&World{spin: spinTime}).NewPoller()
	for range 3 {
		for p.yieldAndGoOn() {
		}
		p.last, p.skipNext = p.last.Add(-time.Hour), 0
		if p.yieldAndGoOn() {
			t.Error("it polls on after a time without messages")
		}
		p.Begin()
		if !p.yieldAndGoOn() {
			t.Error("it does not poll on after Begin")
		}
	}
}
