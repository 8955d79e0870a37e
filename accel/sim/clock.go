package sim

// Time: what things cost, and on which clock.

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Link says how fast data travels.
type Link struct {
	Latency   time.Duration // of every copy
	Bandwidth float64       // in bytes a second; 0: the size costs nothing
}

func (l Link) ok() bool { return l.Latency >= 0 && l.Bandwidth >= 0 }

// Time returns how long a copy of bytes takes.
func (l Link) Time(bytes int64) time.Duration {
	return l.Latency + seconds(float64(bytes), l.Bandwidth)
}

func (l Link) String() string {
	return fmt.Sprintf("a latency of %v and %g bytes a second", l.Latency, l.Bandwidth)
}

// Cost says how long kernels take: the sum of these.
type Cost struct {
	Fixed     time.Duration // of every kernel
	Bandwidth float64       // bytes of operands a second; 0: they cost nothing
	Flops     float64       // operations a second; 0: they cost nothing
}

// Time returns the time that a kernel takes.
func (c Cost) Time(bytes int64, flops float64) time.Duration {
	return c.Fixed + seconds(float64(bytes), c.Bandwidth) + seconds(flops, c.Flops)
}

// seconds is the time for an amount at a speed; a speed of 0 stands for no limit.
func seconds(amount, speed float64) time.Duration {
	if speed == 0 || amount <= 0 {
		return 0
	}
	const longest = float64(1 << 62)
	return time.Duration(min(amount/speed*1e9+0.5, longest))
}

// Clock is the time of simulated devices. A link carries out the copies of one
// direction in the order in which they were begun, a unit one kernel after another,
// and a stream what was begun on it.
//
// On a virtual clock nothing sleeps. The program itself takes no time there, and
// orders nothing: what a stream does after another has its time after that of the
// other by Stream.Wait only.
type Clock struct {
	real  bool
	start time.Time
	mu    struct {
		sync.Mutex
		links map[way]*lane
		end   time.Duration // of what ends last
	}
}

// way is a link in one direction, by the names of memories.
type way struct{ from, to string }

// lane is what does one thing at a time.
type lane struct {
	free  time.Duration // when it has done what it was given
	busy  time.Duration // in total
	times int64
	bytes int64
}

// lanes are alike.
type lanes []lane

// Virtual returns a clock that shows the time that a simulated program has taken.
func Virtual() *Clock { return newClock(false) }

// Real returns a clock on which what costs time takes that time.
func Real() *Clock { return newClock(true) }

func newClock(real bool) *Clock {
	c := &Clock{real: real, start: time.Now()}
	c.mu.links = map[way]*lane{}
	return c
}

// Now is when the last of what was begun ends, since the clock was made; on a real
// clock the time since then.
func (c *Clock) Now() time.Duration {
	if c.real {
		return time.Since(c.start)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.end
}

// Traffic counts the copies over a link in one direction.
type Traffic struct {
	From, To string // memories
	Copies   int64
	Bytes    int64
	Busy     time.Duration
}

// Traffic tells for each link that was used what travelled over it.
func (c *Clock) Traffic() []Traffic {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []Traffic
	for w, l := range c.mu.links {
		all = append(all, Traffic{w.from, w.to, l.times, l.bytes, l.busy})
	}
	slices.SortFunc(all, func(a, b Traffic) int {
		if n := strings.Compare(a.From, b.From); n != 0 {
			return n
		}
		return strings.Compare(a.To, b.To)
	})
	return all
}

// Kernels returns the number of kernels begun on the device, and the time they took on
// its clock.
func (d *Device) Kernels() (n int64, busy time.Duration) {
	d.mu.Lock()
	n = d.mu.count[Kernel]
	d.mu.Unlock()
	if d.clock != nil {
		d.clock.mu.Lock()
		defer d.clock.mu.Unlock()
		for i := range d.kernels {
			busy += d.kernels[i].busy
		}
	}
	return n, busy
}

// copy plans a copy that cannot begin before ready, and returns when it ends.
func (c *Clock) copy(w way, bytes int64, cost, ready time.Duration) (end time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.mu.links[w]
	if l == nil {
		l = &lane{}
		c.mu.links[w] = l
	}
	l.bytes += bytes
	_, end = c.takeLocked(l, cost, ready)
	return end
}

// kernel plans a kernel on the unit that is free first.
func (c *Clock) kernel(units lanes, cost, ready time.Duration) (start, end time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := &units[0]
	for i := range units {
		if units[i].free < first.free {
			first = &units[i]
		}
	}
	return c.takeLocked(first, cost, ready)
}

func (c *Clock) takeLocked(l *lane, cost, ready time.Duration) (start, end time.Duration) {
	start = max(ready, l.free)
	if c.real {
		start = max(start, time.Since(c.start))
	}
	end = start + cost
	if end < start { // beyond the largest time
		end = 1<<63 - 1
	}
	l.free, l.busy, l.times = end, l.busy+cost, l.times+1
	c.mu.end = max(c.mu.end, end)
	return start, end
}

// sleep returns at t on a real clock, at once on others, and when stop is closed.
func (c *Clock) sleep(t time.Duration, stop <-chan struct{}) {
	if c == nil || !c.real {
		return
	}
	left := t - time.Since(c.start)
	if left <= 0 {
		return
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-stop:
	}
}
