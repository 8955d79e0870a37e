package cluster

import (
	"github.com/starpush/starpush/datamgr/iface"
)

// resize gives data with a capacity other sizes, which follow from s and those that it has, by set, which fails for all other data and for parts. Elements that it keeps have
// their values, and others are 0.
func resize(b *iface.Buffer, room iface.Desc, s int64, set func(dims []int) error) {
	var dims []int
	for k, n := range room.Shape() {
		dims = append(dims, int((uint64(s)>>(8*k)+uint64(b.Dim[k]))%uint64(1+n)))
	}
	old := map[int]int64{}
	each(b, func(at int, x *int64) { old[at] = *x })
	if set(dims) == nil {
		each(b, func(at int, x *int64) { *x = old[at] })
	}
}
