package stdlib

import (
	"fmt"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
)

// randomTensor makes data with these sizes, in memory with gaps between neighbours along some indices. at is the place
// of each element in mem, the last index fastest.
func randomTensor[T iface.Go](r *rand.Rand, dims []int, value func() T) (b *iface.Buffer, mem []T, at []int) {
	b = &iface.Buffer{Desc: iface.Desc{Kind: iface.KindOf(len(dims)), Elem: iface.ElemOf[T](), Rank: int8(len(dims))}}
	size := 1
	for k := len(dims) - 1; k >= 0; k-- {
		b.Dim[k], b.Stride[k] = dims[k], size
		size *= dims[k]
		if r.IntN(3) == 0 {
			size += r.IntN(3)
		}
	}
	mem = make([]T, max(1, size))
	for i := range mem {
		mem[i] = value()
	}
	b.Ptr = ptr(mem)
	at = []int{0}
	for k, n := range dims {
		var next []int
		for _, p := range at {
			for i := range n {
				next = append(next, p+i*b.Stride[k])
			}
		}
		at = next
	}
	return b, mem, at
}

// contractions compares random specifications with a loop over all indices.
func contractions[T blasNumber](t *testing.T, value func(r *rand.Rand) T, scalarOf func(T) iface.Scalar) {
	t.Helper()
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 7))
		letters := []rune("ijklmnABCD")
		r.Shuffle(len(letters), func(i, k int) { letters[i], letters[k] = letters[k], letters[i] })
		sizes := map[rune]int{}
		for _, l := range letters {
			sizes[l] = 1 + r.IntN(3)
			if r.IntN(60) == 0 {
				sizes[l] = 0
			}
		}
		some := func(most int) (out []rune) {
			for range r.IntN(most + 1) {
				out = append(out, letters[r.IntN(4)]) // also twice
			}
			return out
		}
		in := [3][]rune{some(4), some(4), nil}
		if r.IntN(6) == 0 {
			in[0] = slices.Clone(letters[:5+r.IntN(4)])
			in[1] = slices.Clone(letters[:r.IntN(3)])
		}
		for _, l := range letters {
			if (slices.Contains(in[0], l) || slices.Contains(in[1], l)) && r.IntN(2) == 0 && len(in[2]) < iface.MaxRank {
				in[2] = append(in[2], l)
			}
		}
		r.Shuffle(len(in[2]), func(i, k int) { in[2][i], in[2][k] = in[2][k], in[2][i] })
		spec := fmt.Sprintf("%s,%s->%s", string(in[0]), string(in[1]), string(in[2]))
		var bs [3]*iface.Buffer
		var mem [3][]T
		var at [3][]int
		for k := range in {
			var dims []int
			for _, l := range in[k] {
				dims = append(dims, sizes[l])
			}
			bs[k], mem[k], at[k] = randomTensor(r, dims, func() T { return value(r) })
		}
		alpha, beta := value(r), value(r)
		if r.IntN(3) == 0 {
			beta = 0
		}
		want := slices.Clone(mem[2])
		for _, p := range at[2] {
			want[p] *= beta
		}
		var all []rune
		for _, l := range letters {
			if slices.Contains(in[0], l) || slices.Contains(in[1], l) {
				all = append(all, l)
			}
		}
		index := map[rune]int{}
		place := func(k int) int {
			n := 0
			for _, l := range in[k] {
				n = n*sizes[l] + index[l]
			}
			return at[k][n]
		}
		var walk func(i int)
		walk = func(i int) {
			if i == len(all) {
				want[place(2)] += alpha * mem[0][place(0)] * mem[1][place(1)]
				return
			}
			for index[all[i]] = range sizes[all[i]] {
				walk(i + 1)
			}
		}
		walk(0)
		must(t, "std/blas", "contract", bufs(bs[:]...), str(spec), scalarOf(alpha), scalarOf(beta))
		if !slices.Equal(mem[2], want) { // of small whole numbers, which all sums have exactly
			t.Fatalf("seed %d: %s of %v, %v and %v, alpha %v, beta %v:\ngot  %v\nwant %v", seed, spec, &bs[0].Desc, &bs[1].Desc, &bs[2].Desc, alpha, beta, mem[2], want)
		}
	}
}

func TestContract(t *testing.T) {
	small := func(r *rand.Rand) float64 { return float64(r.IntN(7) - 3) }
	contractions(t, small, num)
	contractions(t, func(r *rand.Rand) float32 { return float32(small(r)) }, func(v float32) iface.Scalar { return num(float64(v)) })
	pair := func(r *rand.Rand) complex128 { return complex(small(r), small(r)) }
	contractions(t, pair, iface.Complex)
	contractions(t, func(r *rand.Rand) complex64 { return complex64(pair(r)) }, func(v complex64) iface.Scalar { return iface.Complex(complex128(v)) })

	// A beta of 0 does not read C.
	nan := cmplx.NaN()
	c := []complex128{nan, nan}
	must(t, "std/blas", "contract", bufs(vec([]complex128{1, 2}), variable(new(complex128)), vec(c)), str("i,->i"), num(1), num(0))
	expect(t, "beta = 0", c, []complex128{0, 0})
}

func TestContractErrors(t *testing.T) {
	m := func(rows, cols int) *iface.Buffer { return dense(rows, cols, cols, make([]float64, max(1, rows*cols))) }
	v := func(n int) *iface.Buffer { return vec(make([]float64, n)) }
	for _, c := range []struct {
		spec      string
		bufs      []*iface.Buffer
		arg, text string
		ops       []int
		help      string
	}{
		{"ij,jk", bufs(m(2, 3), m(3, 4), m(2, 4)), "spec", "`spec` of `contract` is \"ij,jk\", and lacks `->` and the indices of C", nil, "ijk,kl->ijl"},
		{"ij->i", bufs(m(2, 3), m(3, 4), m(2, 4)), "spec", "has the indices of 1 operands before `->`", nil, "ijk,kl->ijl"},
		{"ij,jk,kl->il", bufs(m(2, 3), m(3, 4), m(2, 4)), "spec", "has the indices of 3 operands before `->`", nil, "ijk,kl->ijl"},
		{"ij,j1->i1", bufs(m(2, 3), m(3, 4), m(2, 4)), "spec", "has '1' among the indices of B; an index is a letter", nil, "ijk,kl->ijl"},
		{"ij,jk->il", bufs(m(2, 3), m(3, 4), m(2, 4)), "spec", "gives C the index 'l', which neither A nor B has", nil, "ijk,kl->ijl"},
		{"ij,jk->ii", bufs(m(2, 3), m(3, 4), m(2, 2)), "spec", "gives C the index 'i' twice", nil, "ijk,kl->ijl"},
		{"ijk,jk->i", bufs(m(2, 3), m(3, 4), v(2)), "spec", "`A` of `contract` has 2 indices, and `spec` gives it 3 indices: \"ijk\"", []int{0}, "ijk,kl->ijl"},
		{"ij,jk->i", bufs(m(2, 3), m(3, 4), m(2, 4)), "spec", "`C` of `contract` has 2 indices, and `spec` gives it 1 index: \"i\"", []int{2}, "ijk,kl->ijl"},
		{"ij,jk->ik", bufs(m(2, 3), m(4, 4), m(2, 4)), "", "the sizes of index 'j' of `contract` differ: 3 in `A` and 4 in `B`", []int{0, 1}, "one size"},
		{"ij,jk->ik", bufs(m(2, 3), m(3, 4), m(2, 5)), "", "the sizes of index 'k' of `contract` differ: 4 in `B` and 5 in `C`", []int{1, 2}, "one size"},
		{"ii,jk->k", bufs(m(2, 3), m(3, 4), v(4)), "", "the sizes of index 'i' of `contract` differ: 2 in `A` and 3 in `A`", []int{0}, "one size"},
	} {
		e := shapeError(t, "std/blas", "contract", c.bufs, str(c.spec), num(1), num(1))
		if !strings.Contains(e.Message, c.text) || e.Arg != c.arg || !slices.Equal(e.Operands, c.ops) || !strings.Contains(e.Help, c.help) || len(e.Details) != len(e.Operands) {
			t.Errorf("%s: %+v", c.spec, e)
		}
	}
}
