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

// TestProfileText: the columns of a table are aligned at their ends.
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

// A profile says how many of its tasks the script has not inserted.
func TestAddedTasks(t *testing.T) {
	p := engine.Profile{Elapsed: time.Second, Done: 4, Codelets: []engine.CodeletProfile{{Name: "(reduce)", Tasks: 1}, {Name: "add", Tasks: 3}}}
	if text := profileText(&p); !strings.HasPrefix(text, "profile of 1.00 s: 4 tasks done; 1 more than were inserted\n") {
		t.Errorf("got\n%s", text)
	}
	s := engine.Stats{Submitted: 3, Done: 3}
	if text := statsText(s, 0); !strings.HasPrefix(text, "3 inserted tasks: 3 done; at most") {
		t.Errorf("got\n%s", text)
	}
}

// TestStatsWidth: the tables keep to the width of the terminal, and what matters most stays.
func TestStatsWidth(t *testing.T) {
	s := engine.Stats{Submitted: 40, Done: 40,
		Codelets: []engine.CodeletStat{{Name: "a_codelet_with_a_long_name", Tasks: 40, Time: time.Second}},
		Workers:  []engine.WorkerStat{{Name: "cpu 0", Tasks: 40, Time: time.Second}},
		Nodes:    []engine.NodeStat{{Name: "ram", PeakBytes: 64}, {Name: "sim 0", PeakBytes: 1 << 23, Copying: time.Second}},
		Buses:    []engine.BusProfile{{From: "ram", To: "sim 0", Copies: 1, Bytes: 64}}}
	for width, want := range map[int][]string{
		0:  {"  codelet                       tasks        total           mean\n", "  memory                         peak    evictions        evicted      arrived       needed\n"},
		80: {"  codelet                       tasks        total           mean\n", "  memory      peak  evictions  evicted  arrived   needed\n"},
		40: {"  a_codelet_wit…     40  1.00 s  25.0 ms\n", "  memory      peak  evicted  arrived\n", "  sim 0      8 MiB  0 bytes  0 bytes\n"},
		30: {"  a_codelet_w…     40  25.0 ms\n", "  memory      peak  arrived\n"},
	} {
		text := statsText(s, width)
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); width > 0 && n > width {
				t.Errorf("width %d: %d columns: %q", width, n, line)
			}
		}
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("width %d: no line %q in\n%s", width, w, text)
			}
		}
	}
}

// Rates are shown as far as work and operands are known, and go first where there is no
// room. Copies within a memory go over no link.
func TestStatsRates(t *testing.T) {
	s := engine.Stats{Submitted: 4, Done: 4,
		Codelets: []engine.CodeletStat{{Name: "gemm", Tasks: 2, Time: time.Second, Flops: 12.5e9, Bytes: 3e8}, {Name: "set", Tasks: 2, Time: time.Second, Bytes: 4e11}},
		Workers:  []engine.WorkerStat{{Name: "cpu 0", Tasks: 4, Time: 2 * time.Second}},
		Nodes:    []engine.NodeStat{{Name: "ram"}, {Name: "sim 0"}},
		Buses:    []engine.BusProfile{{From: "sim 0", To: "sim 0", Copies: 1, Bytes: 64}}}
	text := statsText(s, 0)
	for _, want := range []string{
		"  codelet                       tasks        total           mean      GFLOP/s         GB/s\n",
		"  gemm                              2       1.00 s         500 ms         12.5        0.300\n",
		"  set                               2       1.00 s         500 ms            –          400\n",
		"  within sim 0                      1 ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no line %q in\n%s", want, text)
		}
	}
	if text := statsText(s, 44); !strings.Contains(text, "  gemm         2  1.00 s  500 ms     12.5\n") {
		t.Errorf("44 columns:\n%s", text)
	}
	s.Codelets[0].Flops = 0
	if text := statsText(s, 0); strings.Contains(text, "GFLOP/s") || !strings.Contains(text, "GB/s") {
		t.Errorf("without any work:\n%s", text)
	}
}
