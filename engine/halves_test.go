package engine

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/starpush/starpush/datamgr/iface"
)

// BenchmarkHalves takes the two halves of a task apart: what its submission costs while
// nothing runs, and what running it costs while nothing is submitted. Nanoseconds a task,
// the lowest of all rounds: on one core (taskset -c 1, -cpu 1) they repeat within 1 %
// where figures of both together differ by half from minute to minute.
func BenchmarkHalves(b *testing.B) {
	const n = 1500 // fewer than make the submitter pause
	for _, bm := range []struct {
		name string
		mode iface.AccessMode
	}{{"empty", iface.NoMode}, {"chain", iface.RW}, {"fanout", iface.R}} {
		b.Run(bm.name, func(b *testing.B) {
			rt, j := start(b, Options{Workers: 1})
			h := ints(b, rt, make([]int64, 16))
			held, goOn := make(chan bool), make(chan bool)
			gate := &TaskSpec{Operands: []Operand{{Handle: h, Mode: iface.RW}},
				Codelet: kernel("gate", func(*TaskContext) error { held <- true; <-goOn; return nil })}
			s := &TaskSpec{Codelet: nop}
			if bm.mode != iface.NoMode {
				s.Operands = []Operand{{Handle: h, Mode: bm.mode}}
			}
			submitting, running := math.Inf(1), math.Inf(1)
			for range b.N {
				submit(b, j, gate)
				<-held
				start := time.Now()
				for range n {
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
