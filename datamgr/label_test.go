package datamgr

import (
	"slices"
	"sync"
	"testing"

	"github.com/starpush/starpush/datamgr/filter"
)

func TestLabels(t *testing.T) {
	g := registry()
	h := register(t, g, 4)
	v, err := g.Partition(h, ViewOptions{}, filter.Blocks(2))
	if err != nil {
		t.Fatal(err)
	}
	p := v.Parts[0]
	if h.UserData() != nil || h.Coordinates() != nil || h.Name() != "" {
		t.Error("a new handle has labels")
	}
	at := []int{1, 2}
	h.SetCoordinates(at...)
	at[0] = 7
	h.Coordinates()[0] = 9
	if got := h.Coordinates(); !slices.Equal(got, []int{1, 2}) {
		t.Error(got)
	}
	h.SetUserData("first")
	h.SetUserData(nil)
	if h.UserData() != nil {
		t.Error(h.UserData())
	}
	h.SetUserData(at)
	h.SetName("h")
	if p.UserData() != nil || p.Coordinates() != nil || p.Name() != "" {
		t.Error("a part has the labels of the whole")
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			h.SetUserData(i)
			h.SetCoordinates(i)
			h.SetName("x")
			if _, ok := h.UserData().(int); !ok || len(h.Coordinates()) != 1 {
				t.Error("labels of two writers are mixed up")
			}
		})
	}
	all.Wait()
}
