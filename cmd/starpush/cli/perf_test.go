package cli

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/starpush/starpush/engine/perf"
)

// breakfiles makes every performance model in a folder one of a version to come.
func breakfiles(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: breakfiles FOLDER")
	}
	files, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "*.json"))
	ts.Check(err)
	if len(files) == 0 {
		ts.Fatalf("no files in %s", args[0])
	}
	for _, f := range files {
		ts.Check(os.WriteFile(f, []byte(`{"starpush_perf": 99}`), 0o666))
	}
}

// modelled is a file of a kind with entries of these sizes, whose times are y.
func modelled(k perf.Kind, y func(float64) float64, sizes ...float64) *perf.File {
	f := &perf.File{Key: perf.Key{Codelet: "a<b>&\"c\""}, Machine: "box", Kind: k, SizeUnit: "bytes"}
	if k == perf.Multiple {
		f.ParamNames, f.Terms = []string{"n"}, [][]float64{{0}, {1}}
	}
	g := &perf.Group{Arch: "cpu"}
	for i, n := range sizes {
		e := &perf.Sized{Footprint: perf.Footprint(i), Size: n, What: "vector & co", Params: []float64{n}, Last: 1}
		for k := range 10 {
			e.Add(y(n) * (0.9 + 0.02*float64(k)))
		}
		g.Entries = append(g.Entries, e)
	}
	f.Groups = []*perf.Group{g}
	return f
}

// dots reads the places of the points of a picture, which must be XML.
func dots(t *testing.T, svg []byte) (xy [][2]float64) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(string(svg)))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
	}
	for _, m := range regexp.MustCompile(`<circle cx="([^"]+)" cy="([^"]+)" r="3.2"`).FindAllSubmatch(svg, -1) {
		x, errX := strconv.ParseFloat(string(m[1]), 64)
		y, errY := strconv.ParseFloat(string(m[2]), 64)
		if errX != nil || errY != nil {
			t.Fatalf("a point at %s, %s", m[1], m[2])
		}
		xy = append(xy, [2]float64{x, y})
	}
	return xy
}

func TestPlot(t *testing.T) {
	line := func(n float64) float64 { return 1e-9 * n }
	for _, k := range []perf.Kind{perf.History, perf.Regression, perf.NonLinear, perf.Multiple} {
		svg, err := plotModels([]*perf.File{modelled(k, line, 1<<10, 1<<12, 1<<14, 1<<16)})
		if err != nil {
			t.Fatal(err)
		}
		at := dots(t, svg)
		if len(at) != 4 {
			t.Fatalf("%v: %d points", k, len(at))
		}
		// equal ratios are equal distances, larger is right and up, all in the box
		for i := 1; i < 4; i++ {
			dx, dy := at[i][0]-at[i-1][0], at[i-1][1]-at[i][1]
			if dx <= 0 || dy <= 0 || math.Abs(dx-(at[1][0]-at[0][0])) > 0.3 || math.Abs(dy-(at[0][1]-at[1][1])) > 0.3 {
				t.Errorf("%v: points at %v", k, at)
			}
		}
		for _, p := range at {
			if p[0] < plotLeft || p[0] > plotWidth-plotRight || p[1] < plotTop || p[1] > plotHeight-plotBottom {
				t.Errorf("%v: a point at %v, outside", k, p)
			}
		}
		text := string(svg)
		for what, want := range map[string]bool{
			`class="curve"`: k == perf.Regression || k == perf.NonLinear, `r="6"`: k == perf.Multiple,
			`class="bar"`: true, "bytes, logarithmic": true, "seconds, logarithmic": true, "KiB": true, " µs": true,
			"prefers-color-scheme:dark": true, "a&lt;b&gt;&amp;": true,
		} {
			if strings.Contains(text, what) != want {
				t.Errorf("%v: has %q: %v", k, what, !want)
			}
		}
	}
}

// Every recent sample is drawn, none is set aside, and footprints with few or scattered
// samples are marked.
func TestPlotShowsAllSamples(t *testing.T) {
	f := modelled(perf.History, func(n float64) float64 { return 1e-9 * n }, 1<<10, 1<<14)
	short, wide := f.Groups[0].Entries[0], f.Groups[0].Entries[1]
	short.Entry = perf.Entry{}
	for _, x := range []float64{1e-6, 1.1e-6, 9e-6} {
		short.Add(x)
	}
	for k := range 100 {
		wide.Add(1e-5 * float64(1+k%7)) // 79 % of them far from their mean
	}
	svg, err := plotModels([]*perf.File{f})
	if err != nil {
		t.Fatal(err)
	}
	text := string(svg)
	drawn := 0
	for _, m := range regexp.MustCompile(`class="sample"[^>]* d="([^"]*)"`).FindAllStringSubmatch(text, -1) {
		drawn += strings.Count(m[1], "h.01")
	}
	if want := 3 + perf.MaxRecent; drawn != want {
		t.Errorf("%d samples are drawn, want %d", drawn, want)
	}
	for what, want := range map[string]int{`class="few"`: 1, `class="scattered"`: 2, "hollow: 1 footprint with fewer than 10 samples": 1,
		"cpu: 113 samples of 2 footprints, the last 67 drawn": 1, "(few, scattered)": 1} {
		if n := strings.Count(text, what); n != want {
			t.Errorf("%d times %q, want %d", n, what, want)
		}
	}
	table := perfDetails(f, "x.json", time.Unix(100, 0))
	for _, want := range []string{"1.1 µs", "1.05 µs – 5.05 µs", "vector & co (few, scattered)", "vector & co (scattered)", "  few: fewer", "  scattered: the middle half"} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
}

// Pictures of odd measurements are pictures, or a message.
func TestPlotOfOddFiles(t *testing.T) {
	one := func(float64) float64 { return 1 }
	nan := func(float64) float64 { return math.NaN() }
	many := modelled(perf.History, one, 8)
	for i := range 20 {
		many.Groups = append(many.Groups, &perf.Group{Arch: "cpu", Impl: i + 1, Entries: many.Groups[0].Entries})
	}
	for name, c := range map[string]struct {
		files  []*perf.File
		points int
		says   string
	}{
		"one point":    {[]*perf.File{modelled(perf.Regression, one, 8)}, 1, "no curve"},
		"no size":      {[]*perf.File{modelled(perf.History, one, 0, 8)}, 1, "left out, without a size or a time: 1 footprint"},
		"no number":    {[]*perf.File{modelled(perf.History, nan, 8)}, 0, ""},
		"nothing":      {[]*perf.File{{Key: perf.Key{Codelet: "c"}}}, 0, ""},
		"extreme":      {[]*perf.File{modelled(perf.NonLinear, func(n float64) float64 { return n * 1e-300 }, 1, 1e300)}, 2, "cpu"},
		"many":         {[]*perf.File{many}, maxSeries, "13 more are not drawn"},
		"two versions": {[]*perf.File{modelled(perf.History, one, 8), modelled(perf.Multiple, one, 8, 9, 10)}, 4, "kernel"},
	} {
		svg, err := plotModels(c.files)
		if c.points == 0 {
			if err == nil || !strings.Contains(err.Error(), "nothing to plot") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if at := dots(t, svg); len(at) != c.points || !strings.Contains(string(svg), c.says) || strings.Contains(string(svg), "NaN") {
			t.Errorf("%s: %d points in\n%s", name, len(at), svg)
		}
	}
}

// A picture of one point, or of points close to each other, has their values at its axes.
func TestPlotOfOnePoint(t *testing.T) {
	flat := func(float64) float64 { return 3.7e-4 }
	for _, c := range []struct {
		sizes []float64
		says  []string
	}{
		{[]float64{786432}, []string{">768 KiB<", ">366 µs<"}},
		{[]float64{700000, 710000}, []string{">683.6 KiB<", ">366 µs<"}},
		{[]float64{1536, 6000}, []string{">2 KiB<", ">4 KiB<", ">366 µs<"}},
	} {
		svg, err := plotModels([]*perf.File{modelled(perf.History, flat, c.sizes...)})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.says {
			if !strings.Contains(string(svg), want) {
				t.Errorf("sizes %v: no %s", c.sizes, want)
			}
		}
	}
}

func TestTimeText(t *testing.T) {
	for s, want := range map[float64]string{
		0: "0", 1e-9: "1 ns", 9.996e-7: "1 µs", 1.5e-6: "1.5 µs", 0.00025: "250 µs", 0.9996: "0.9996 s", 9.996e-4: "1 ms", 12.5: "12.5 s",
		math.NaN(): "?", math.Inf(1): "?",
	} {
		if got := timeText(s); got != want {
			t.Errorf("%g: %q instead of %q", s, got, want)
		}
	}
	for v, want := range map[float64]string{1: "1", 0.01: "0.01", 500: "500", 1e3: "1 k", 2e4: "20 k", 5e6: "5 M", 1e9: "1 G", 1e30: "1e+30", 1e-9: "1e-09"} {
		if got := countText(v); got != want {
			t.Errorf("%g: %q instead of %q", v, got, want)
		}
	}
	now := time.Unix(1e9, 0)
	for age, want := range map[int64]string{0: "now", 59: "now", 60: "1 min ago", 3599: "59 min ago", 7200: "2 h ago", 200000: "2 days ago", 1e9: "-", -5: "now"} {
		if got := ageText(1e9-age, now); got != want {
			t.Errorf("%d s: %q instead of %q", age, got, want)
		}
	}
}

func TestFormulas(t *testing.T) {
	f := modelled(perf.Multiple, func(float64) float64 { return 1 }, 8)
	f.ParamNames, f.Terms = []string{"m", "n"}, [][]float64{{0, 0}, {1, 2}, {0, 0.5}}
	got := fitText(f, perf.Fit{Kind: perf.Multiple, Coef: []float64{1e-6, 2e-9, -3}, RelError: 0.021})
	if want := "1e-06 + 2e-09·m·n^2 - 3·n^0.5 s, ± 2.1 %"; got != want {
		t.Errorf("%q instead of %q", got, want)
	}
}
