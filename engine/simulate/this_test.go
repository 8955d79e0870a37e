package simulate

import (
	"slices"
	"testing"
)

// TestLookOf: a worker that begins late after a short pause, because of other work, does not hide that it begins early after a longer one.
func TestLookOf(t *testing.T) {
	const fast, slow = 1e-6, 30e-6
	for _, c := range []struct {
		late int // the pauses after which it begins late
		want float64
	}{
		{0b000000, 200e-6}, {0b110000, 50e-6}, {0b110100, 50e-6}, {0b111000, usualLook}, {0b111111, usualLook},
	} {
		x := runtimeTimes{wakes: []float64{slow, 2 * slow, 0.9 * slow}}
		for k := range pauses {
			all := []float64{fast, fast, slow, slow, slow} // noise
			if c.late>>k&1 == 1 {
				all = []float64{slow, slow, slow, slow, slow}
			}
			x.after = append(x.after, all)
		}
		if got := x.look(); got != c.want {
			t.Errorf("late %b: %v, want %v", c.late, got, c.want)
		}
	}
}

// TestShortest: a measurement is the shortest round, and says how much longer the median one was.
func TestShortest(t *testing.T) {
	unsteady := 0.0
	if got := shortest([]float64{3, 1, 9, 2, 1.5}, &unsteady); got != 1 || unsteady != 2 {
		t.Errorf("%v, %v times as long in the median; want 1 and 2", got, unsteady)
	}
	if got := shortest([]float64{4, 4, 4}, &unsteady); got != 4 || unsteady != 2 {
		t.Errorf("%v, %v times as long in the median; want 4, and still 2", got, unsteady)
	}
}

// TestThis: the machine that is measured is possible, and its script shares a processor; the others are not measured.
func TestThis(t *testing.T) {
	names, _ := Presets()
	for _, name := range names {
		m, err := Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		measured := name == "this"
		if m.Script.Shared != measured || (m.Unsteady >= 1) != measured {
			t.Errorf("%s: %+v, unsteady %v", name, m.Script, m.Unsteady)
		}
		if measured && (m.CPU.Look < usualLook || slices.Contains([]float64{m.CPU.Wake, m.CPU.Overhead}, 0)) {
			t.Errorf("not measured: %+v, %+v", m.CPU, m.Script)
		}
	}
}
