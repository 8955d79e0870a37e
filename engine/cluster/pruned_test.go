package cluster

import (
	"context"
	"testing"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// silent is the end of the last of 64 ranks, which must not get or send a message with data.
type silent struct{ b *testing.B }

func (silent) Rank() int { return 63 }
func (silent) Size() int { return 64 }

func (s silent) Send(_, tag int, _ []byte, _ func(error)) {
	if tag < tags {
		s.b.Error("a message is sent")
	}
}

func (s silent) Ssend(to, tag int, data []byte, done func(error)) { s.Send(to, tag, data, done) }

func (s silent) Recv(_, tag int, _ []byte, _ func(int, error)) {
	if tag < tags {
		s.b.Error("a message is received")
	}
}

// BenchmarkPruned submits tasks of a product of matrices in tiles that other ranks run, with data that is on those. In "moved", each
// task writes the tile that the next one reads elsewhere, so that other ranks send a message for each. "none" is the loop around the
// submissions alone, which looks the tiles of a task up.
func BenchmarkPruned(b *testing.B) {
	const n = 14 // tiles along each axis; those with an index of 7 are of this rank, and left out
	for _, bench := range []struct {
		name  string
		modes [3]iface.AccessMode
	}{
		{"none", [3]iface.AccessMode{}},
		{"product", [3]iface.AccessMode{iface.R, iface.R, iface.RW}},
		{"moved", [3]iface.AccessMode{iface.R, iface.RW, iface.RW}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			rt, err := engine.New(engine.Options{Workers: 1})
			if err != nil {
				b.Fatal(err)
			}
			defer rt.Close()
			var tiles [3][]*datamgr.Handle
			for i := range tiles {
				h, err := rt.RegisterFilled(engine.DataSpec{Kind: iface.Matrix, Elem: iface.F32, Dims: []int{n, n}}, func(*iface.Buffer) error { return nil })
				if err != nil {
					b.Fatal(err)
				}
				v, err := rt.Partition(h, filter.TilesN([]int{n, n}, 0))
				if err != nil {
					b.Fatal(err)
				}
				tiles[i] = v.Parts
			}
			j := NewJob(context.Background(), rt, silent{b}, Options{})
			defer j.Close()
			task := &Task{TaskSpec: engine.TaskSpec{Codelet: &engine.Codelet{Name: "gemm", CPU: codelet.CPU}, Operands: make([]engine.Operand, 3)}}
			for i, mode := range bench.modes {
				task.Operands[i].Mode = mode
			}
			var tasks [][3]int
			for k := range n {
				for i := range n {
					for l := range n {
						if i != 7 && k != 7 && l != 7 {
							tasks = append(tasks, [3]int{i*n + k, k*n + l, i*n + l})
						}
					}
				}
			}
			submit := func(at [3]int) {
				for i, at := range at {
					task.Operands[i].Handle = tiles[i][at]
				}
				if bench.name == "none" {
					return
				}
				if err := j.Submit(task); err != nil {
					b.Fatal(err)
				}
			}
			for _, at := range tasks {
				submit(at)
			}
			b.ReportAllocs()
			b.ResetTimer()
			at := 0
			for range b.N {
				submit(tasks[at])
				if at++; at == len(tasks) {
					at = 0
				}
			}
		})
	}
}
