package grain

import (
	"testing"

	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// TestFilterText: proposals to split are written as a script would write them.
func TestFilterText(t *testing.T) {
	rt, err := engine.New(engine.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	for _, c := range []struct {
		kind  iface.Kind
		by    []filter.Filter
		dims  []int
		whole string
		text  string
	}{
		{iface.Vector, []filter.Filter{filter.Halves()}, []int{5}, "blocks(3)", "blocks(5)"},
		{iface.Matrix, []filter.Filter{filter.Tiles(2, 3, 0), filter.Rows(2, 0)}, []int{4, 6, 8}, "rows(3)", "tiles(4, 6) then rows(8)"},
		{iface.Block, []filter.Filter{filter.Axis(1, 4, 1), filter.AxisSizes(2, []int{3, 5}, 0)}, []int{2, 8}, "axis(0, 3)", "axis(1, 2) then axis(2, 8)"},
	} {
		h, err := rt.Register(engine.DataSpec{Kind: c.kind, Elem: iface.F64, Dims: []int{8, 8, 8}[:c.kind.Rank()]})
		if err != nil {
			t.Fatal(err)
		}
		v, err := rt.Partition(h, c.by...)
		if err != nil {
			t.Fatal(err)
		}
		if s := filterFor(h, 3); s != c.whole {
			t.Errorf("whole: %s, want %s", s, c.whole)
		}
		if s := filter.Text(v.Filters, c.dims); s != c.text {
			t.Errorf("%s, want %s", s, c.text)
		}
	}
}
