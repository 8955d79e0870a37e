package cli

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/starpush/starpush/engine"
)

// TestStatsWidth: the tables keep to the width of the terminal, and what matters most stays.
func TestStatsWidth(t *testing.T) {
	s := engine.Stats{Submitted: 40, Done: 40,
		Codelets: []engine.CodeletStat{{Name: "a_codelet_with_a_long_name", Tasks: 40, Time: time.Second}},
		Workers:  []engine.WorkerStat{{Name: "cpu 0", Tasks: 40, Time: time.Second}},
		Nodes:    []engine.NodeStat{{Name: "ram", PeakBytes: 64}, {Name: "sim 0", PeakBytes: 1 << 23, Copying: time.Second}},
		Buses:    []engine.BusProfile{{From: "ram", To: "sim 0", Copies: 1, Bytes: 64}}}
	for width, want := range map[int][]string{
		0:  {"  codelet                       tasks      seconds           mean\n", "  memory                         peak    evictions        evicted      arrived       needed\n"},
		80: {"  codelet                       tasks      seconds           mean\n", "  memory      peak  evictions  evicted  arrived   needed\n"},
		40: {"  a_codelet_wit…     40  1.000000  25 ms\n", "  memory      peak  evicted  arrived\n", "  sim 0      8 MiB  0 bytes  0 bytes\n"},
		28: {"  a_codelet_w…     40  25 ms\n", "  memory      peak  arrived\n"},
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
		"  codelet                       tasks      seconds           mean      GFLOP/s         GB/s\n",
		"  gemm                              2     1.000000         500 ms         12.5        0.300\n",
		"  set                               2     1.000000         500 ms            –          400\n",
		"  within sim 0                      1 ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no line %q in\n%s", want, text)
		}
	}
	if text := statsText(s, 48); !strings.Contains(text, "  gemm         2  1.000000  500 ms     12.5\n") {
		t.Errorf("48 columns:\n%s", text)
	}
	s.Codelets[0].Flops = 0
	if text := statsText(s, 0); strings.Contains(text, "GFLOP/s") || !strings.Contains(text, "GB/s") {
		t.Errorf("without any work:\n%s", text)
	}
}
