package repl

import (
	"bytes"
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/starpush/starpush/cmd/starpush/grain"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/trace"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/stdlib"
)

// remembering is a shell that can :explain its tasks.
func remembering(t *testing.T) (*Shell, *bytes.Buffer) {
	t.Helper()
	rec, sizes := &trace.Recent{}, &grain.Listener{}
	rt, err := engine.New(engine.Options{Workers: 1, Listener: trace.Both(rec, sizes)})
	if err != nil {
		t.Fatal(err)
	}
	comp := lang.Must(lang.NewCompiler(lang.Config{Modules: map[string]*lang.Module{
		"std/blas": stdlib.Modules()["std/blas"]}}))
	screen := &bytes.Buffer{}
	session := comp.NewSession(rt, lang.Stdout(screen), lang.ObserveViews(rec.View))
	t.Cleanup(func() {
		session.Close()
		rt.Close()
	})
	return New(Config{Session: session, Machine: fakeMachine{}, Out: screen, Err: screen, Recent: rec, Grain: sizes, Runtime: rt, Listen: rt.Listen}), screen
}

var anyDuration = regexp.MustCompile(`[0-9.]+(e[+-][0-9]+)? (µs|ms|s)\b`)

func (s *Shell) says(t *testing.T, screen *bytes.Buffer, entry, want string) {
	t.Helper()
	screen.Reset()
	s.Entry(context.Background(), entry)
	if got := anyDuration.ReplaceAllString(screen.String(), "T"); got != want {
		t.Errorf("%s\ngot\n%s\nwant\n%s", entry, got, want)
	}
}

func TestExplain(t *testing.T) {
	s, screen := remembering(t)
	s.says(t, screen, ":explain task 1", "nothing is known of task 1: no task was inserted yet\n")
	s.says(t, screen, ":explain blocked", "no task is left, and the script holds no data\n")
	s.says(t, screen, ":explain task x", "usage: :explain task N, with the number of a task; `let t = insert …` and `t` show one\n")
	s.says(t, screen, ":explain nothing", "there is no diagnostic `nothing`; codes look like E0401; or: task N, blocked, granularity\n")
	s.says(t, screen, ":explain granularity", "no insert makes tasks that are too short, or too few for the workers\n")
	s.says(t, screen, "register x = vector[f64](400, fill = 1.0); partition x by blocks(4)", "")
	s.says(t, screen, "let g = gate()", "")
	s.says(t, screen, "for b in 0..2 { insert blas.scal(2.0, RW x[b]) with after = [g] }", "2 tasks inserted\n")
	s.says(t, screen, "insert blas.axpy(2.0, R x[0], RW x[1])", "1 task inserted\n")
	s.says(t, screen, ":explain blocked", "3 tasks have not ended\n"+
		"  <entry 3>:1      scal, 2 tasks from 1  waits for a gate that is closed; `open` lets it go on\n"+
		"    └ <entry 4>:1  axpy, task 3          waits for x[1]\n")
	s.says(t, screen, "open(g); wait", "")
	s.says(t, screen, ":explain task 2", "task 2, scal with b = 1, inserted at <entry 3>:1\n"+
		"  uses      RW x[1]\n"+
		"  state     done on cpu 0 in T\n"+
		"  waited    for no other task\n"+
		"  queued    T, from then until its kernel began: for a worker, a gate, locks, memory, copies\n"+
		"  chosen    cpu 0 by lws: it took it from what the script had inserted\n")

	// Without a memory there are no answers, and tasks of a time without it are not known.
	s.says(t, screen, ":set explain off", "")
	s.says(t, screen, ":explain blocked", "`:set explain on` makes the session remember its tasks\n")
	s.says(t, screen, "insert blas.scal(2.0, RW x[3])", "1 task inserted\n")
	s.says(t, screen, ":set explain on", "")
	s.says(t, screen, ":explain task 4", "nothing is known of task 4: those from 1 to 3 are remembered\n")
	// what is measured is not listened to, and what comes then is
	s.Entry(context.Background(), ":bench insert blas.scal(2.0, RW x[3])")
	s.says(t, screen, ":explain task 9", "nothing is known of task 9: those from 1 to 3 are remembered\n")
	s.says(t, screen, "insert blas.scal(2.0, RW x[3]); wait", "1 task inserted\n")
	screen.Reset()
	s.Entry(context.Background(), ":explain task 16")
	if !strings.HasPrefix(screen.String(), "task 16, scal, inserted at <entry") {
		t.Error(screen.String())
	}
}

// TestGranularity: an insert is found again at the prompt, also after ":set explain off".
func TestGranularity(t *testing.T) {
	for _, before := range []string{"", ":set explain off\n:set explain on"} {
		text := ""
		for try := 0; try < 50 && !strings.Contains(text, " insert one: "); try++ { // until other programs interrupt no task for long
			s, screen := remembering(t)
			for entry := range strings.SplitSeq("codelet one(x: W vector[f64]) { each i in x { x[i] = 1.0 } }\n"+before+
				"\nregister x = vector[f64](128)\npartition x by blocks(64)", "\n") {
				s.Entry(context.Background(), entry)
			}
			for at := 0; at < 20 && !strings.Contains(text, " insert one: "); at++ {
				s.Entry(context.Background(), "for b in 0..64 { insert one(W x[b]) }; wait")
				screen.Reset()
				s.Entry(context.Background(), ":explain granularity")
				text = screen.String()
			}
		}
		if !strings.Contains(text, " insert one: ") || !strings.Contains(text, "split `x` by `blocks(") {
			t.Error(text)
		}
	}
}

// The document of the prompt lists the topics that there are.
func TestTopicsInDocument(t *testing.T) {
	text, err := os.ReadFile("../../../docs/prompt.md")
	if err != nil {
		t.Fatal(err)
	}
	want := "this list; topics: `" + strings.Join(topicNames(), "`, `") + "`;"
	if !strings.Contains(string(text), want) {
		t.Errorf("docs/prompt.md does not say %q", want)
	}
}
