package bus_test

import (
	"fmt"
	"log"
	"time"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/bus"
	"github.com/starpush/starpush/accel/cpu"
	"github.com/starpush/starpush/accel/sim"
)

// The links of a simulated device, which tells the time itself.
func ExampleMeasure() {
	d, err := sim.New(sim.Options{Name: "gpu", Capacity: 64 << 20, Main: sim.Link{Latency: 10 * time.Microsecond, Bandwidth: 8e9}})
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	table, err := bus.Measure("here", cpu.New(0).Memory(), []accel.Device{d})
	if err != nil {
		log.Fatal(err)
	}
	for _, l := range table.Links {
		fmt.Printf("%s to %s: %v, %.0f GB/s\n", l.From, l.To, l.Latency, l.Bandwidth/1e9)
	}
	took, _ := table.Time("ram", "gpu", 80_000_000)
	fmt.Println(took.Round(time.Millisecond))
	// Output:
	// gpu to ram: 10µs, 8 GB/s
	// ram to gpu: 10µs, 8 GB/s
	// 10ms
}
