package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"starpush": func() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ())) },
	})
}

// hasMPI reports whether both MPI libraries have their launchers here, or returns an error where they must.
func hasMPI() (bool, error) {
	_, openmpi := exec.LookPath("mpirun.openmpi")
	_, mpich := exec.LookPath("mpirun.mpich")
	err := errors.Join(openmpi, mpich)
	if err != nil && os.Getenv("STARPUSH_NEED_MPI") == "" {
		return false, nil
	}
	return err == nil, err
}

func needMPI(t *testing.T) {
	t.Helper()
	if ok, err := hasMPI(); err != nil {
		t.Fatal(err)
	} else if !ok {
		t.Skip("there is no MPI on this machine")
	}
}

// TestScripts runs the scripts in testdata, each a story about one subcommand or
// one group of flags. The binary they call is this test binary.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata",
		UpdateScripts: os.Getenv("STARPUSH_UPDATE") != "",
		Cmds:          map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "signalled": signalled, "watched": watched, "breakfiles": breakfiles},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "root": // may read every file
				return os.Geteuid() == 0, nil
			case "mpi":
				return hasMPI()
			case "zpty": // zsh can have a terminal of its own
				return exec.Command("zsh", "-f", "-c", "zmodload zsh/zpty").Run() == nil, nil
			}
			return false, fmt.Errorf("there is no condition %q", cond)
		},
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_STATE_HOME", filepath.Join(e.WorkDir, "state"))
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(e.WorkDir, "config"))
			e.Setenv("STARPUSH_PERF_DIR", filepath.Join(e.WorkDir, "perf"))
			e.Setenv("STARPUSH_BUS_DIR", filepath.Join(e.WorkDir, "bus"))
			e.Setenv("STARPUSH_BLAS", "gonum")
			return nil
		},
	})
}

// TestMainInProcess calls the command without a process of its own.
func TestMainInProcess(t *testing.T) {
	var out, errs bytes.Buffer
	code := Main([]string{"-e", "print(6 * 7)"}, strings.NewReader(""), &out, &errs, []string{"TERM=dumb"})
	if code != 0 || out.String() != "42\n" || errs.String() != "" {
		t.Errorf("exit %d, out %q, err %q", code, out.String(), errs.String())
	}
	out.Reset()
	code = Main(nil, strings.NewReader("print(f\"{1 + 1}\")\n"), &out, &errs, nil)
	if code != 0 || out.String() != "2\n" || errs.String() != "" {
		t.Errorf("exit %d, out %q, err %q", code, out.String(), errs.String())
	}
}

// exits runs a command that must end with the given status: "exits 2 starpush run".
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS command [args]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := exitStatus(ts, ts.Exec(args[1], args[2:]...)); got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

func exitStatus(ts *testscript.TestScript, err error) int {
	var ee *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ee):
		return ee.ExitCode()
	}
	ts.Check(err)
	return -1
}

// signalled starts a command, waits until it has printed a line "ready", sends
// it a signal, and checks how it ends: "signalled INT 130 starpush run x.spu".
// Its output goes to the files out and err.
func signalled(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: signalled INT|TERM STATUS command [args]")
	}
	sig := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM}[args[0]]
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	path, err := lookIn(ts.Getenv("PATH"), args[2])
	ts.Check(err)
	cmd := exec.Command(path, args[3:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+ts.Getenv("XDG_STATE_HOME"), "XDG_CONFIG_HOME="+ts.Getenv("XDG_CONFIG_HOME"))
	stdin, err := cmd.StdinPipe() // left open, without input
	ts.Check(err)
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	ts.Check(err)
	var errs, out bytes.Buffer
	cmd.Stderr = &errs
	ts.Check(cmd.Start())
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadString('\n')
		out.WriteString(line)
		if line == "ready\n" {
			break
		}
		if err != nil {
			cmd.Process.Kill()
			cmd.Wait()
			ts.Fatalf("the command ended before it was ready: %v\n%s%s", err, out.String(), errs.String())
		}
	}
	ts.Check(cmd.Process.Signal(sig))
	io.Copy(&out, lines)
	got := exitStatus(ts, cmd.Wait())
	ts.Check(os.WriteFile(ts.MkAbs("out"), out.Bytes(), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("err"), errs.Bytes(), 0o644))
	ts.Logf("[stdout]\n%s[stderr]\n%s", out.String(), errs.String())
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// watched starts a command, waits until it has printed a line, puts one file in the
// place of another, waits for another line and interrupts the command, which must end
// with status 130: "watched one new.spu old.spu two starpush run --watch old.spu".
func watched(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 5 {
		ts.Fatalf("usage: watched LINE NEW OLD LINE command [args]")
	}
	path, err := lookIn(ts.Getenv("PATH"), args[4])
	ts.Check(err)
	cmd := exec.Command(path, args[5:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+ts.Getenv("XDG_STATE_HOME"), "XDG_CONFIG_HOME="+ts.Getenv("XDG_CONFIG_HOME"))
	stdout, err := cmd.StdoutPipe()
	ts.Check(err)
	var errs, out bytes.Buffer
	cmd.Stderr = &errs
	ts.Check(cmd.Start())
	lines := bufio.NewReader(stdout)
	until := func(want string) {
		for {
			line, err := lines.ReadString('\n')
			out.WriteString(line)
			if strings.Contains(line, want) {
				return
			}
			if err != nil {
				cmd.Process.Kill()
				cmd.Wait()
				ts.Fatalf("the command ended before it printed %q: %v\n%s%s", want, err, out.String(), errs.String())
			}
		}
	}
	until(args[0])
	ts.Check(os.Rename(ts.MkAbs(args[1]), ts.MkAbs(args[2])))
	until(args[3])
	ts.Check(cmd.Process.Signal(syscall.SIGINT))
	io.Copy(&out, lines)
	got := exitStatus(ts, cmd.Wait())
	ts.Logf("[stdout]\n%s[stderr]\n%s", out.String(), errs.String())
	if got != 130 {
		ts.Fatalf("exit status %d, want 130", got)
	}
	ts.Check(os.WriteFile(ts.MkAbs("err"), errs.Bytes(), 0o644))
}

func lookIn(path, name string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if p := filepath.Join(dir, name); exec.Command(p).Err == nil {
			if _, err := os.Stat(p); err == nil {
				return p, nil
			}
		}
	}
	return "", exec.ErrNotFound
}
