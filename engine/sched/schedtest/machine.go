package schedtest

// The machines that policies are tried on.

import (
	"sync"
	"sync/atomic"

	"github.com/starpush/starpush/engine/sched"
)

// machine is a kind of machine.
type machine struct {
	name  string
	alike bool // its workers are
	make  func() sched.Machine
}

func machines() []machine {
	return []machine{
		{"1cpu", true, func() sched.Machine { return plain(1) }},
		{"2cpus", true, func() sched.Machine { return plain(2) }},
		{"7cpus", true, func() sched.Machine { return plain(7) }},
		{"4cpus-models", true, func() sched.Machine { return models(plain(4)) }},
		{"3cpus-2gpus", false, func() sched.Machine { return gpus(models(plain(5))) }},
		{"3cpus-2gpus-one-node", false, func() sched.Machine {
			m := gpus(models(plain(5)))
			m.Workers[3].Node = 1
			return m
		}},
		{"3cpus-2gpus-unknown", false, func() sched.Machine { return gpus(plain(5)) }},
		{"4cpus-gangs", true, func() sched.Machine { return gangs(models(plain(4)), 2) }},
		{"5cpus-2gpus-gangs", false, func() sched.Machine { return gangs(gpus(models(plain(7))), 4) }},
		{"4cpus-gangs-unknown", true, func() sched.Machine { return gangs(plain(4), 3) }},
		{"calibrating", false, func() sched.Machine {
			m := gpus(models(plain(5)))
			known := m.Estimate
			m.Estimate = func(it *sched.Item, w int) (float64, bool) {
				if (it.Order+int64(w))%3 == 0 {
					return 0, false
				}
				return known(it, w)
			}
			return m
		}},
	}
}

// plain is n CPU workers, and nothing is known about items. The clock goes on
// by a microsecond at each look.
func plain(n int) sched.Machine {
	var clock atomic.Int64
	return sched.Machine{
		Workers:  make([]sched.Worker, n),
		Estimate: func(*sched.Item, int) (float64, bool) { return 0, false },
		Transfer: func(*sched.Item, int) float64 { return 0 },
		Energy:   func(*sched.Item, int) float64 { return 0 },
		Missing:  func(*sched.Item, int) int64 { return 0 },
		Data:     func(*sched.Item, func(id, bytes int64)) {},
		Kind:     func(*sched.Item) any { return nil },
		Now:      func() float64 { return 1e-6 * float64(clock.Add(1)) },
	}
}

// models makes items of four kinds that use data. GPUs run the first two faster.
func models(m sched.Machine) sched.Machine {
	cpu, gpu := []float64{1e-3, 1e-2, 2e-3, 0}, []float64{1e-5, 1e-3, 4e-3, 0}
	m.Kind = func(it *sched.Item) any { return it.Order % 4 }
	m.Estimate = func(it *sched.Item, w int) (float64, bool) {
		if m.Workers[w].Arch == "gpu" {
			return gpu[it.Order%4], true
		}
		return cpu[it.Order%4], true
	}
	m.Data = func(it *sched.Item, visit func(id, bytes int64)) {
		visit(it.Order%17, 4096)
		visit(it.Order%23, 1<<16)
		visit(it.Order%17, 4096) // twice, as for two operands that are the same
		visit(100, 0)
	}
	m.Missing = func(it *sched.Item, w int) int64 {
		if m.Workers[w].Node == 0 || it.Order%3 == 0 {
			return 0
		}
		return 4096 * (it.Order % 5)
	}
	m.Transfer = func(it *sched.Item, w int) float64 { return 1e-9 * float64(m.Missing(it, w)) }
	return m
}

// gangs makes two of three items such that up to most workers may run them together, some of
// them two at least.
func gangs(m sched.Machine, most int) sched.Machine {
	var all sync.Map // *sched.Item to *sched.Gang
	m.Gang = func(it *sched.Item) *sched.Gang {
		if it.Order%3 == 0 {
			return nil
		}
		g := &sched.Gang{Least: 1, Most: most}
		if it.Allowed != nil {
			g.Most = 1
		} else if it.Order%5 == 0 {
			g.Least = 2
		}
		got, _ := all.LoadOrStore(it, g)
		return got.(*sched.Gang)
	}
	one := m.Estimate
	m.Estimate = func(it *sched.Item, w int) (float64, bool) {
		s, known := one(it, w)
		if g := m.Gang(it); g != nil && g.Size > 0 {
			s /= float64(g.Size)
		}
		return s, known
	}
	return m
}

// gpus makes the last two workers GPUs of their own memory, and every other
// one of them a small one.
func gpus(m sched.Machine) sched.Machine {
	n := len(m.Workers)
	m.Workers[n-1] = sched.Worker{Arch: "gpu", Node: 1, Speed: 20, Memory: 1 << 18}
	m.Workers[n-2] = sched.Worker{Arch: "gpu", Node: 2, Speed: 10}
	return m
}
