package lang_test

// Files that wait: pipes without another side, and what killed processes leave.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
)

// TestPipeWaits opens pipes that have no other side, and one whose other side is silent:
// the run ends with its timeout or its context.
func TestPipeWaits(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "p.csv")
	if out, err := exec.Command("mkfifo", pipe).CombinedOutput(); err != nil {
		t.Skip(err, string(out))
	}
	rt := lang.Must(engine.New(engine.Options{}))
	defer rt.Close()
	for name, src := range map[string]string{
		"load": "register x = vector[f64](load = \"p.csv\")\n",
		"save": "register x = vector[f64](1000000, fill = 1)\nsave(x, \"p.csv\")\n",
	} {
		for _, silent := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/silent=%v", name, silent), func(t *testing.T) {
				if silent {
					other, err := os.OpenFile(pipe, os.O_RDWR, 0)
					if err != nil {
						t.Skip(err)
					}
					defer other.Close()
				}
				p := compile(t, lang.Config{Files: lang.Dir(dir)}, src)
				var le *lang.LimitError
				if _, err := p.Run(t.Context(), rt, lang.WithLimits(lang.Limits{Timeout: 50 * time.Millisecond})); !errors.As(err, &le) || le.Kind != "timeout" {
					t.Errorf("with a timeout: %v", err)
				}
				cause := errors.New("interrupted")
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(50*time.Millisecond, func() { cancel(cause) })
				if _, err := p.Run(ctx, rt); !errors.Is(err, cause) {
					t.Errorf("cancelled: %v", err)
				}
			})
		}
	}
}

// TestPipeServes loads from a pipe whose writer comes later.
func TestPipeServes(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "p.csv")
	if out, err := exec.Command("mkfifo", pipe).CombinedOutput(); err != nil {
		t.Skip(err, string(out))
	}
	wrote := make(chan error, 1)
	go func() { wrote <- os.WriteFile(pipe, []byte("3\n4\n"), 0) }()
	p := compile(t, lang.Config{Files: lang.Dir(dir)}, "register x = vector[f64](2, load = \"p.csv\")\n")
	rt := lang.Must(engine.New(engine.Options{}))
	defer rt.Close()
	_, err := p.Run(t.Context(), rt)
	if err := errors.Join(err, <-wrote); err != nil {
		t.Error(err)
	}
}

// TestDirSweeps kills a process that writes a new version of a file. The next version
// removes what it left, and nothing of a process that lives.
func TestDirSweeps(t *testing.T) {
	if dir := os.Getenv("STARPUSH_TEST_LEAVE"); dir != "" {
		f, err := lang.Dir(dir).Create("x.csv")
		fmt.Fprintln(f, "half")
		fmt.Println("written", err)
		select {}
	}
	dir := t.TempDir()
	leave := func() *exec.Cmd {
		c := exec.Command(os.Args[0], "-test.run=^TestDirSweeps$")
		c.Env = append(os.Environ(), "STARPUSH_TEST_LEAVE="+dir)
		out, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "written <nil>\n" {
			t.Fatal(line, err)
		}
		return c
	}
	kill := func(c *exec.Cmd) { c.Process.Kill(); c.Wait() }
	files := func() (names []string) {
		es, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range es {
			names = append(names, e.Name())
		}
		return names
	}
	save := func() {
		f, err := lang.Dir(dir).Create("x.csv")
		if err == nil {
			_, err = fmt.Fprintln(f, "1")
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	lives := leave()
	defer kill(lives)
	kill(leave())
	if err := os.WriteFile(filepath.Join(dir, ".x.csv.notes.tmp"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if got := files(); len(got) != 3 {
		t.Fatalf("before: %q", got)
	}
	save()
	kept := func(want int) {
		n := 0
		for _, f := range files() {
			if strings.HasPrefix(f, ".x.csv.") {
				n++
			}
		}
		if n != want {
			t.Errorf("%q, want %d beside x.csv", files(), want)
		}
	}
	kept(2) // of the process that lives, and what was never ours
	kill(lives)
	save()
	kept(1)
}

// TestClosedRuntime calls a function of an instance whose runtime the host has closed.
func TestClosedRuntime(t *testing.T) {
	rt := lang.Must(engine.New(engine.Options{}))
	p := compile(t, lang.Config{}, `codelet set(x: W variable[f64]) { x = 1 }
register x = variable[f64]()
func write() { insert set(W x) }
func make() { register y = variable[f64](fill = 2) }
func look() -> float { return value(x) }
write()
`)
	inst, err := p.Start(t.Context(), rt)
	if err != nil {
		t.Fatal(err)
	}
	defer inst.Close()
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"write", "make", "look"} {
		_, err := inst.Call(t.Context(), f)
		var d *lang.Diagnostic
		if !errors.As(err, &d) || d.Code != "R0112" || !errors.Is(err, engine.ErrClosed) {
			t.Errorf("%s: %v", f, err)
		}
	}
}
