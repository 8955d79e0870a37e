package sim

import (
	"testing"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/acceltest"
)

func TestDevice(t *testing.T) {
	acceltest.Run(t, func() ([]accel.Device, error) {
		a, err := New(Options{Name: "a", Capacity: 1 << 20})
		if err != nil {
			return nil, err
		}
		b, err := New(Options{Name: "b", Capacity: 1 << 20, Units: 2})
		return []accel.Device{a, b}, err
	}, acceltest.Options{Endless: true})
}
