package datamgr

import (
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
)

// Marks are numbers of 32 bits: 2^32 submissions later a fragment that was left
// alone bears the mark of now.
func TestMarksComeRound(t *testing.T) {
	g := registry()
	a, b, c := register(t, g, 4), register(t, g, 4), register(t, g, 4)
	c.reduce = SumReduction()
	g.Lock()
	defer g.Unlock()
	for _, use := range []int32{0, 1, 7} {
		g.mark = 1<<32 - 1 // the next is 0, as in fragments that no submission met
		for _, f := range []*Fragment{a.f0, b.f0, &c.accumulate().frag} {
			f.seen, f.use = 0, use
		}
		ops := []Operand{{Handle: a, Mode: iface.W}, {Handle: b, Mode: iface.W}, {Handle: c, Mode: iface.Redux}}
		m, p := g.Merge(ops, MergeOptions{})
		if p.Kind != NoProblem || m.Ordered != 3 || m.Shared {
			t.Errorf("use %d: %+v, problem %+v", use, m, p)
		}
	}
}
