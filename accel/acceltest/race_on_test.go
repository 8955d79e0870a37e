//go:build race

package acceltest

const raceOn = true
