// Command kernels adds a codelet of its own with two implementations: Go for CPU
// workers, OpenCL C for devices. Scripts do not know which one runs.
//
//	go run ./examples/kernels -gpus 1
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/opencl"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
)

var (
	//go:embed mandelbrot.spu
	source []byte
	//go:embed mandelbrot.cl
	kernels string
)

// mandelbrot counts how many rounds a point takes to leave. The signature is the
// language's, so scripts and kernels agree on what they are given.
var mandelbrot = lang.Must(lang.NewCodelet("mandelbrot(count: W matrix[i32], x0: f64, y0: f64, step: f64, most: i32)",
	lang.Doc("count[i, j] = rounds that z = z*z + c takes to leave the circle of radius 2, for c = x0 + j*step + (y0 + i*step)i of the whole matrix"),
	lang.CPU(func(t *lang.Task) error {
		count := lang.Buf[int32](t, 0)
		x0, y0, step, most := lang.Arg[float64](t, "x0"), lang.Arg[float64](t, "y0"), lang.Arg[float64](t, "step"), lang.Arg[int32](t, "most")
		for i := range count.Rows() {
			row := count.Row(i)
			cy := y0 + float64(count.Offset(0)+i)*step
			for j := range row {
				cx := x0 + float64(count.Offset(1)+j)*step
				x, y, n := 0.0, 0.0, int32(0)
				for ; n < most && x*x+y*y <= 4; n++ {
					x, y = x*x-y*y+cx, 2*x*y+cy
				}
				row[j] = n
			}
		}
		return nil
	}),
	lang.OpenCL(func(t *lang.Task, s accel.Stream) error {
		stream := s.(*opencl.Stream)
		count := lang.Buf[int32](t, 0)
		program, err := stream.Device().Build(kernels, "-cl-std=CL1.2") // once for each device
		if err != nil {
			return err
		}
		k, err := program.Kernel("mandelbrot")
		if err != nil {
			return err
		}
		return stream.Launch(k, []int{count.Cols(), count.Rows()}, nil, opencl.Buf{Ptr: count.Ptr(), Elem: 4}, int64(count.LD()),
			int64(count.Offset(0)), int64(count.Offset(1)), lang.Arg[float64](t, "x0"), lang.Arg[float64](t, "y0"), lang.Arg[float64](t, "step"), lang.Arg[int32](t, "most"))
	})))

func main() {
	gpus := flag.Int("gpus", 0, "OpenCL devices to use")
	n := flag.Int("n", 512, "points on a side")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var devices []accel.Device
	if *gpus > 0 {
		var err error
		if devices, err = (opencl.Driver{}).Open(); err != nil {
			log.Fatal(err)
		}
		for len(devices) > *gpus {
			last := len(devices) - 1
			devices[last].Close()
			devices = devices[:last]
		}
	}
	if err := draw(ctx, engine.Options{Devices: devices}, *n, os.Stdout); err != nil {
		log.Fatal(err)
	}
	for _, d := range devices {
		if err := d.Close(); err != nil {
			log.Fatal(err)
		}
	}
}

// draw runs the script and prints how many tasks each worker ran.
func draw(ctx context.Context, o engine.Options, n int, w io.Writer) error {
	comp, err := lang.NewCompiler(lang.Config{Codelets: []*lang.Codelet{mandelbrot}})
	if err != nil {
		return err
	}
	prog, diags := comp.Compile(ctx, "mandelbrot.spu", source)
	if err := diags.Err(); err != nil {
		return err
	}
	rt, err := engine.New(o)
	if err != nil {
		return err
	}
	defer rt.Close()
	inst, err := prog.Run(ctx, rt, lang.Param("n", n), lang.Stdout(w))
	if err != nil {
		return err
	}
	defer inst.Close()
	if err := inst.Wait(ctx); err != nil {
		return err
	}
	for _, worker := range inst.Stats().Workers {
		fmt.Fprintf(w, "%-10s %3d tasks\n", worker.Name, worker.Tasks)
	}
	return inst.Close()
}
