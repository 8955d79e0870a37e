package interp

import (
	"fmt"
	"math"
	"testing"
)

// Indices in one closure have the value, and the overflow, of their operators.
func TestAffine(t *testing.T) {
	for _, v := range []int64{0, 1, -1, 7, affineBound - 1, affineBound, -affineBound, math.MaxInt64 / 5, math.MinInt64 / 5} {
		src := fmt.Sprintf("let i = %d\nlet a = 3 * i\nlet b = i * 5 + 2\nlet c = i * 1 + 1073741824\n"+
			"assert a == i + i + i\nassert b == i + i + i + i + i + 2\nassert c == i + 1073741824\n", v)
		runOnce(t, src)
	}
}
