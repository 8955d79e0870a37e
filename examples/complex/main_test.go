package main

import (
	"fmt"
	"testing"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/sim"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/datatest"
)

// TestComplex: the product of z·i, z·i², z·i³ and z·i⁴ is -z⁴, on processors and on a simulated device.
func TestComplex(t *testing.T) {
	d, err := sim.New(sim.Options{Capacity: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []engine.Options{{Sequential: true}, {Workers: 3}, {Workers: 1, Devices: []accel.Device{d}}} {
		z, product, err := run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprint(z), "{[1 2 3] [2 1 -2]}"; got != want {
			t.Errorf("z is %s, want %s", got, want)
		}
		for i, z := range []complex128{1 + 2i, 2 + 1i, 3 - 2i} {
			if got := complex(product.Re[i], product.Im[i]); got != -z*z*z*z {
				t.Errorf("product %d is %v, want %v", i, got, -z*z*z*z)
			}
		}
	}
}

// TestNumbers: complex numbers are the same after copies to devices, on disks, and so on.
func TestNumbers(t *testing.T) {
	datatest.TestKind(t, datatest.Arrays("numbers", func(n int) Numbers {
		return Numbers{Re: make([]float64, n), Im: make([]float64, n)}
	}))
}
