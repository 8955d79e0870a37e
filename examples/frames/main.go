// Command frames calls a script function at a fixed rate, as a game or a controller
// does: compile once, call often, read what the frame shows, without copies.
//
//	go run ./examples/frames -bodies 4096 -seconds 3
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"time"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
)

//go:embed frame.spu
var source []byte

func main() {
	bodies := flag.Int("bodies", 4096, "number of bodies")
	rate := flag.Int("rate", 60, "frames per second")
	seconds := flag.Float64("seconds", 3, "how long")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := play(ctx, *bodies, *rate, int(*seconds*float64(*rate))); err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

// world is what the script moves. The slices are the home of its data: the script
// works in them, and so does Go, between Acquire and Release.
type world struct {
	rt       *engine.Runtime
	inst     *lang.Instance
	x, y     []float32
	vx, vy   []float32
	altitude *lang.Handle
}

// newWorld compiles the script and runs it to its end, once.
func newWorld(ctx context.Context, bodies int) (*world, error) {
	comp, err := lang.NewCompiler(lang.Config{})
	if err != nil {
		return nil, err
	}
	prog, diags := comp.Compile(ctx, "frame.spu", source)
	if err := diags.Err(); err != nil {
		return nil, err
	}
	w := &world{x: make([]float32, bodies), y: make([]float32, bodies), vx: make([]float32, bodies), vy: make([]float32, bodies)}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range bodies {
		w.x[i], w.y[i], w.vx[i] = r.Float32(), r.Float32(), r.Float32()-0.5
	}
	if w.rt, err = engine.New(engine.Options{}); err != nil {
		return nil, err
	}
	w.inst, err = prog.Run(ctx, w.rt, lang.Bind("x", lang.VectorOf(w.x)), lang.Bind("y", lang.VectorOf(w.y)),
		lang.Bind("vx", lang.VectorOf(w.vx)), lang.Bind("vy", lang.VectorOf(w.vy)))
	if err == nil {
		w.altitude, err = w.inst.Handle("altitude")
	}
	if err != nil {
		return nil, errors.Join(err, w.rt.Close())
	}
	return w, nil
}

// frame moves the world by dt seconds and returns the mean altitude. Between the
// call and the wait for the value Go may do something else: tasks run meanwhile.
func (w *world) frame(ctx context.Context, dt float64) (float64, error) {
	if _, err := w.inst.Call(ctx, "tick", dt); err != nil {
		return 0, err
	}
	sum, err := lang.Value[float64](ctx, w.altitude)
	return sum / float64(len(w.y)), err
}

// close ends the run; x, y, vx and vy are Go's again.
func (w *world) close() error { return errors.Join(w.inst.Close(), w.rt.Close()) }

// play shows frames at a steady rate.
func play(ctx context.Context, bodies, rate, frames int) (err error) {
	w, err := newWorld(ctx, bodies)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	var busy, worst time.Duration
	for k := range frames {
		began := time.Now()
		mean, err := w.frame(ctx, 1/float64(rate))
		if err != nil {
			return err
		}
		took := time.Since(began)
		busy, worst = busy+took, max(worst, took)
		if k%rate == rate-1 {
			fmt.Printf("%3d s: mean altitude %.3f, a frame takes %v, at most %v\n", (k+1)/rate, mean, (busy / time.Duration(rate)).Round(time.Microsecond), worst.Round(time.Microsecond))
			busy, worst = 0, 0
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
