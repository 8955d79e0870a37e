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
