package engine

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// BenchmarkHalves takes the two halves of a task apart: what its submission costs while
// nothing runs, and what running it costs while nothing is submitted. Nanoseconds a task,
// the lowest of all rounds: on one core (taskset -c 1, -cpu 1) they repeat within 1 %
// where figures of both together differ by half from minute to minute.
func BenchmarkHalves(b *testing.B) {
	const n = 1500 // fewer than make the submitter pause
	r, rw, c := iface.R, iface.RW, iface.Commute
	for _, bm := range []struct {
		name           string
		modes          []iface.AccessMode
		handles, parts int
		gate           iface.AccessMode
	}{
		{"empty", nil, 1, 1, rw},
		{"chain", []iface.AccessMode{rw}, 1, 1, rw},
		{"fanout", []iface.AccessMode{r}, 1, 1, rw},
		{"commute", []iface.AccessMode{c}, 1, 1, rw},
		{"heirs", []iface.AccessMode{c}, 1, 1, c}, // they wait for the lock, and inherit it
		{"random", []iface.AccessMode{r, r, rw}, 256, 1, rw},
		{"random4", []iface.AccessMode{r, r, rw}, 256, 4, rw},
		{"random16", []iface.AccessMode{r, r, rw}, 256, 16, rw},
	} {
		b.Run(bm.name, func(b *testing.B) {
			rt, j := start(b, Options{Workers: 1})
			hs := make([]*datamgr.Handle, bm.handles)
			for i := range hs {
				hs[i] = ints(b, rt, make([]int64, 16))
				if bm.parts > 1 {
					_, err := rt.Partition(hs[i], filter.Blocks(bm.parts))
					must(b, err)
				}
			}
			held, goOn := make(chan bool), make(chan bool)
			gate := &TaskSpec{Operands: []Operand{{Handle: hs[0], Mode: bm.gate}},
				Codelet: kernel("gate", func(*TaskContext) error { held <- true; <-goOn; return nil })}
			s := &TaskSpec{Codelet: nop, Operands: make([]Operand, len(bm.modes))}
			for i, m := range bm.modes {
				s.Operands[i] = Operand{Handle: hs[0], Mode: m}
			}
			rnd := uint32(1)
			submitting, running := math.Inf(1), math.Inf(1)
			for range b.N {
				submit(b, j, gate)
				<-held
				start := time.Now()
				for range n {
					if bm.handles > 1 {
						for i := range s.Operands {
							rnd = rnd*1664525 + 1013904223
							s.Operands[i].Handle = hs[rnd>>24]
						}
					}
					submit(b, j, s)
				}
				submitted := time.Now()
				goOn <- true
				must(b, j.Wait(context.Background()))
				submitting = min(submitting, float64(submitted.Sub(start))/n)
				running = min(running, float64(time.Since(submitted))/n)
			}
			b.ReportMetric(submitting, "submit-ns")
			b.ReportMetric(running, "run-ns")
			b.ReportMetric(0, "ns/op")
		})
	}
}
