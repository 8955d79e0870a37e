package elementary

// hasAVX2 is set if the processor and the system have AVX2 and fused multiply-adds.
var hasAVX2 = detectAVX2()

// HasAVX2 reports whether the processor and the system have AVX2 and fused multiply-adds.
func HasAVX2() bool { return hasAVX2 }

func cpuid(leaf, sub uint32) (a, b, c, d uint32)

func xgetbv() (a uint32)

func detectAVX2() bool {
	const fma, osxsave, avx, avx2 = 1 << 12, 1 << 27, 1 << 28, 1 << 5
	if most, _, _, _ := cpuid(0, 0); most < 7 {
		return false
	}
	_, _, c, _ := cpuid(1, 0)
	if c&fma == 0 || c&osxsave == 0 || c&avx == 0 || xgetbv()&6 != 6 {
		return false
	}
	_, b, _, _ := cpuid(7, 0)
	return b&avx2 != 0
}

// vectorsFor returns the vector loop of a function, or nil if the processor cannot run it.
func vectorsFor(name string) vectorLoop {
	if !hasAVX2 {
		return nil
	}
	return avx2[name]
}
