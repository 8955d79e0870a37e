package engine

// What is copied when data does not fit a device: held against what it must be.

import (
	"fmt"
	"math"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/sim"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

// tiled is a Cholesky factorisation A = L·Lᵀ in place, of the lower half of nt x nt
// tiles, by tasks that all run on one worker.
type tiled struct {
	nt, nb int
	a      [][]float64 // tiles, row by row
	h      []*datamgr.Handle
	ran    []use // in the order in which the kernels ran
}

// use is what one kernel used: tiles, by number.
type use struct {
	tiles []int
	wrote int // the one that it wrote, which it read as well
}

func newTiled(t testing.TB, rt *Runtime, nt, nb int) *tiled {
	c := &tiled{nt: nt, nb: nb}
	n := nt * nb
	for i := range nt {
		for k := range nt {
			tile := make([]float64, nb*nb)
			for r := range nb {
				for s := range nb {
					tile[r*nb+s] = c.element(i*nb+r, k*nb+s, n)
				}
			}
			c.a = append(c.a, tile)
			h, err := rt.Register(DataSpec{Kind: iface.Matrix, Elem: iface.F64, Dims: []int{nb, nb}, Home: unsafe.Pointer(unsafe.SliceData(tile))})
			must(t, err)
			c.h = append(c.h, h)
		}
	}
	return c
}

// element is one of a positive definite matrix.
func (c *tiled) element(i, k, n int) float64 {
	if i == k {
		return float64(n)
	}
	return 1 / float64(1+i+k)
}

func (c *tiled) at(i, k int) int { return i*c.nt + k }

// submit submits all tasks for worker w, behind one that waits for begin.
func (c *tiled) submit(t testing.TB, j *Job, w int, begin chan bool) {
	nb := c.nb
	gate := kernel("gate", func(*TaskContext) error { <-begin; return nil })
	held, err := j.SubmitTask(&TaskSpec{Codelet: gate, Workers: []int{w}})
	must(t, err)
	insert := func(name string, priority int, wrote int, read []int, fn func(x []float64, y [][]float64)) {
		u := use{append([]int{wrote}, read...), wrote}
		k := kernel(name, func(tc *TaskContext) error {
			c.ran = append(c.ran, u)
			var y [][]float64
			for i := range read {
				y = append(y, iface.Slice[float64](tc.Buffer(i+1)))
			}
			fn(iface.Slice[float64](tc.Buffer(0)), y)
			return nil
		})
		ops := []Operand{{Handle: c.h[wrote], Mode: iface.RW}}
		for _, r := range read {
			ops = append(ops, Operand{Handle: c.h[r], Mode: iface.R})
		}
		must(t, j.Submit(&TaskSpec{Codelet: k, Operands: ops, Workers: []int{w}, Priority: priority, After: []Dependency{held}}))
	}
	for k := range c.nt {
		insert("potrf", 2*(c.nt-k), c.at(k, k), nil, func(x []float64, _ [][]float64) {
			for s := range nb {
				for r := s; r < nb; r++ {
					v := x[r*nb+s]
					for m := range s {
						v -= x[r*nb+m] * x[s*nb+m]
					}
					if r == s {
						x[r*nb+s] = math.Sqrt(v)
					} else {
						x[r*nb+s] = v / x[s*nb+s]
					}
				}
			}
		})
		for i := k + 1; i < c.nt; i++ {
			insert("trsm", 2*(c.nt-k)-1, c.at(i, k), []int{c.at(k, k)}, func(x []float64, y [][]float64) {
				for r := range nb {
					for s := range nb {
						v := x[r*nb+s]
						for m := range s {
							v -= x[r*nb+m] * y[0][s*nb+m]
						}
						x[r*nb+s] = v / y[0][s*nb+s]
					}
				}
			})
		}
		for i := k + 1; i < c.nt; i++ {
			for s := k + 1; s <= i; s++ {
				read := []int{c.at(i, k)}
				if s < i {
					read = append(read, c.at(s, k))
				}
				insert("update", 2*(c.nt-s)-2, c.at(i, s), read, func(x []float64, y [][]float64) {
					z := y[len(y)-1]
					for r := range nb {
						for q := range nb {
							for m := range nb {
								x[r*nb+q] -= y[0][r*nb+m] * z[q*nb+m]
							}
						}
					}
				})
			}
		}
	}
}

// check compares L·Lᵀ to what was factored.
func (c *tiled) check(t testing.TB) {
	n := c.nt * c.nb
	l := func(i, k int) float64 {
		if k > i {
			return 0
		}
		return c.a[c.at(i/c.nb, k/c.nb)][i%c.nb*c.nb+k%c.nb]
	}
	for i := range n {
		for k := range i + 1 {
			v := 0.0
			for m := range k + 1 {
				v += l(i, m) * l(k, m)
			}
			if math.Abs(v-c.element(i, k, n)) > 1e-9 {
				t.Fatalf("element %d, %d of L·Lᵀ is %v, want %v", i, k, v, c.element(i, k, n))
			}
		}
	}
}

// least is how many tiles must be loaded to a memory that holds room of them, for
// kernels in that order, and how many are saved: by the replacement that takes away
// what is used again last, or never (L. A. Belady: A study of replacement algorithms for
// a virtual-storage computer, IBM Systems Journal 5, 1966), which no other loads fewer
// with, whatever it knows. Of those that are never used again clean ones go first. What
// was written is saved when it goes, and at the end. Another replacement may load more
// and save less; none comes below floor, those loads and each tile that was written
// saved once.
func (c *tiled) least(room int) (loads, saves, floor int) {
	const never = math.MaxInt
	next := make([][]int, c.nt*c.nt) // when each tile is used
	for i, u := range c.ran {
		for _, x := range u.tiles {
			next[x] = append(next[x], i)
		}
	}
	here := map[int]bool{} // tiles in the memory; true: dirty
	written := map[int]bool{}
	for i, u := range c.ran {
		for _, x := range u.tiles {
			next[x] = next[x][1:]
			if _, ok := here[x]; !ok {
				loads++
				here[x] = false
			}
		}
		here[u.wrote] = true
		written[u.wrote] = true
		for len(here) > room {
			victim, when := -1, 0
			for x, dirty := range here {
				n := never - 1
				if len(next[x]) > 0 {
					n = next[x][0]
				} else if !dirty {
					n = never
				}
				used := false
				for _, y := range u.tiles {
					used = used || x == y
				}
				if !used && (n > when || n == when && x < victim) {
					victim, when = x, n
				}
			}
			if victim < 0 {
				panic(fmt.Sprint("kernel ", i, " needs too much"))
			}
			if here[victim] {
				saves++
			}
			delete(here, victim)
		}
	}
	for _, dirty := range here {
		if dirty {
			saves++
		}
	}
	return loads, saves, loads + len(written)
}

// factor runs a factorisation on one device with room for so many tiles, and returns
// how many were copied to it and from it.
func factor(t testing.TB, policy string, nt, nb, room int, dev accel.Device) (c *tiled, loads, saves int) {
	rt, err := New(Options{Workers: 1, Policy: policy, Devices: []accel.Device{dev}})
	must(t, err)
	j := rt.NewJob(nil, JobOptions{})
	c = newTiled(t, rt, nt, nb)
	begin := make(chan bool)
	c.submit(t, j, 1, begin)
	close(begin)
	must(t, j.Wait(nil))
	for _, h := range c.h {
		must(t, j.Unregister(h))
	}
	must(t, j.Wait(nil))
	tile := int64(nb * nb * 8)
	s := rt.Stats()
	loads, saves = int(s.Nodes[1].Arrived/tile), int(s.Nodes[0].Arrived/tile)
	if p := s.Nodes[1].PeakBytes; p > int64(room)*tile {
		t.Errorf("%s: %d bytes at once on the device, which has %d", policy, p, int64(room)*tile)
	}
	must(t, j.Close())
	must(t, rt.Close())
	c.check(t)
	return c, loads, saves
}

// TestTransfersOfCholesky: a matrix four times as large as the memory of the device is
// copied little more often than it has to be for the order in which a policy runs the
// tasks; the best policy, than it has to be for the best order.
func TestTransfersOfCholesky(t *testing.T) {
	const nt, nb = 12, 4
	room := nt * (nt + 1) / 2 / 4
	best, lowest := math.MaxInt, math.MaxInt
	for _, policy := range []string{"prio", "dm", "dmda", "dmdar", "dmdas", "darts"} {
		dev, err := sim.New(sim.Options{Capacity: int64(room * nb * nb * 8)})
		must(t, err)
		c, loads, saves := factor(t, policy, nt, nb, room, dev)
		l, s, floor := c.least(room)
		t.Logf("%-5s %d loads and %d saves, of %d and %d, at least %d in all", policy, loads, saves, l, s, floor)
		if loads+saves < floor || 10*(loads+saves) > 13*(l+s) {
			t.Errorf("%s loads %d tiles and saves %d; %d and %d are enough, and less than %d in all are not", policy, loads, saves, l, s, floor)
		}
		best, lowest = min(best, loads+saves), min(lowest, floor)
	}
	if 10*best > 13*lowest {
		t.Errorf("%d copies with the best policy, and one has an order for which %d could be enough", best, lowest)
	}
}
