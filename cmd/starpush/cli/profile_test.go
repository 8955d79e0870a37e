package cli

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/starpush/starpush/engine"
)

func TestDurationText(t *testing.T) {
	for _, tt := range []struct {
		d    time.Duration
		want string
	}{
		{0, "0"}, {-5, "0"}, {7, "7 ns"}, {999, "999 ns"}, {1000, "1.00 µs"}, {12345, "12.3 µs"}, {123456, "123 µs"},
		{9996, "10.0 µs"}, {99960, "100 µs"}, {5 * time.Millisecond, "5.00 ms"}, {time.Second, "1.00 s"}, {90 * time.Minute, "5400 s"},
	} {
		if got := durationText(tt.d); got != tt.want {
			t.Errorf("%d ns: %q, want %q", tt.d, got, tt.want)
		}
	}
}

// TestProfileText: what ends a column of a table stands in one place.
func TestProfileText(t *testing.T) {
	p := engine.Profile{Elapsed: 2 * time.Second, Done: 3, Failed: 1, Cancelled: 2,
		Codelets: []engine.CodeletProfile{
			{Name: "add", Tasks: 2, Total: 30 * time.Millisecond, Mean: 15 * time.Millisecond, StdDev: 1, Min: 10 * time.Millisecond, Max: 20 * time.Millisecond, Queued: 4 * time.Microsecond, Flops: 6e7, Bytes: 3e4},
			{Name: "größer", Tasks: 1, Total: time.Microsecond, Mean: time.Microsecond, Min: time.Microsecond, Max: time.Microsecond, Waiting: time.Second}},
		Workers: []engine.WorkerProfile{{Name: "cpu 0", Tasks: 3, Busy: time.Second, Sleeping: 500 * time.Millisecond, Overhead: 500 * time.Millisecond}},
		Buses:   []engine.BusProfile{{From: "ram", To: "ram", Copies: 12, Bytes: 1536}}}
	text := profileText(&p)
	want := `profile of 2.00 s: 3 tasks done, 1 failed, 2 cancelled
  codelet  tasks    total     mean  stddev      min      max  waiting   queued  fetching  starting  releasing  GFLOP/s   GB/s
  add          2  30.0 ms  15.0 ms    1 ns  10.0 ms  20.0 ms        0  2.00 µs         0         0          0     2.00  0.001
  größer       1  1.00 µs  1.00 µs       0  1.00 µs  1.00 µs   1.00 s        0         0         0          0        –      –
  worker  tasks    busy          sleeping          overhead
  cpu 0       3  1.00 s  50.0 %    500 ms  25.0 %    500 ms  25.0 %
  copies      number     size
  within ram      12  1.5 KiB
`
	if text != want {
		t.Errorf("got\n%swant\n%s", text, want)
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines[2:4] {
		if utf8.RuneCountInString(l) != utf8.RuneCountInString(lines[1]) {
			t.Errorf("row %d has another width than the head", i)
		}
	}
}
