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

var nop = kernel("nop", func(*TaskContext) error { return nil })

func bench(b *testing.B, fn func(rt *Runtime, j *Job) func(i int)) {
	for _, w := range []int{1, 2} {
		b.Run(map[int]string{1: "w1", 2: "w2"}[w], func(b *testing.B) {
			rt, j := start(b, Options{Workers: w})
			step := fn(rt, j)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				step(i)
			}
			must(b, j.Wait(context.Background()))
			b.StopTimer()
		})
	}
}

func submit(b testing.TB, j *Job, s *TaskSpec) {
	if err := j.Submit(s); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkIndependent(b *testing.B) {
	bench(b, func(rt *Runtime, j *Job) func(int) {
		s := &TaskSpec{Codelet: nop}
		return func(int) { submit(b, j, s) }
	})
}

func one(b *testing.B, ms ...iface.AccessMode) {
	bench(b, func(rt *Runtime, j *Job) func(int) {
		h := ints(b, rt, make([]int64, 16))
		must(b, rt.SetReduction(h, datamgr.SumReduction()))
		s := &TaskSpec{Codelet: nop, Operands: []Operand{{Handle: h}}}
		return func(i int) {
			s.Operands[0].Mode = ms[i%len(ms)]
			submit(b, j, s)
		}
	})
}

func BenchmarkChain(b *testing.B)   { one(b, iface.RW) }
func BenchmarkCommute(b *testing.B) { one(b, iface.Commute) }
func BenchmarkRedux(b *testing.B)   { one(b, iface.Redux) }
func BenchmarkFanout(b *testing.B) {
	ms := []iface.AccessMode{iface.RW}
	for range 63 {
		ms = append(ms, iface.R)
	}
	one(b, ms...)
}

func benchRandom(b *testing.B, pieces int) {
	bench(b, func(rt *Runtime, j *Job) func(int) {
		hs := make([]*datamgr.Handle, 1024)
		for i := range hs {
			hs[i] = ints(b, rt, make([]int64, 16))
			if pieces > 1 {
				_, err := rt.Partition(hs[i], filter.Blocks(pieces))
				must(b, err)
			}
		}
		seed := uint64(12345)
		s := &TaskSpec{Codelet: nop, Operands: []Operand{{Mode: iface.R}, {Mode: iface.R}, {Mode: iface.RW}}}
		return func(int) {
			for k := range s.Operands {
			again:
				seed = seed*6364136223846793005 + 1442695040888963407
				h := hs[seed>>33%1024]
				for _, o := range s.Operands[:k] {
					if o.Handle == h {
						goto again
					}
				}
				s.Operands[k].Handle = h
			}
			submit(b, j, s)
		}
	})
}

func BenchmarkRandom1(b *testing.B)  { benchRandom(b, 1) }
func BenchmarkRandom4(b *testing.B)  { benchRandom(b, 4) }
func BenchmarkRandom16(b *testing.B) { benchRandom(b, 16) }

func BenchmarkStencilHalo(b *testing.B) {
	bench(b, func(rt *Runtime, j *Job) func(int) {
		const nb, bs = 16, 64
		var halo, rows [2]*datamgr.View
		for i := range halo {
			h := ints(b, rt, make([]int64, nb*bs+2))
			var err error
			sizes := []int{1}
			for range nb {
				sizes = append(sizes, bs)
			}
			rows[i], err = rt.Partition(h, filter.BlockSizes(append(sizes, 1)))
			must(b, err)
			halo[i], err = rt.Partition(h, filter.BlocksHalo(nb, 1))
			must(b, err)
		}
		s := &TaskSpec{Codelet: nop, Operands: []Operand{{Mode: iface.R}, {Mode: iface.W}}}
		return func(i int) {
			st, k := i/nb, i%nb
			s.Operands[0].Handle = halo[st&1].Parts[k]
			s.Operands[1].Handle = rows[1-st&1].Parts[k+1]
			submit(b, j, s)
		}
	})
}

// BenchmarkStencil is BenchmarkStencilHalo cut by hand: each task reads three
// blocks of one buffer and writes one of the other.
func BenchmarkStencil(b *testing.B) {
	bench(b, func(rt *Runtime, j *Job) func(int) {
		const nb = 16
		var blocks [2][nb]*datamgr.Handle
		for i := range blocks {
			for k := range blocks[i] {
				blocks[i][k] = ints(b, rt, make([]int64, 64))
			}
		}
		s := &TaskSpec{Codelet: nop}
		ops := make([]Operand, 0, 4)
		return func(i int) {
			st, k := i/nb, i%nb
			src, dst := &blocks[st&1], &blocks[1-st&1]
			ops = ops[:0]
			for d := max(0, k-1); d <= min(nb-1, k+1); d++ {
				ops = append(ops, Operand{Handle: src[d], Mode: iface.R})
			}
			s.Operands = append(ops, Operand{Handle: dst[k], Mode: iface.W})
			submit(b, j, s)
		}
	})
}

func BenchmarkAcquire(b *testing.B) {
	bench(b, func(rt *Runtime, j *Job) func(int) {
		h := ints(b, rt, make([]int64, 16))
		return func(int) {
			a, err := j.Acquire(context.Background(), h, iface.R)
			must(b, err)
			must(b, a.Release())
		}
	})
}

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
