package sched

// Explanations: why a policy gives an item to a worker.

// Choice is why a policy gave an item to a worker.
type Choice struct {
	Worker int
	// Workers are all that run the item together, Worker among them; nil: Worker alone.
	Workers []int
	// Learning says that nothing is known yet about the item on some worker: it goes
	// to such a one, so that it is.
	Learning bool
	// Terms are what was expected of each worker that the item allows, or of each size of
	// its gang.
	Terms []Term
}

// Term is the cost that a policy expected of an item on one worker, in seconds.
type Term struct {
	Worker   int     // for a gang, the member that is free last
	Size     int     // of the gang; 0: the item runs on one worker
	Free     float64 // until the worker has done what it has
	Length   float64 // of the kernel
	Known    bool    // Length is predicted
	Transfer float64 // to bring its data
	Energy   float64 // joules
	Cost     float64 // the sum as the policy weighs it; the lowest wins
}

// explainLocked reports to Machine.Explain why worker w was chosen. p.mu is held, and the
// item is not queued yet.
func (p *dm) explainLocked(explain func(*Item, *Choice), it *Item, w int, of []prediction, now float64) {
	c := &Choice{Worker: w}
	for v := range p.m.Workers {
		if !it.Allows(v) {
			continue
		}
		pr := &of[p.of[v]]
		t := Term{Worker: v, Free: p.mu.workers[v].end(now) - now, Length: pr.length, Known: pr.known, Transfer: pr.transfer, Energy: pr.energy}
		t.Cost = t.Free + t.Length
		if p.kind.data {
			t.Cost = p.alpha*t.Cost + p.beta*t.Transfer + p.gamma*t.Energy
		}
		c.Learning = c.Learning || !pr.known
		c.Terms = append(c.Terms, t)
	}
	explain(it, c)
}
