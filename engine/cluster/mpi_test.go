//go:build unix

package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/starpush/starpush/accel/mpi"
)

// Ranks are this binary, started by a launcher with these variables.
const (
	programsVariable = "STARPUSH_CLUSTER_TEST_PROGRAMS" // how many random programs a rank runs
	firstVariable    = "STARPUSH_CLUSTER_TEST_FIRST"    // the seed of the first
)

func TestMain(m *testing.M) {
	stuckAfter, askedAtOnce = time.Millisecond, 2
	if n, err := strconv.Atoi(os.Getenv(programsVariable)); err == nil {
		first, _ := strconv.ParseUint(os.Getenv(firstVariable), 10, 64)
		os.Exit(rank(n, first))
	}
	if n, err := strconv.Atoi(os.Getenv(hopsVariable)); err == nil {
		bytes, _ := strconv.Atoi(os.Getenv(hopBytesVariable))
		if err := measureHops(n, bytes); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// rank runs random programs as one of the ranks that a launcher started.
func rank(programs int, first uint64) int {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	w, err := mpi.Init(ctx, mpi.Options{})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for n := range programs {
		p := program{seed: first + uint64(n), steps: 20 + n%80, fails: n%2 == 0}
		if bad := p.onRank(p.alone(), OverMPI(w.Comm())); bad != "" {
			fmt.Println(bad)
			w.Abort(1)
		}
	}
	fmt.Println("rank", w.Rank(), "is done")
	ctx, cancel = context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := w.Close(ctx); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// launcher is a program that starts ranks on this machine.
type launcher struct {
	name string
	args []string
}

var launchers = []launcher{
	{"mpirun.openmpi", []string{"--allow-run-as-root", "--oversubscribe"}},
	{"mpirun.mpich", nil},
}

// TestMPI runs random programs on ranks of Open MPI and MPICH.
func TestMPI(t *testing.T) {
	for _, l := range launchers {
		t.Run(l.name, func(t *testing.T) {
			path, err := exec.LookPath(l.name)
			if err != nil {
				if os.Getenv("STARPUSH_NEED_MPI") != "" {
					t.Fatal(err)
				}
				t.Skip(err)
			}
			end := time.Now().Add(*soak)
			programs := 15
			if *soak > 0 {
				programs = 60
			}
			first := *seed
			for {
				for _, size := range []int{2, 3, 4, 7} {
					ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
					cmd := exec.CommandContext(ctx, path, append(l.args[:len(l.args):len(l.args)], "-n", strconv.Itoa(size), os.Args[0])...)
					cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", programsVariable, programs), fmt.Sprintf("%s=%d", firstVariable, first))
					cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
					cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
					out, err := cmd.CombinedOutput()
					cancel()
					if err != nil || strings.Count(string(out), "is done") != size {
						t.Fatalf("%d ranks, programs from %d: %v\n%s", size, first, err, out)
					}
					first += uint64(programs)
				}
				if time.Now().After(end) {
					t.Logf("%d programs", first-*seed)
					return
				}
			}
		})
	}
}
