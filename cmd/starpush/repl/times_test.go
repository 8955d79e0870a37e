package repl

import (
	"testing"
	"time"
)

func TestTimes(t *testing.T) {
	for _, c := range []struct {
		runs []time.Duration
		want Times
	}{
		{[]time.Duration{3}, Times{3, 3, 3, 0, 3}},
		{[]time.Duration{100, 300}, Times{100, 200, 200, 141, 300}},
		{[]time.Duration{900, 200, 400, 400, 400, 500, 500, 700}, Times{200, 450, 500, 213, 900}},
	} {
		if got := TimesOf(c.runs); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.runs, got, c.want)
		}
	}
	if got, want := TimesOf([]time.Duration{1000, 3000}).String(), "least 1 µs, median 2 µs, mean 2 µs ± 1.41 µs, largest 3 µs"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
