package datamgr

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/accel"
)

// TestInPieces: the pieces are small enough, and together what the whole is.
func TestInPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		c := accel.Copy{Bytes: 1 + rng.Int64N(20), Count: [accel.MaxCounts]int64{1, 1, 1, 1}}
		ds, ss := c.Bytes, c.Bytes
		for k := range c.Count {
			c.Count[k] = 1 + rng.Int64N(4)
			c.DstStep[k], c.SrcStep[k] = ds+rng.Int64N(3), ss+rng.Int64N(3)
			ds, ss = c.DstStep[k]*c.Count[k], c.SrcStep[k]*c.Count[k]
		}
		src, want, got := make([]byte, ss), make([]byte, ds), make([]byte, ds)
		for i := range src {
			src[i] = byte(1 + rng.IntN(255))
		}
		c.Src.Ptr, c.Dst.Ptr = unsafe.Pointer(&src[0]), unsafe.Pointer(&want[0])
		accel.CopyHost(&c)
		c.Dst.Ptr = unsafe.Pointer(&got[0])
		limit, sum := 1+rng.Int64N(c.Total()+3), int64(0)
		err := inPieces(c, limit, func(p accel.Copy) error {
			if p.Total() > limit || p.Total() == 0 {
				t.Fatalf("a piece of %d bytes, of %d at most", p.Total(), limit)
			}
			sum += p.Total()
			accel.CopyHost(&p)
			return nil
		})
		if err != nil || sum != c.Total() || string(got) != string(want) {
			t.Fatalf("%v rows of %d bytes in pieces of %d: %d of %d bytes, %v", c.Count, c.Bytes, limit, sum, c.Total(), err)
		}
	}
}
