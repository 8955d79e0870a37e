//go:build unix

package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/starpush/starpush/accel/mpi"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// Variables that have ranks measure hops between two ranks.
const (
	hopsVariable     = "STARPUSH_CLUSTER_TEST_HOPS"      // how many
	hopBytesVariable = "STARPUSH_CLUSTER_TEST_HOP_BYTES" // of how many bytes each
)

// measureHops prints on rank 0 how long a hop takes: of an empty program that only sends and receives bytes, and of a chain of tasks that
// take turns on the two ranks, while they are submitted and of tasks that were submitted before.
func measureHops(hops, bytes int) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	w, err := mpi.Init(ctx, mpi.Options{})
	if err != nil {
		return err
	}
	end := OverMPI(w.Comm())
	pingPong, err := pingPong(end, hops, bytes)
	if err != nil {
		return err
	}
	during, err := chain(ctx, end, hops, bytes, false)
	if err != nil {
		return err
	}
	before, err := chain(ctx, end, hops, bytes, true)
	if err != nil {
		return err
	}
	if end.Rank() == 0 {
		fmt.Println(pingPong.Nanoseconds()/int64(hops), during.Nanoseconds()/int64(hops), before.Nanoseconds()/int64(hops))
	}
	return w.Close(ctx)
}

// pingPong sends bytes to and fro.
func pingPong(end Comm, hops, bytes int) (time.Duration, error) {
	data := make([]byte, bytes)
	done := make(chan error, 1)
	other := 1 - end.Rank()
	began := time.Now()
	for k := range hops {
		if k%2 == end.Rank() {
			end.Send(other, 0, data, func(err error) { done <- err })
		} else {
			end.Recv(other, 0, data, func(_ int, err error) { done <- err })
		}
		if err := <-done; err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

// chain runs tasks that each add to the same number, on the two ranks in turn. If before is true it submits all of them before the first one runs,
// and leaves the submission out of the time.
func chain(ctx context.Context, end Comm, hops, bytes int, before bool) (time.Duration, error) {
	rt, err := engine.New(engine.Options{Workers: 1})
	if err != nil {
		return 0, err
	}
	j := NewJob(ctx, rt, end, Options{})
	h, err := rt.RegisterFilled(engine.DataSpec{Kind: iface.Vector, Elem: iface.I64, Dims: []int{bytes / 8}}, func(b *iface.Buffer) error {
		clear(iface.Slice[int64](b))
		return nil
	})
	if err != nil {
		return 0, err
	}
	c := &engine.Codelet{Name: "add", Modes: []iface.AccessMode{iface.RW}, CPU: []engine.Impl{func(c *engine.TaskContext) error {
		iface.Slice[int64](c.Buffer(0))[0]++
		return nil
	}}}
	if err := j.Wait(ctx); err != nil {
		return 0, err
	}
	began := time.Now()
	ops := []engine.Operand{{Handle: h, Mode: iface.RW}}
	gate := j.Local().NewGate()
	for k := range hops {
		t := &Task{TaskSpec: engine.TaskSpec{Codelet: c, Operands: ops}, On: 1 + k%2}
		if k == 0 && before {
			t.After = []engine.Dependency{gate}
		}
		if err := j.Submit(t); err != nil {
			return 0, err
		}
	}
	if before {
		if _, err := j.Gather(ctx, nil); err != nil {
			return 0, err
		}
		began = time.Now()
	}
	gate.Open()
	a, err := j.Acquire(ctx, h, iface.R, engine.AcquireOptions{})
	if err != nil {
		return 0, err
	}
	took := time.Since(began)
	if got := iface.Slice[int64](a.Buffer())[0]; got != int64(hops) {
		return 0, fmt.Errorf("the chain counts to %d, want %d", got, hops)
	}
	if err := a.Release(); err != nil {
		return 0, err
	}
	if err := j.Close(); err != nil {
		return 0, err
	}
	return took, rt.Close()
}

// networks are the settings under which MPI sends through the network of the machine instead of memory that ranks share: between machines it always does.
var networks = []string{"OMPI_MCA_btl=tcp,self", "UCX_TLS=tcp"}

// BenchmarkChain measures a hop of a chain of tasks over two ranks of MPI beside one of messages alone, while tasks are submitted, and of tasks that were submitted before.
func BenchmarkChain(b *testing.B) {
	for _, l := range launchers {
		for _, network := range [][]string{nil, networks} {
			for _, bytes := range []int{8, 4 << 10, 32 << 10, 256 << 10} {
				name := fmt.Sprint(l.name, "/", bytes)
				if network != nil {
					name = fmt.Sprint(l.name, "-tcp/", bytes)
				}
				b.Run(name, func(b *testing.B) { benchmarkChain(b, l, network, bytes) })
			}
		}
	}
}

func benchmarkChain(b *testing.B, l launcher, settings []string, bytes int) {
	path, err := exec.LookPath(l.name)
	if err != nil {
		b.Skip(err)
	}
	hops := max(100, b.N)
	cmd := exec.Command(path, append(l.args[:len(l.args):len(l.args)], "-n", "2", os.Args[0])...)
	cmd.Env = append(append(os.Environ(), settings...), hopsVariable+"="+strconv.Itoa(hops), hopBytesVariable+"="+strconv.Itoa(bytes))
	out, err := cmd.Output()
	var pingPong, chain, submitted float64
	if err == nil {
		_, err = fmt.Sscan(string(out), &pingPong, &chain, &submitted)
	}
	if err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	b.ReportMetric(pingPong, "ns/message")
	b.ReportMetric(chain, "ns/hop")
	b.ReportMetric(submitted, "ns/hop-submitted-before")
	b.ReportMetric(0, "ns/op")
}
