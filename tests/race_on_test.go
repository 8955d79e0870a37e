//go:build race

package tests

// raceDetector says that the tests run under the race detector, where kernels
// are some ten times slower.
const raceDetector = true
