package sim_test

import (
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/cpu"
	"github.com/starpush/starpush/accel/sim"
)

// A copy over a link of a gigabyte a second, on a virtual clock: nothing sleeps.
func Example() {
	d, err := sim.New(sim.Options{Name: "gpu", Capacity: 1 << 20,
		Main: sim.Link{Latency: 10 * time.Microsecond, Bandwidth: 1e9}})
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	ram := cpu.New(0).Memory()
	from, err := ram.Alloc(1000)
	if err != nil {
		log.Fatal(err)
	}
	defer ram.Free(from, 1000)
	to, err := d.Memory().Alloc(1000)
	if err != nil {
		log.Fatal(err)
	}
	defer d.Memory().Free(to, 1000)

	s, err := d.NewStream()
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	err = s.Copy(&accel.Copy{Dst: accel.Place{Mem: d.Memory(), Ptr: to}, Src: accel.Place{Mem: ram, Ptr: from},
		Bytes: 1000, Count: accel.Counts()})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Sync(), d.Clock().Now())
	// Output: <nil> 11µs
}

// Machines that are useful to have are there by name, with settings if need be.
func ExampleParse() {
	m, err := sim.Parse("sim:cpu2gpu1:seed=3,memory=65536")
	if err != nil {
		log.Fatal(err)
	}
	devices, err := m.Open()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Workers, "CPU workers")
	for _, d := range devices {
		fmt.Println(d.Name(), accel.Bytes(d.Memory().Capacity()))
		d.Close()
	}
	_, err = sim.Parse("sim:cpu3")
	fmt.Println(err)
	// Output:
	// 2 CPU workers
	// sim 0 64 KiB
	// there is no simulated machine "cpu3"; there are cpu4, cpu2gpu1, cpu8gpu4, numa2, gpu4MiB
}

// The second allocation fails, as one does on a device that others use, too.
func ExampleNth() {
	d, err := sim.New(sim.Options{Capacity: 1 << 20, Faults: sim.Faults{Alloc: sim.Nth(2)}})
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	for range 3 {
		p, err := d.Memory().Alloc(64)
		var full *accel.NoMemoryError
		fmt.Println(err == nil, errors.As(err, &full))
		if err == nil {
			defer d.Memory().Free(p, 64)
		}
	}
	// Output:
	// true false
	// false true
	// true false
}
