//go:build !(linux || darwin)

package opencl

import "errors"

func reserve(uintptr) (uintptr, error) {
	return 0, errors.New("address space cannot be reserved on this system")
}
