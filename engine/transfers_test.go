package engine

// Copies when data does not fit a device, checked against the least that is necessary.

import (
	"context"
	"fmt"
	"math"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/opencl"
	"github.com/starpush/starpush/accel/sim"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/enginetest"
)

// tiled is a Cholesky factorisation A = L·Lᵀ in place, of the lower half of nt x nt
// tiles, by tasks that all run on one worker.
type tiled struct {
	nt, nb int
	a      [][]float64 // tiles, row by row
	h      []*datamgr.Handle
	ran    []use // in the order in which the kernels ran

	program *opencl.Program // on OpenCL devices
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
	wait := func(*TaskContext) error { <-begin; return nil }
	gate := &Codelet{Name: "gate", CPU: []Impl{wait}, On: map[string][]Impl{"opencl": {wait}}}
	held, err := j.SubmitTask(&TaskSpec{Codelet: gate, Workers: []int{w}})
	must(t, err)
	insert := func(name string, priority int, wrote int, read []int, fn func(x []float64, y [][]float64)) {
		u := use{append([]int{wrote}, read...), wrote}
		k := &Codelet{Name: name, On: map[string][]Impl{"opencl": {func(tc *TaskContext) error {
			c.ran = append(c.ran, u)
			return c.launch(tc, name)
		}}}}
		k.CPU = []Impl{func(tc *TaskContext) error {
			c.ran = append(c.ran, u)
			var y [][]float64
			for i := range read {
				y = append(y, iface.Slice[float64](tc.Buffer(i+1)))
			}
			fn(iface.Slice[float64](tc.Buffer(0)), y)
			return nil
		}}
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

// least is how many tiles must be loaded to a memory that holds room of them, for kernels
// in that order, and how many are saved: by the replacement that evicts the tile whose
// next use is farthest away (L. A. Belady: A study of replacement algorithms for a
// virtual-storage computer, IBM Systems Journal 5, 1966), and no other loads fewer. Among
// tiles that are never used again, clean ones go first. A written tile is saved when it
// is evicted, and at the end. Another replacement may load more and save less; none comes
// below floor: those loads, and each written tile saved once.
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

// factor runs a factorisation on one device with the given room, in tiles, and returns
// the numbers of copies to it and from it.
func factor(t testing.TB, policy string, nt, nb, room int, dev accel.Device) (c *tiled, loads, saves int) {
	rt, err := New(Options{Workers: 1, Policy: policy, Devices: []accel.Device{dev}})
	must(t, err)
	j := rt.NewJob(context.Background(), JobOptions{})
	c = newTiled(t, rt, nt, nb)
	begin := make(chan bool)
	c.submit(t, j, 1, begin)
	close(begin)
	must(t, j.Wait(context.Background()))
	for _, h := range c.h {
		must(t, j.Unregister(h))
	}
	must(t, j.Wait(context.Background()))
	tile := int64(nb * nb * 8)
	s := rt.Stats()
	loads, saves = int(s.Nodes[1].Arrived/tile), int(s.Nodes[0].Arrived/tile)
	for _, p := range []int64{s.Nodes[1].PeakBytes, dev.Memory().Peak()} {
		if p > int64(room)*tile {
			t.Errorf("%s: %d bytes at once on the device, which has %d", policy, p, int64(room)*tile)
		}
	}
	must(t, j.Close())
	must(t, rt.Close())
	c.check(t)
	return c, loads, saves
}

// tileKernels are the kernels in OpenCL C. One work-item is enough.
const tileKernels = `
kernel void potrf(global double *x, long x0, int nb) {
	x += x0;
	for (int s = 0; s < nb; s++)
		for (int r = s; r < nb; r++) {
			double v = x[r * nb + s];
			for (int m = 0; m < s; m++)
				v -= x[r * nb + m] * x[s * nb + m];
			x[r * nb + s] = r == s ? sqrt(v) : v / x[s * nb + s];
		}
}
kernel void trsm(global double *x, long x0, global const double *y, long y0, int nb) {
	x += x0;
	y += y0;
	for (int r = 0; r < nb; r++)
		for (int s = 0; s < nb; s++) {
			double v = x[r * nb + s];
			for (int m = 0; m < s; m++)
				v -= x[r * nb + m] * y[s * nb + m];
			x[r * nb + s] = v / y[s * nb + s];
		}
}
kernel void update(global double *x, long x0, global const double *y, long y0, global const double *z, long z0, int nb) {
	x += x0;
	y += y0;
	z += z0;
	for (int r = 0; r < nb; r++)
		for (int q = 0; q < nb; q++)
			for (int m = 0; m < nb; m++)
				x[r * nb + q] -= y[r * nb + m] * z[q * nb + m];
}`

// launch begins a kernel on an OpenCL device.
func (c *tiled) launch(tc *TaskContext, name string) error {
	s := tc.Stream().(*opencl.Stream)
	if c.program == nil {
		p, err := s.Device().Build(tileKernels, "")
		if err != nil {
			return err
		}
		c.program = p
	}
	k, err := c.program.Kernel(name)
	if err != nil {
		return err
	}
	var args []any
	for i := range tc.NumBuffers() {
		args = append(args, opencl.Buf{Ptr: tc.Buffer(i).Ptr, Elem: 8})
	}
	if name == "update" && tc.NumBuffers() == 2 { // of a tile on the diagonal: by one tile and itself
		args = append(args, args[1])
	}
	return s.Launch(k, []int{1}, []int{1}, append(args, int32(c.nb))...)
}

// TestTransfersOfCholesky: a matrix four times as large as the memory of the device is
// copied little more often than it has to be for the order in which a policy runs the
// tasks; the best policy, than it has to be for the best order.
func TestTransfersOfCholesky(t *testing.T) {
	transfersOfCholesky(t, func(capacity int64) accel.Device {
		dev, err := sim.New(sim.Options{Capacity: capacity})
		must(t, err)
		return dev
	})
}

// TestTransfersOnOpenCL is TestTransfersOfCholesky on a device whose memory and kernels
// are real, and whose copies take time.
func TestTransfersOnOpenCL(t *testing.T) {
	m := enginetest.Named(t, "opencl")
	transfersOfCholesky(t, func(capacity int64) accel.Device {
		devices, err := m.Open(capacity)
		must(t, err)
		t.Cleanup(func() { enginetest.Close(t, devices) })
		return devices[0]
	})
}

func transfersOfCholesky(t *testing.T, open func(capacity int64) accel.Device) {
	const nt, nb = 12, 4
	room := nt * (nt + 1) / 2 / 4
	best, lowest := math.MaxInt, math.MaxInt
	for _, policy := range []string{"prio", "dm", "dmda", "dmdar", "dmdas", "darts"} {
		c, loads, saves := factor(t, policy, nt, nb, room, open(int64(room*nb*nb*8)))
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
