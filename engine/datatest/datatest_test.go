package datatest_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/datatest"
	"github.com/starpush/starpush/engine/enginetest"
)

// particles are arrays of various elements.
type particles struct {
	X, Y  []float64
	Alive []uint8
	Cell  []int32
}

// kinds lists all kinds of data: dense data of each rank and element type, the arrays of each sparse format,
// data with a capacity, arrays, and values.
func kinds() (all []datatest.Kind) {
	elems := iface.Elems
	if testing.Short() {
		elems = []iface.Elem{iface.F64, iface.U8, iface.C64}
	}
	for _, e := range elems {
		for _, dims := range []func(n int) []int{
			func(int) []int { return nil },
			func(n int) []int { return []int{n} },
			func(n int) []int { return []int{n, 5} },
			func(n int) []int { return []int{2, n, 3} },
			func(n int) []int { return []int{2, 3, n, 2} },
			func(n int) []int { return []int{2, 1, 3, n, 2} },
			func(n int) []int { return []int{n, 2, 1, 2, 1, 2, 1, 3} },
		} {
			all = append(all, datatest.Dense(e, dims))
		}
		all = append(all, datatest.Sized(e, func(n int) []int { return []int{2*n + 9} }, func(n, seed int) []int { return []int{n + seed%9} }),
			datatest.Sized(e, func(n int) []int { return []int{n + 3, 9} }, func(n, seed int) []int { return []int{n + seed%3, 1 + seed%9} }))
	}
	for _, f := range iface.SparseFormats {
		for i, a := range f.Arrays {
			if i == f.Values() {
				a.Elem = iface.F64
			}
			k := datatest.Dense(a.Elem, func(n int) []int {
				if a.Kind == iface.Block {
					return []int{n, 2, 3}
				}
				return []int{n}
			})
			k.Name = f.Name + "." + a.Name
			all = append(all, k)
		}
	}
	return append(all,
		datatest.Arrays("arrays", func(n int) particles {
			return particles{make([]float64, n), make([]float64, n), make([]uint8, n), make([]int32, n/2)}
		}),
		datatest.Value("value that can be packed", func(n, seed int) map[string]int {
			m := map[string]int{}
			for i := range n {
				m[fmt.Sprint(i)] = seed
			}
			return m
		}, engine.Interface[map[string]int]{
			Pack:      func(m *map[string]int) ([]byte, error) { return json.Marshal(*m) },
			Unpack:    func(m *map[string]int, b []byte) error { return json.Unmarshal(b, m) },
			Size:      func(m *map[string]int) int64 { return 8 * int64(len(*m)) },
			Footprint: func(m *map[string]int) uint32 { return uint32(len(*m)) },
		}),
		func() datatest.Kind {
			k := datatest.Value("value that cannot be packed", func(n, seed int) []byte { return bytes.Repeat([]byte{byte(seed)}, n) },
				engine.Interface[[]byte]{Copy: func(dst, src *[]byte) error { *dst = bytes.Clone(*src); return nil }})
			k.NoPack = true
			return k
		}())
}

var machine = flag.String("machine", "", "run the tests that use devices on this machine: "+enginetest.Machines)

// TestKinds runs the tests of all kinds.
func TestKinds(t *testing.T) {
	for _, k := range kinds() {
		t.Run(k.Name, func(t *testing.T) {
			if *machine == "" {
				datatest.TestKind(t, k)
				return
			}
			datatest.TestKindOn(t, k, enginetest.Named(t, *machine))
		})
	}
}
