package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestGrow measures every study at its two smallest values and reads the pictures
// back.
func TestGrow(t *testing.T) {
	sides := testSides(t)
	o := testOptions(t, "rounds=1")
	o.dir = filepath.Join(t.TempDir(), "results")
	small := slices.Clone(studies)
	for i := range small {
		small[i].values = small[i].values[:2]
	}
	var out bytes.Buffer
	if err := grow(t.Context(), &out, io.Discard, o, small, sides[2], sides[3]); err != nil {
		t.Fatal(err)
	}
	for _, st := range small {
		svg, err := os.ReadFile(filepath.Join(o.dir, st.key+".svg"))
		if err != nil {
			t.Fatal(err)
		}
		desc, circles := readSVG(t, svg)
		if want := len(st.lines) * len(st.values); circles != want {
			t.Errorf("%s: %d points, want %d", st.key, circles, want)
		}
		if want := "go run ./tests/bench growth only=" + st.key + " rounds=1 n=64 workers=2"; !strings.Contains(desc, want) {
			t.Errorf("%s: %q does not say %q", st.key, desc, want)
		}
		if !strings.Contains(out.String(), st.key) {
			t.Errorf("no line of %s in the table:\n%s", st.key, out.String())
		}
	}
	o.only = []string{"nothing"}
	if err := grow(t.Context(), &out, io.Discard, o, small, sides[2], sides[3]); err == nil {
		t.Error("no such picture: no error")
	}
}

// readSVG returns the description, and how many points are drawn.
func readSVG(t *testing.T, svg []byte) (desc string, circles int) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return desc, circles
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		el, ok := tok.(xml.StartElement)
		switch {
		case ok && el.Name.Local == "circle":
			circles++
		case ok && el.Name.Local == "desc":
			if err := d.DecodeElement(&desc, &el); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestStudyArguments(t *testing.T) {
	st := &study{arg: "workers"}
	o := testOptions(t, "n=160")
	for _, c := range []struct {
		line []string
		want string
	}{
		{[]string{"chain"}, "chain n=160 workers=3"},
		{[]string{"stencil"}, "stencil w=16 t=10 workers=3"},
	} {
		if got := strings.Join(st.args(o, &studyLine{args: c.line}, 3), " "); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	// The number of workers of a point is what the process gets.
	s := processSides(t)[2]
	r, err := s.run(t.Context(), "independent", "n=10", "workers=3")
	if err != nil || r.Workers != 3 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestPlot(t *testing.T) {
	p := &plot{title: "a < b & c", desc: "x", x: "x", y: "y", series: []series{
		{"one", []point{{1, 2}, {2, 3}}},
		{"two", []point{{1, 2}}},
		{"none at all", []point{{2, 0}}},
	}}
	svg, err := p.write()
	if err != nil {
		t.Fatal(err)
	}
	if _, n := readSVG(t, svg); n != 4 {
		t.Errorf("%d points, want 4", n)
	}
	if !bytes.Contains(svg, []byte("a &lt; b &amp; c")) {
		t.Error("the title is not as given")
	}
	again, err := p.write()
	if err != nil || !bytes.Equal(svg, again) {
		t.Error("the same plot gives another picture")
	}
	p.logY = true
	if _, err := p.write(); err == nil {
		t.Error("0 on a logarithmic axis: no error")
	}
	for _, s := range [][]series{nil, {{"empty", nil}}} {
		if _, err := (&plot{series: s}).write(); err == nil {
			t.Error("nothing to draw: no error")
		}
	}
}

func TestAxes(t *testing.T) {
	for _, hi := range []float64{0, 0.03, 0.08, 0.42, 1, 3.9, 77, 1e6} {
		ticks := niceTicks(hi)
		if ticks[0] != 0 || ticks[len(ticks)-1] < hi || len(ticks) > 10 || len(ticks) < 2 {
			t.Errorf("up to %v: %v", hi, ticks)
		}
	}
	for _, r := range [][2]float64{{0.03, 0.04}, {1, 1}, {0.2, 700}, {3, 20}} {
		ticks := logTicks(r[0], r[1])
		if ticks[0] > r[0] || ticks[len(ticks)-1] < r[1] || len(ticks) < 2 || !slices.IsSorted(ticks) {
			t.Errorf("%v: %v", r, ticks)
		}
	}
	for x, want := range map[float64]string{0: "0", 0.25: "0.25", 16: "16", 1000: "1k", 4096: "4Ki", 262144: "256Ki", 1024000: "1024k", 2e6: "2M", 1500: "1500"} {
		if got := short(x); got != want {
			t.Errorf("%v is written %s, want %s", x, got, want)
		}
	}
	// Names keep their distance, and their order.
	at := spread([]series{{"a", []point{{1, 1}}}, {"b", []point{{1, 1}}}, {"c", []point{{1, 0}}}}, &scale{0, 1, planeBottom, planeTop, false})
	if at[1]-at[0] < nameHeight || at[2] <= at[1] {
		t.Errorf("names at %v", at)
	}
}
