//go:build !cuda

package enginetest

import "github.com/starpush/starpush/accel"

func taggedMemoryOf(accel.Stream) accel.Memory { return nil }

func openCUDA(bool, int64) ([]accel.Device, error) {
	return nil, &accel.UnavailableError{Driver: "cuda", Reason: "these tests are built without it",
		Remedy: `eval "$(sh accel/cuda/env.sh)", and go test -tags cuda`}
}

func breakFake([]accel.Device, int, Fault, int) (func() int, error) { return nil, nil }
