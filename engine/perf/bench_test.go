package perf

import (
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
)

// BenchmarkRecord is what a measurement costs its worker.
func BenchmarkRecord(b *testing.B) {
	for _, k := range []Kind{History, Regression, NonLinear} {
		b.Run(k.String(), func(b *testing.B) {
			book, err := NewBook(nil, Update)
			if err != nil {
				b.Fatal(err)
			}
			tab, rec := book.Table("k", "", &Model{Kind: k}), book.NewRecorder("cpu")
			c := &Call{Ops: []iface.Desc{vector(100), vector(100), vector(100)}, Arch: "cpu"}
			b.ReportAllocs()
			for b.Loop() {
				rec.Record(tab, c, 1e-6)
			}
		})
	}
}

// BenchmarkEstimate is what a question costs.
func BenchmarkEstimate(b *testing.B) {
	for _, k := range []Kind{History, Regression, NonLinear} {
		b.Run(k.String(), func(b *testing.B) {
			book, err := NewBook(nil, Update)
			if err != nil {
				b.Fatal(err)
			}
			tab, rec := book.Table("k", "", &Model{Kind: k}), book.NewRecorder("cpu")
			c := &Call{Ops: []iface.Desc{vector(100), vector(100), vector(100)}, Arch: "cpu"}
			for n := range 20 {
				for _, op := range []int{0, 1, 2} {
					c.Ops[op] = vector(100 * (1 + n))
				}
				for range 20 {
					rec.Record(tab, c, 1e-6*float64(1+n))
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				if !tab.Estimate(c).Known {
					b.Fatal("not known")
				}
			}
		})
	}
}
