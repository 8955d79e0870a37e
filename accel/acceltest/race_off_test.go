//go:build !race

package acceltest

const raceOn = false
