package stdlib

// Philox4x32-10: a function from a counter and a key to 128 random bits.

import "math/bits"

// philox returns four words for a counter and a key.
func philox(c [4]uint32, key [2]uint32) [4]uint32 {
	const (
		m0, m1 = 0xD2511F53, 0xCD9E8D57 // multipliers
		w0, w1 = 0x9E3779B9, 0xBB67AE85 // what the key grows by: golden ratio, sqrt(3)-1
	)
	k0, k1 := key[0], key[1]
	c0, c1, c2, c3 := c[0], c[1], c[2], c[3]
	for range 10 {
		h0, l0 := bits.Mul32(m0, c0)
		h1, l1 := bits.Mul32(m1, c2)
		c0, c1, c2, c3 = h1^c1^k0, l1, h0^c3^k1, l0
		k0 += w0
		k1 += w1
	}
	return [4]uint32{c0, c1, c2, c3}
}

// stream is a sequence of random 128-bit blocks.
type stream struct {
	key  [2]uint32
	kind uint32 // third word of the counter
}

const (
	uniformStream = 0
	normalStream  = 1
)

func newStream(seed int64, kind uint32) stream {
	return stream{[2]uint32{uint32(seed), uint32(uint64(seed) >> 32)}, kind}
}

// block returns the two halves of block b.
func (s *stream) block(b uint64) (first, second uint64) {
	w := philox([4]uint32{uint32(b), uint32(b >> 32), s.kind, 0}, s.key)
	return uint64(w[0]) | uint64(w[1])<<32, uint64(w[2]) | uint64(w[3])<<32
}
