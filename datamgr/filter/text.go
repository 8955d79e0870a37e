package filter

import (
	"fmt"
	"strings"
)

// Text writes filters that are applied in turn as scripts do, with these numbers of
// parts: "rows(4) then cols(2)". Halos and sizes are left out.
func Text(fs []Filter, dims []int) string {
	var each []string
	for k, f := range fs {
		n := 1
		if k == len(fs)-1 {
			n = len(dims)
		} else if f.Name() == "tiles" {
			n = 2
		}
		n = min(n, len(dims))
		name := f.Name()
		if name == "halves" && (n == 0 || dims[0] != 2) {
			name = "blocks"
		}
		args := strings.Trim(strings.ReplaceAll(fmt.Sprint(dims[:n]), " ", ", "), "[]")
		if s, ok := f.(*slabs); ok && name == "axis" {
			args = fmt.Sprintf("%d, %s", s.axis, args)
		}
		each = append(each, name+"("+args+")")
		dims = dims[n:]
	}
	return strings.Join(each, " then ")
}
