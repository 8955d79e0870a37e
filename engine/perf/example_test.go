package perf_test

import (
	"fmt"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/perf"
)

// A model that predicts sizes that were never measured.
func Example() {
	book, err := perf.NewBook(nil, perf.Update) // nil: nothing is kept
	if err != nil {
		panic(err)
	}
	table := book.Table("sort", "", &perf.Model{Kind: perf.Regression})
	worker := book.NewRecorder("cpu")

	call := func(n int) *perf.Call {
		return &perf.Call{Arch: "cpu", Ops: []iface.Desc{
			{Kind: iface.Vector, Elem: iface.F64, Rank: 1, Dim: [iface.MaxRank]int{n}}}}
	}
	for _, n := range []int{1000, 2000, 4000} {
		for range 10 {
			worker.Record(table, call(n), 1e-6*float64(n)) // what it took, in seconds
		}
	}
	e := table.Estimate(call(3000))
	fmt.Printf("%.3f ms from %d samples, known: %v\n", 1e3*e.Seconds, e.Samples, e.Known)
	// Output: 3.000 ms from 30 samples, known: true
}
