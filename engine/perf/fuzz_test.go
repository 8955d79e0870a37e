package perf

import (
	"bytes"
	"errors"
	"testing"
)

// FuzzDecode: no content of a file panics; it is refused for a stated reason, or
// can be merged, fitted, predicted from, and comes back as it was.
func FuzzDecode(f *testing.F) {
	for _, k := range []Kind{History, Regression, NonLinear, Multiple} {
		file := measured(1, 12)
		file.Kind, file.SizeUnit, file.Machine = k, "bytes", "m"
		if k == Multiple {
			file.ParamNames, file.Terms = []string{"p"}, [][]float64{{0}, {1.5}}
		}
		for i := range 4 {
			o := measured(Footprint(2+i), 10)
			o.Groups[0].Entries[0].Size = float64(int(64) << i)
			o.Groups[0].Entries[0].Params = []float64{float64(i)}
			file.Merge(o)
		}
		var b bytes.Buffer
		if err := file.encode(&b); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Add([]byte(`{"starpush_perf": 7}`))
	f.Add([]byte(`{"starpush_perf":1,"codelet":"c","kind":"history","groups":[{"entries":[{"footprint":"1","n":1,"mean":"NaN"},{"footprint":"1","n":3,"mean":-1e308,"size":1e308}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := decode(data)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNewer) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		for _, g := range file.Groups {
			c := file.Fit(g)
			for _, e := range g.Entries {
				c.At(e.Size, e.Params, file.Terms)
				e.RelError()
			}
		}
		var a, b bytes.Buffer
		if err := file.encode(&a); err != nil {
			t.Fatal(err)
		}
		again, err := decode(a.Bytes())
		if err != nil {
			t.Fatalf("%v in what was written:\n%s", err, a.Bytes())
		}
		if err := again.encode(&b); err != nil || !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Fatalf("%v: does not come back:\n%s\n%s", err, a.Bytes(), b.Bytes())
		}
		file.Merge(again)
		measured := measured(1, 3)
		file.Merge(measured)
	})
}
