//go:build !cuda

package enginetest_test

// machines are those with drivers that can be had everywhere.
var machines = []string{"opencl"}
