package repl

import (
	"testing"
	"time"
)

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
