package cli

// The progress line of long runs: on a terminal a line that is redrawn at most
// ten times a second and erased before any print, elsewhere a line now and then.

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// How often progress shows.
const (
	progressDelay = time.Second            // shorter runs show none
	progressFrame = 100 * time.Millisecond // on a terminal
	progressLine  = 30 * time.Second       // elsewhere, and with --json
)

// A progressCount is the tasks of one codelet.
type progressCount struct {
	Name        string
	Done, Total int64
}

// A progressSample is the state of a run.
type progressSample struct {
	Codelets    []progressCount
	Done, Total int64
	Running     []string // codelets that run right now
	Rate        float64  // floating-point operations a second, as far as they are known
	Memory      []string // how full memories are: "ram 61%"
}

// text is the progress line, at most width columns wide (0: any width):
// "gemm 412/512  trsm 28/28   78%  9.1 Tflop/s  ram 61%". What does not fit is left out.
func (s progressSample) text(width int) string {
	percent := ""
	if s.Total > 0 {
		percent = fmt.Sprintf("   %d%%", 100*s.Done/s.Total)
	}
	var b strings.Builder
	for i, c := range s.Codelets {
		item := fmt.Sprintf("%s %d/%d", c.Name, c.Done, c.Total)
		if i > 0 {
			item = "  " + item
		}
		used := utf8.RuneCountInString(b.String()) + utf8.RuneCountInString(item)
		if width > 0 && used+len(percent)+len("  …") > width-1 {
			if b.Len() > 0 {
				b.WriteString("  …")
			}
			break
		}
		b.WriteString(item)
	}
	if b.Len() == 0 {
		fmt.Fprintf(&b, "%d/%d tasks", s.Done, s.Total)
	}
	line := b.String() + percent
	var more []string
	if s.Rate > 0 {
		more = append(more, flopsText(s.Rate))
	}
	for _, m := range append(more, s.Memory...) {
		if width > 0 && utf8.RuneCountInString(line)+2+len(m) > width-1 {
			break
		}
		line += "  " + m
	}
	return line
}

// flopsText writes a rate with a unit: "9.1 Tflop/s".
func flopsText(rate float64) string {
	unit := 0
	for rate >= 1000 && unit < 5 {
		rate, unit = rate/1000, unit+1
	}
	digits := 0
	if rate < 9.95 {
		digits = 1
	}
	return fmt.Sprintf("%.*f %sflop/s", digits, rate, []string{"", "k", "M", "G", "T", "P"}[unit])
}

// A progress shows samples of a run until stop.
type progress struct {
	done chan struct{}
	wg   sync.WaitGroup
}

// progressConfig says where and how progress is shown.
type progressConfig struct {
	con    *console
	json   *jsonWriter
	frames bool       // redraw one line
	width  func() int // of the terminal
	sample func() (progressSample, bool)

	delay, frame, line time.Duration // zero: the constants above
}

// startProgress shows progress in a goroutine of its own; call stop.
func startProgress(c progressConfig) *progress {
	if c.delay == 0 {
		c.delay, c.frame, c.line = progressDelay, progressFrame, progressLine
	}
	p := &progress{done: make(chan struct{})}
	p.wg.Go(func() { c.loop(p.done) })
	return p
}

// stop ends the display and takes it off the terminal.
func (p *progress) stop() {
	if p == nil {
		return
	}
	close(p.done)
	p.wg.Wait()
}

func (c *progressConfig) loop(done <-chan struct{}) {
	wait, every := c.delay, c.frame
	if !c.frames {
		wait, every = c.line, c.line
	}
	select {
	case <-done:
		return
	case <-time.After(wait):
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	last := ""
	for {
		if s, ok := c.sample(); ok {
			last = c.show(s, last)
		}
		select {
		case <-done:
			c.con.erase()
			return
		case <-tick.C:
		}
	}
}

// show writes one sample and returns what stands there now.
func (c *progressConfig) show(s progressSample, last string) string {
	switch {
	case c.json != nil:
		running := s.Running
		if running == nil {
			running = []string{}
		}
		c.json.line(jsonProgress{"progress", s.Done, s.Total, running})
		return ""
	case c.frames:
		text := s.text(c.width())
		if text != last || !c.con.framed() {
			c.con.frame(text)
		}
		return text
	}
	io.WriteString(c.con.err, s.text(0)+"\n")
	return ""
}
