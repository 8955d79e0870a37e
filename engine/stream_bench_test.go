package engine

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/disk"
	"github.com/starpush/starpush/accel/opencl"
	"github.com/starpush/starpush/accel/sim"
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

// BenchmarkStreamed runs a task on each of many vectors. Few vectors fit the device at
// once, and a kernel takes a little longer than a copy in either direction. hidden-% is
// the share of copy time during which kernels run; idle-% is the share of time during
// which the device waits.
func BenchmarkStreamed(b *testing.B) {
	for _, policy := range []string{"eager", "lws", "dmda", "dmdas", "darts"} {
		b.Run(policy, func(b *testing.B) {
			const bytes = 1 << 18
			link := sim.Link{Bandwidth: bytes * 500} // 2 ms
			dev, err := sim.New(sim.Options{Capacity: 8 * bytes, Async: true, Main: link, Kernel: sim.Cost{Fixed: 2500 * time.Microsecond}, Clock: sim.Real()})
			must(b, err)
			rt, err := New(Options{Workers: 1, Policy: policy, Devices: []accel.Device{dev}})
			must(b, err)
			j := rt.NewJob(context.Background(), JobOptions{})
			var hs []*datamgr.Handle
			for range 64 {
				hs = append(hs, ints(b, rt, make([]int64, bytes/8)))
			}
			b.ResetTimer()
			for range b.N {
				for _, h := range hs {
					must(b, j.Submit(&TaskSpec{Codelet: incs, Operands: []Operand{{Handle: h, Mode: iface.RW}}, Workers: []int{1}}))
				}
			}
			must(b, j.Wait(context.Background()))
			b.StopTimer()
			n := rt.Stats().Nodes[1]
			b.ReportMetric(100*n.Hidden.Seconds()/n.Copying.Seconds(), "hidden-%")
			_, busy := dev.Kernels()
			b.ReportMetric(100-100*busy.Seconds()/b.Elapsed().Seconds(), "idle-%")
			must(b, j.Close())
			must(b, rt.Close())
		})
	}
}

// BenchmarkEmptyOnDevice is what an empty task takes on a device whose copies and kernels
// take no time, from its submission to its end, and an empty task on a CPU beside one.
func BenchmarkEmptyOnDevice(b *testing.B) {
	empty := kernel("empty", func(*TaskContext) error { return nil })
	empty.On = map[string][]Impl{"opencl": empty.CPU}
	pocl, err := opencl.Driver{Capacity: 1 << 20}.Open()
	for _, d := range pocl {
		defer d.Close()
	}
	for _, c := range []struct {
		name   string
		worker int // -1: anywhere on CPUs, and there is no device
	}{{"device", 1}, {"opencl", 1}, {"cpu beside", 0}, {"cpu alone", -1}} {
		if c.name == "opencl" && err != nil {
			continue // there is none
		}
		for _, policy := range []string{"dmdas", "eager", "lws"} {
			for _, data := range []int{0, 2} {
				b.Run(fmt.Sprintf("%s/%s/%d", c.name, policy, data), func(b *testing.B) {
					o := Options{Workers: 1, Policy: policy}
					var only []int
					if c.worker >= 0 {
						o.Devices, only = simulated(1<<20, 1), []int{c.worker}
					}
					if c.name == "opencl" {
						o.Devices = pocl[:1]
					}
					rt, err := New(o)
					must(b, err)
					j := rt.NewJob(context.Background(), JobOptions{})
					var hs []*datamgr.Handle
					for range 64 {
						hs = append(hs, ints(b, rt, make([]int64, 8)))
					}
					b.ResetTimer()
					for i := range b.N {
						ops := []Operand{{Handle: hs[i%64], Mode: iface.R}, {Handle: hs[(i+7)%64], Mode: iface.RW}}
						must(b, j.Submit(&TaskSpec{Codelet: empty, Operands: ops[:data], Workers: only}))
					}
					must(b, j.Wait(context.Background()))
					b.StopTimer()
					must(b, j.Close())
					must(b, rt.Close())
				})
			}
		}
	}
}

// slowDisk is a disk that takes a while for each read and write.
type slowDisk struct{ disk.File }

func (f slowDisk) ReadAt(b []byte, at int64) (int, error) {
	time.Sleep(2 * time.Millisecond)
	return f.File.ReadAt(b, at)
}

func (f slowDisk) WriteAt(b []byte, at int64) (int, error) {
	time.Sleep(2 * time.Millisecond)
	return f.File.WriteAt(b, at)
}

// BenchmarkStreamedFromDisk is BenchmarkStreamed for main memory and a disk.
func BenchmarkStreamedFromDisk(b *testing.B) {
	for _, policy := range []string{"eager", "lws", "dmda", "darts"} {
		for _, ahead := range []int{-1, 0} {
			b.Run(fmt.Sprintf("%s/ahead=%d", policy, ahead), func(b *testing.B) {
				const bytes = 1 << 18
				d, err := disk.Open(b.TempDir(), disk.Options{Wrap: func(f disk.File) disk.File { return slowDisk{f} }})
				must(b, err)
				rt, err := New(Options{Workers: 1, Policy: policy, RAM: 8 * bytes, Disk: d, Ahead: ahead})
				must(b, err)
				j := rt.NewJob(context.Background(), JobOptions{})
				slow := kernel("slow", func(c *TaskContext) error { time.Sleep(2500 * time.Microsecond); return incs.CPU[0](c) })
				var hs []*datamgr.Handle
				for range 64 {
					h, err := rt.RegisterFilled(DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{bytes / 8}}, func(*iface.Buffer) error { return nil })
					must(b, err)
					hs = append(hs, h)
				}
				b.ResetTimer()
				for range b.N {
					for _, h := range hs {
						must(b, j.Submit(&TaskSpec{Codelet: slow, Operands: []Operand{{Handle: h, Mode: iface.RW}}}))
					}
				}
				must(b, j.Wait(context.Background()))
				b.StopTimer()
				n := rt.Stats().Nodes[0]
				b.ReportMetric(100*n.Hidden.Seconds()/n.Copying.Seconds(), "hidden-%")
				must(b, j.Close())
				must(b, rt.Close())
				must(b, d.Close())
			})
		}
	}
}
