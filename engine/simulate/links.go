package simulate

// Links: how long copies take, and what they wait for.

import "math"

// lane is what one copy at a time uses, one way.
type lane struct {
	free      float64 // when the next copy can begin
	bandwidth float64
}

// way is how bytes get from one memory to another without a stop.
type way struct {
	latency, bandwidth float64
	lanes              [3]*lane
	direct             bool
}

// time returns how long a copy takes when all lanes are free.
func (w *way) time(bytes int64) float64 { return w.latency + float64(bytes)/w.bandwidth }

// start takes the lanes, one after the other, for a copy that could begin at now, and returns when it begins and ends. A lane that is faster than
// the others is free for others earlier. The bytes wait between lanes: if each copy held all of its lanes from the beginning, a thousand computers that send
// to their neighbours would wait for each other in a row.
func (w *way) start(now float64, bytes int64) (begin, end float64) {
	begin, at := now, now
	for i, l := range w.lanes {
		if l == nil {
			continue
		}
		at = max(at, l.free)
		l.free = at + float64(bytes)/l.bandwidth
		if i == 0 {
			begin = at
		}
	}
	return begin, at + w.time(bytes)
}

// network is the links of one computer: ways by memory, from*n+to.
type network struct {
	n    int
	ways []way
}

// newNetwork makes the links of a computer of m.
func (m *Machine) newNetwork(n int) *network {
	net := &network{n: n, ways: make([]way, n*n)}
	type both struct{ up, down *lane } // to main memory, and from there
	buses := map[string]both{}
	for _, b := range m.Buses {
		buses[b.Name] = both{&lane{bandwidth: b.Bandwidth}, &lane{bandwidth: b.Bandwidth}}
	}
	set := func(from, to int, l Link, lanes ...*lane) {
		w := way{latency: l.Latency, bandwidth: l.Bandwidth, direct: true}
		for i, x := range lanes {
			w.lanes[i] = x
			if x != nil {
				w.bandwidth = min(w.bandwidth, x.bandwidth)
			}
		}
		net.ways[from*n+to] = w
	}
	for a := range m.CPU.NUMA {
		for b := range m.CPU.NUMA {
			if a != b {
				set(a, b, m.CPU.Link, &lane{bandwidth: m.CPU.Link.Bandwidth})
			}
		}
	}
	node := m.CPU.NUMA
	for i := range m.Devices {
		d := &m.Devices[i]
		first := node
		for range d.Count {
			up, down := &lane{bandwidth: d.Link.Bandwidth}, &lane{bandwidth: d.Link.Bandwidth}
			bus := buses[d.Bus]
			for a := range m.CPU.NUMA {
				l := d.Link
				if a > 0 {
					l = Link{l.Latency + m.CPU.Link.Latency, math.Min(l.Bandwidth, m.CPU.Link.Bandwidth)}
				}
				set(node, a, l, up, bus.up)
				set(a, node, l, down, bus.down)
			}
			if d.Peer.Bandwidth > 0 {
				for peer := first; peer < node; peer++ {
					set(peer, node, d.Peer, &lane{bandwidth: d.Peer.Bandwidth})
					set(node, peer, d.Peer, &lane{bandwidth: d.Peer.Bandwidth})
				}
			}
			node++
		}
	}
	return net
}

// estimate is how long a copy takes when nothing is in its way; without a direct way it goes through main memory.
func (net *network) estimate(from, to int, bytes int64) float64 {
	if from == to {
		return 0
	}
	if w := &net.ways[from*net.n+to]; w.direct {
		return w.time(bytes)
	}
	return net.ways[from*net.n].time(bytes) + net.ways[to].time(bytes)
}
