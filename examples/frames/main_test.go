package main

import (
	"math"
	"testing"
)

// TestFrames plays a second and compares with the same arithmetic in Go.
func TestFrames(t *testing.T) {
	const bodies, dt = 101, 1.0 / 60
	w, err := newWorld(t.Context(), bodies)
	if err != nil {
		t.Fatal(err)
	}
	var y, vy [bodies]float32
	// before the run ends the slices are the script's: copies were made above
	first, err := newWorld(t.Context(), bodies) // the same seed
	if err != nil {
		t.Fatal(err)
	}
	if err := first.close(); err != nil {
		t.Fatal(err)
	}
	copy(y[:], first.y)
	var mean float64
	for range 60 {
		if mean, err = w.frame(t.Context(), dt); err != nil {
			t.Fatal(err)
		}
		for i := range y {
			vy[i] -= float32(9.81) * float32(dt)
			y[i] += vy[i] * float32(dt)
			if y[i] < 0 {
				y[i], vy[i] = -y[i], -0.9*vy[i]
			}
		}
	}
	sum := 0.0
	for _, v := range y {
		sum += float64(v)
	}
	if math.Abs(mean-sum/bodies) > 1e-4 {
		t.Errorf("mean altitude %v, want %v", mean, sum/bodies)
	}
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
	for i := range y { // and the slices have it
		if math.Abs(float64(y[i]-w.y[i])) > 1e-4 {
			t.Fatalf("y[%d] = %v, want %v", i, w.y[i], y[i])
		}
	}
}

func TestPlay(t *testing.T) {
	if err := play(t.Context(), 64, 1000, 5); err != nil {
		t.Fatal(err)
	}
}
