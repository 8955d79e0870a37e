package cli

// :top: what workers, tasks, memories and links do right now.

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/starpush/starpush/engine"
)

// topFrame is how often :top is drawn.
const topFrame = 500 * time.Millisecond

// topText is one picture of m, beside what it was a while before.
func (m *machine) topText(now, before engine.Stats, since time.Duration) string {
	var b strings.Builder
	left := now.Submitted - ended(now)
	running := m.recent.Running()
	fmt.Fprintf(&b, "tasks   %d of %d ended, %d running, %d ready, %d waiting", ended(now), now.Submitted, len(running),
		max(0, m.rt.Ready()-len(running)), max(0, left-int64(max(m.rt.Ready(), len(running)))))
	if now.Failed+now.Cancelled > 0 {
		fmt.Fprintf(&b, "; %d failed, %d cancelled", now.Failed, now.Cancelled)
	}
	b.WriteString("\n")
	rows := [][]string{{"worker", "runs", "since", "tasks", "busy"}}
	for i, w := range now.Workers {
		busy := w.Time
		if i < len(before.Workers) {
			busy -= before.Workers[i].Time
		}
		what, age := "", ""
		for _, r := range running {
			if r.Worker == i {
				ran := time.Since(r.Since)
				what, age = fmt.Sprintf("%s %d", r.Codelet, r.ID), durationText(ran)
				busy = max(busy, min(ran, since)) // it counts when it ends
			}
		}
		share := min(1, max(0, busy.Seconds()/max(since.Seconds(), 1e-9)))
		rows = append(rows, []string{w.Name, what, age, fmt.Sprint(w.Tasks), fmt.Sprintf("%.0f %%", 100*share)})
	}
	writeTable(&b, rows)
	rows = [][]string{{"memory", "in use", "of", ""}}
	for _, n := range m.rt.Nodes() {
		share := ""
		if n.Capacity > 0 {
			share = fmt.Sprintf("%.0f %%", 100*float64(n.Allocated)/float64(n.Capacity))
		}
		rows = append(rows, []string{n.Name, bytesText(n.Allocated), bytesText(n.Capacity), share})
	}
	writeTable(&b, rows)
	rows = [][]string{{"link", "copies", "size", "now"}}
	for i, l := range now.Buses {
		bytes := l.Bytes
		if i < len(before.Buses) && before.Buses[i].From == l.From && before.Buses[i].To == l.To {
			bytes -= before.Buses[i].Bytes
		}
		rows = append(rows, []string{linkText(l), fmt.Sprint(l.Copies), bytesText(l.Bytes), bytesText(int64(float64(bytes)/max(since.Seconds(), 1e-9))) + "/s"})
	}
	writeTable(&b, rows)
	return b.String()
}

// Top is one picture of what goes on.
func (m *machine) Top() string {
	return m.topText(m.session.Stats(), engine.Stats{}, time.Since(m.rt.Began()))
}

// top shows pictures until a key is pressed.
func (a *app) top(ctx context.Context, m *machine) error {
	in, ok := a.in.(*os.File)
	if !ok {
		_, err := io.WriteString(a.con.out, m.Top())
		return err
	}
	state, err := term.MakeRaw(int(in.Fd())) // Ctrl-C is a key, too
	if err != nil {
		return err
	}
	defer term.Restore(int(in.Fd()), state)
	io.WriteString(a.con.out, "\x1b[?1049h\x1b[?25l") // a screen of its own, no cursor
	defer io.WriteString(a.con.out, "\x1b[?25h\x1b[?1049l")
	before, last := m.session.Stats(), time.Now()
	for {
		now, at := m.session.Stats(), time.Now()
		text := m.topText(now, before, at.Sub(last)) + "\nany key leaves\n"
		before, last = now, at
		width, height, err := term.GetSize(int(in.Fd()))
		if err != nil || width <= 0 {
			width, height = 80, 24
		}
		io.WriteString(a.con.out, "\x1b[H"+screen(text, width, height)+"\x1b[J")
		if key, err := waitKey(ctx, in, topFrame); key || err != nil {
			return err
		}
	}
}

// screen cuts text to what a terminal shows, with ends of lines for raw mode.
func screen(text string, width, height int) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) > height {
		lines = lines[:height]
	}
	for i, l := range lines {
		if r := []rune(l); len(r) > width {
			l = string(r[:width])
		}
		lines[i] = l + "\x1b[K"
	}
	return strings.Join(lines, "\r\n")
}
