package cli

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/starpush/starpush/engine"
)

func TestProgressText(t *testing.T) {
	s := progressSample{Done: 440, Total: 540, Codelets: []progressCount{{"gemm", 412, 512}, {"trsm", 28, 28}}}
	for _, tt := range []struct {
		width int
		want  string
	}{
		{0, "gemm 412/512  trsm 28/28   81%"},
		{80, "gemm 412/512  trsm 28/28   81%"},
		{28, "gemm 412/512  …   81%"},
		{10, "440/540 tasks   81%"},
	} {
		if got := s.text(tt.width); got != tt.want {
			t.Errorf("width %d: %q, want %q", tt.width, got, tt.want)
		}
	}
	if got := (progressSample{}).text(80); got != "0/0 tasks" {
		t.Errorf("nothing yet: %q", got)
	}
}

// syncBuffer is a buffer that goroutines may share.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// until waits for a condition that another goroutine brings about.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 2000 {
		if ok() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("never: %s", what)
}

// TestProgressFrames plays a terminal: frames replace each other, a print comes
// on a line of its own, nothing is left at the end.
func TestProgressFrames(t *testing.T) {
	var screen syncBuffer // both streams, as on a terminal
	con := newConsole(&screen, &screen, nil, "never")
	var mu sync.Mutex
	done := int64(0)
	p := startProgress(progressConfig{
		con: con, frames: true, width: func() int { return 80 },
		sample: func() (progressSample, bool) {
			mu.Lock()
			defer mu.Unlock()
			done++
			return progressSample{Done: done, Total: 1 << 40, Codelets: []progressCount{{"f", done, 1 << 40}}}, true
		},
		delay: time.Microsecond, frame: time.Millisecond, line: time.Hour,
	})
	until(t, "three frames", func() bool { return strings.Count(screen.String(), "f ") >= 3 })
	fmt.Fprintln(con.out, "printed")
	until(t, "a frame after the print", func() bool {
		_, after, ok := strings.Cut(screen.String(), "printed\n")
		return ok && strings.Contains(after, "f ")
	})
	p.stop()
	shown := play(screen.String())
	if strings.Join(shown, "|") != "printed|" {
		t.Errorf("the terminal shows %q", shown)
	}
	// Every frame was one write: it erases the one before and writes no newline.
	before, _, _ := strings.Cut(screen.String(), "printed\n")
	if strings.Contains(before, "\n") {
		t.Errorf("a frame holds a newline: %q", before)
	}
}

// play shows what a terminal makes of text with returns and erased lines.
func play(text string) []string {
	lines := []string{""}
	for text != "" {
		last := len(lines) - 1
		switch {
		case strings.HasPrefix(text, eraseLine):
			lines[last], text = "", text[len(eraseLine):]
		case text[0] == '\n':
			lines, text = append(lines, ""), text[1:]
		default:
			lines[last], text = lines[last]+text[:1], text[1:]
		}
	}
	return lines
}

func TestProgressLinesAndJSON(t *testing.T) {
	var out, errs syncBuffer
	con := newConsole(&out, &errs, nil, "never")
	sample := func() (progressSample, bool) {
		return progressSample{Done: 1, Total: 4, Codelets: []progressCount{{"f", 1, 4}}, Running: []string{"f"}}, true
	}
	p := startProgress(progressConfig{con: con, sample: sample, delay: time.Hour, line: time.Microsecond})
	until(t, "a line", func() bool { return strings.HasPrefix(errs.String(), "f 1/4   25%\n") })
	p.stop()

	j := newJSONWriter(con.out)
	p = startProgress(progressConfig{con: con, json: j, sample: sample, delay: time.Hour, line: time.Microsecond})
	until(t, "a JSON line", func() bool {
		return strings.HasPrefix(out.String(), "{\"t\":\"hello\",\"schema\":1}\n{\"t\":\"progress\",\"done\":1,\"total\":4,\"running\":[\"f\"]}\n")
	})
	p.stop()

	// A run that ends before the first frame shows nothing.
	var quiet syncBuffer
	con = newConsole(&quiet, &quiet, nil, "never")
	p = startProgress(progressConfig{con: con, frames: true, sample: sample, delay: time.Hour, frame: time.Hour})
	p.stop()
	if quiet.String() != "" {
		t.Errorf("a short run shows %q", quiet.String())
	}
	(*progress)(nil).stop() // no progress was asked for
}

func TestProgressRateAndMemory(t *testing.T) {
	s := progressSample{Codelets: []progressCount{{"gemm", 412, 512}}, Done: 412, Total: 512, Rate: 9.1e12, Memory: []string{"ram 61%", "cuda:0 97%"}}
	for width, want := range map[int]string{
		0:  "gemm 412/512   80%  9.1 Tflop/s  ram 61%  cuda:0 97%",
		80: "gemm 412/512   80%  9.1 Tflop/s  ram 61%  cuda:0 97%",
		45: "gemm 412/512   80%  9.1 Tflop/s  ram 61%",
		33: "gemm 412/512   80%  9.1 Tflop/s",
		25: "gemm 412/512   80%",
	} {
		if got := s.text(width); got != want {
			t.Errorf("%d columns: %q, want %q", width, got, want)
		}
	}
	for rate, want := range map[float64]string{12: "12 flop/s", 3400: "3.4 kflop/s", 2e9: "2.0 Gflop/s", 999.9e6: "1000 Mflop/s"} {
		if got := flopsText(rate); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	got := fullness([]engine.NodeInfo{{Name: "ram", Capacity: 1000, Allocated: 9}, {Name: "gpu 0", Capacity: 1000, Allocated: 615}, {Name: "disk"}})
	if len(got) != 1 || got[0] != "gpu 0 61%" {
		t.Errorf("%q", got)
	}
	a, b := engine.Stats{Codelets: []engine.CodeletStat{{Flops: 3}}}, engine.Stats{Codelets: []engine.CodeletStat{{Flops: 3}, {Flops: 4}}}
	if n := flops(b, a); n != 4 {
		t.Error(n)
	}
}
