package engine

// What verification fills operands with, and what it can conclude from meeting
// that again.

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/starpush/starpush/datamgr/iface"
)

// mix is the finaliser of splitmix64 (Steele, Lea, Flood: Fast Splittable
// Pseudorandom Number Generators, OOPSLA 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// pattern sets want to the pattern of a round. The patterns of rounds 0 and 1
// differ in every element, so no value equals both. They are made to show in
// whatever is computed from them: NaN, then large numbers of either sign;
// integers that are random, then the complement, then 0. Elements have a pattern
// of their own, but where results are searched for it (see telling) all have
// the same.
func (o *watched) pattern(seed uint64, round int, each bool) {
	each = each || !telling(o.buf.Elem)
	if o.buf.Elem.IsFloat() {
		seed = mix(seed + uint64(round))
	}
	for k := range len(o.want) / o.size {
		r := seed
		if each {
			r = mix(seed + uint64(k))
		}
		e := o.at(o.want, k)
		switch {
		case o.buf.Elem == iface.F64:
			binary.NativeEndian.PutUint64(e, pattern64[round]|r&(1<<51-1))
		case o.buf.Elem == iface.F32:
			binary.NativeEndian.PutUint32(e, pattern32[round]|uint32(r)&(1<<22-1))
		default:
			for i := range e {
				e[i] = byte(mix(r+uint64(i/8))>>(8*(i%8)))&patternAnd[round] ^ patternXor[round]
			}
		}
	}
}

// A quiet NaN, about 1e308, about -1e308, and the same for 32 bits.
var (
	pattern64  = [rounds]uint64{0x7ff8 << 48, 0x7fe8 << 48, 0xffe8 << 48}
	pattern32  = [rounds]uint32{0x7fc00000, 0x7f400000, 0xff400000}
	patternAnd = [rounds]byte{0xff, 0xff, 0}
	patternXor = [rounds]byte{0, 0xff, 0}
)

// limit is the number of bits of evidence that exclude chance.
const limit = 40

// telling reports whether an element that holds a pattern was not written by
// chance: a NaN with a random payload, or 64 random bits.
func telling(e iface.Elem) bool { return e == iface.F32 || e.Size() >= 8 }

// chance reports whether a kernel that wrote every element may have written the
// pattern where kept says so. Patterns are random and secret, so an element of
// the given bits is hit with probability p = 2^-bits whatever is written. Two
// events are held against that: a run of hits (n·p^m), and their number, whose
// probability is at most 2^(-n·D(k/n, p)), D being the Kullback-Leibler
// divergence (Chernoff). Below 2^-40 it was not chance.
func chance(kept []bool, bits int) bool {
	n, hits, run, longest := len(kept), 0, 0, 0
	for _, k := range kept {
		run++
		if !k {
			run = 0
			continue
		}
		hits++
		longest = max(longest, run)
	}
	if hits == 0 {
		return true
	}
	if float64(bits*longest)-math.Log2(float64(n)) >= limit {
		return false
	}
	p, q := math.Exp2(-float64(bits)), float64(hits)/float64(n)
	if q <= p {
		return true
	}
	d := q * math.Log2(q/p)
	if q < 1 {
		d += (1 - q) * math.Log2((1-q)/(1-p))
	}
	return float64(n)*d < limit
}

// suspectKey names an operand of the tasks of one codelet.
type suspectKey struct {
	codelet *Codelet
	operand int
	dims    [iface.MaxRank]int
}

// suspicion is what several tasks have in common, each of which chance explains.
type suspicion struct {
	elems []int // that held the pattern in every one of them
	bits  int   // of all patterns together
}

// suspectLocked adds the evidence of one task against operand o, and leaves in
// o.kept what chance does not explain any more. An element that no task writes
// holds every task's pattern; any other one is soon found innocent.
func (v *verifier) suspectLocked(key suspectKey, o *watched) {
	s := v.mu.suspects[key]
	if s == nil {
		if len(v.mu.suspects) >= 4096 { // programs have few kernels
			clear(v.mu.suspects)
		}
		s = &suspicion{}
		for k, kept := range o.kept {
			if kept {
				s.elems = append(s.elems, k)
			}
		}
		v.mu.suspects[key] = s
	} else {
		s.elems = slices.DeleteFunc(s.elems, func(k int) bool { return !o.kept[k] })
	}
	s.bits += 8 * o.size
	clear(o.kept)
	switch {
	case len(s.elems) == 0:
		delete(v.mu.suspects, key)
	case float64(s.bits)-math.Log2(float64(len(o.kept))) >= limit:
		for _, k := range s.elems {
			o.kept[k] = true
		}
	}
}
