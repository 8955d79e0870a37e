package repl

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/enginetest"
	"github.com/starpush/starpush/lang"
)

// lockedBuffer is a screen that several goroutines may look at.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) until(t *testing.T, text string) {
	t.Helper()
	for range 2000 {
		l.mu.Lock()
		ok := strings.Contains(l.b.String(), text)
		l.mu.Unlock()
		if ok {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("the screen never shows %q:\n%s", text, l.b.String())
}

// stubborn is a shell whose codelet stubborn() looks at no context: it runs until
// release is called.
func stubborn(t *testing.T) (s *Shell, screen *lockedBuffer, interrupts, running, cancelled chan struct{}, release func()) {
	t.Helper()
	rt, err := engine.New(engine.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	gate := make(chan struct{})
	release = sync.OnceFunc(func() { close(gate) })
	running, cancelled = make(chan struct{}, 4), make(chan struct{}, 4)
	codelet := lang.Must(lang.NewCodelet("stubborn(v: RW variable[i64])", lang.CPU(func(t *lang.Task) error {
		running <- struct{}{}
		select {
		case <-t.Context().Done(): // notices, and goes on
			cancelled <- struct{}{}
			<-gate
		case <-gate:
		}
		return nil
	})))
	comp := lang.Must(lang.NewCompiler(lang.Config{Codelets: []*lang.Codelet{codelet}}))
	screen = &lockedBuffer{}
	session := comp.NewSession(rt, lang.Stdout(screen))
	interrupts = make(chan struct{}, 4)
	s = New(Config{Session: session, Machine: fakeMachine{}, Out: screen, Err: screen, Interrupts: interrupts})
	t.Cleanup(func() {
		release()
		if s.pending != nil {
			<-s.pending
		}
		session.Close()
		rt.Close()
	})
	return s, screen, interrupts, running, cancelled, release
}

func TestSecondPressStopsWaiting(t *testing.T) {
	s, screen, interrupts, running, _, release := stubborn(t)
	ctx := context.Background()
	s.Entry(ctx, "register v = variable[i64](fill = 1)")
	go func() {
		<-running
		interrupts <- struct{}{}
		interrupts <- struct{}{}
	}()
	s.Entry(ctx, "insert stubborn(RW v); wait")
	screen.until(t, "no longer waiting")
	if _, leaving := s.Leaving(); leaving || !s.Abandoned() {
		t.Fatalf("leaving %v, abandoned %v", leaving, s.Abandoned())
	}
	// A press while the next statement waits for the one left behind gives up that one.
	s.presses.count = 0
	interrupts <- struct{}{}
	s.Entry(ctx, "print(1)")
	screen.until(t, "waiting for the statement that was left behind")
	if strings.Contains(screen.b.String(), "\n1\n") {
		t.Error("a statement ran although it was given up")
	}
	// Once the kernel has ended the session goes on.
	release()
	s.Entry(ctx, "print(2)")
	screen.until(t, "2\n")
	if s.Abandoned() {
		t.Error("still abandoned")
	}
}

func TestThirdPressLeaves(t *testing.T) {
	s, _, interrupts, running, _, _ := stubborn(t)
	ctx := context.Background()
	s.Entry(ctx, "register v = variable[i64](fill = 1)")
	go func() {
		<-running
		interrupts <- struct{}{}
		interrupts <- struct{}{}
	}()
	// The third press comes at the prompt, where the line editor hears it.
	code := s.Run(ctx, &scripted{steps: []any{"insert stubborn(RW v); wait", ErrInterrupted, "print(1)"}})
	if code != 130 || !s.Abandoned() {
		t.Errorf("status %d, abandoned %v; want 130, true", code, s.Abandoned())
	}
}

// A press may come when the statement is left behind and the line editor does not hear
// keys yet.
func TestThirdPressBeforeThePrompt(t *testing.T) {
	s, _, interrupts, running, _, _ := stubborn(t)
	ctx := context.Background()
	s.Entry(ctx, "register v = variable[i64](fill = 1)")
	go func() {
		<-running
		interrupts <- struct{}{}
		interrupts <- struct{}{}
	}()
	s.Entry(ctx, "insert stubborn(RW v); wait")
	interrupts <- struct{}{}
	if code := s.Run(ctx, &scripted{steps: []any{io.EOF}}); code != 130 || !s.Abandoned() {
		t.Errorf("status %d, abandoned %v; want 130, true", code, s.Abandoned())
	}
}

// scripted is a LineReader that gives lines and errors.
type scripted struct{ steps []any }

func (r *scripted) ReadLine(string) (string, error) {
	step := r.steps[0]
	r.steps = r.steps[1:]
	if err, ok := step.(error); ok {
		return "", err
	}
	return step.(string), nil
}

// TestFinishDropsTasks leaves while tasks wait: Ctrl-C drops them.
func TestFinishDropsTasks(t *testing.T) {
	s, screen, interrupts, running, cancelled, release := stubborn(t)
	ctx := context.Background()
	s.Entry(ctx, "register v = variable[i64](fill = 1)")
	s.Entry(ctx, "for i in 0..3 { insert stubborn(RW v) }")
	<-running
	go func() {
		enginetest.Eventually(t, "the session is busy", func() bool { return s.Busy() })
		interrupts <- struct{}{}
		<-cancelled
		release()
	}()
	s.Finish(ctx)
	screen.until(t, "^C cancelled: 2 tasks dropped, 1 finished; v has no valid value")
}

// A press counts from the moment at which it can be meant: after the message that says what
// Ctrl-C does, and after the Enter that ends an entry.
func TestEarlyPress(t *testing.T) {
	t.Run("leaving", func(t *testing.T) {
		s, screen, interrupts, running, cancelled, release := stubborn(t)
		ctx := t.Context()
		s.Entry(ctx, "register v = variable[i64](fill = 1)")
		s.Entry(ctx, "for i in 0..3 { insert stubborn(RW v) }")
		<-running
		s.Echo, s.Err = true, pressing{screen, "Ctrl-C drops them", interrupts}
		go func() {
			select {
			case <-cancelled:
			case <-time.After(10 * time.Second):
			}
			release()
		}()
		s.Finish(ctx)
		screen.until(t, "^C cancelled: 2 tasks dropped, 1 finished; v has no valid value")
	})
	t.Run("statement", func(t *testing.T) {
		s, screen, interrupts, _, _, _ := stubborn(t)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		interrupts <- struct{}{}
		s.Entry(ctx, "while true { }")
		screen.until(t, "^C cancelled")
	})
	t.Run("too late", func(t *testing.T) {
		s, screen, interrupts, _, _, _ := stubborn(t)
		interrupts <- struct{}{}
		s.Run(t.Context(), &scripted{steps: []any{"print(40 + 2)", io.EOF}})
		screen.until(t, "42")
	})
}

// pressing is a screen at which Ctrl-C is pressed once it shows text.
type pressing struct {
	io.Writer
	text       string
	interrupts chan<- struct{}
}

func (p pressing) Write(b []byte) (int, error) {
	n, err := p.Writer.Write(b)
	if strings.Contains(string(b), p.text) {
		p.interrupts <- struct{}{}
	}
	return n, err
}

// A file may be a pipe that waits for its other side: Ctrl-C ends that.
func TestPressEndsFiles(t *testing.T) {
	s, screen, interrupts, _, _, _ := stubborn(t)
	wait := func(ctx context.Context) error {
		interrupts <- struct{}{}
		<-ctx.Done()
		return context.Cause(ctx)
	}
	s.ReadFile = func(ctx context.Context, _ string) ([]byte, error) { return nil, wait(ctx) }
	s.WriteFile = func(ctx context.Context, _ string, _ []byte) error { return wait(ctx) }
	s.Check = func(context.Context, string, []byte) lang.Diagnostics { return nil }
	s.Entry(t.Context(), "let a = 1")
	for _, command := range []string{":load", ":check", ":save"} {
		s.Entry(t.Context(), command+" "+command+".spu")
		screen.until(t, command+".spu: interrupted")
	}
}

func TestPresses(t *testing.T) {
	var now time.Time
	p := presses{now: func() time.Time { return now }}
	for i, step := range []struct {
		after time.Duration
		want  int
	}{{0, 1}, {time.Second, 2}, {2 * time.Second, 3}, {2100 * time.Millisecond, 1}, {0, 2}} {
		now = now.Add(step.after)
		if got := p.next(); got != step.want {
			t.Errorf("press %d is number %d, want %d", i, got, step.want)
		}
	}
}
