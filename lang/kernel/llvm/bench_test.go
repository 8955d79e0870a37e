//go:build linux && amd64

package llvm

import (
	"context"
	"fmt"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/kerneltest"
)

// BenchmarkRun runs short tasks as machine code and in strips.
func BenchmarkRun(b *testing.B) {
	for _, body := range []string{"each i in y { y[i] = x[i] * 2.0 + y[i] }", "for i in 1..y.n { y[i] = y[i - 1] * 0.5 + x[i] }", "v = sum i in x { x[i] * y[i] }"} {
		k, p := compiled(b, fmt.Sprintf(kerneltest.LoopCodelet, body))
		for _, n := range []int{4, 64, 1000, 10000} {
			list, _ := kerneltest.LoopData(n)
			task := &kerneltest.Task{Ctx: context.Background(), Bufs: list, Scalars: []iface.Scalar{iface.Int(int64(n))}}
			b.Run(fmt.Sprintf("%s/%d/native", body, n), func(b *testing.B) {
				for b.Loop() {
					k.Run(task)
				}
			})
			b.Run(fmt.Sprintf("%s/%d/strips", body, n), func(b *testing.B) {
				var keep any
				for b.Loop() {
					p.RunTask(task, &keep)
				}
			})
		}
	}
}
