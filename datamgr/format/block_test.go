package format

import (
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/datamgr/iface"
)

// block makes a block over x whose rows lie ldy and whose planes lie ldx elements
// apart.
func block[T iface.Go](x []T, e iface.Elem, nx, ny, nz, ldx, ldy int) *iface.Buffer {
	return &iface.Buffer{Desc: iface.Desc{Kind: iface.Block, Elem: e, Rank: 3, Dim: [iface.MaxRank]int{nx, ny, nz}},
		Ptr: unsafe.Pointer(unsafe.SliceData(x)), Stride: [iface.MaxRank]int{ldx, ldy, 1}}
}

func count(n int) []int32 {
	x := make([]int32, n)
	for i := range x {
		x[i] = int32(i)
	}
	return x
}

// TestBlockRoundTrip: what is saved from a block with gaps is loaded into one with
// others.
func TestBlockRoundTrip(t *testing.T) {
	from := slices.Repeat([]int32{-1}, 100)
	for i := range int32(24) {
		from[i/12*40+i%12/4*7+i%4] = i
	}
	for _, name := range []string{"x.npy", "x.npz:a", "x.bin"} {
		fsys := newFS()
		if err := Save(fsys, name, block(from, iface.I32, 2, 3, 4, 40, 7)); err != nil {
			t.Fatal(err)
		}
		in, err := Open(fsys, name, Want{Kind: iface.Block, Elem: iface.I32, Dims: []int{2, 3, 4}})
		if err != nil {
			t.Fatal(err)
		}
		to := slices.Repeat([]int32{-1}, 100)
		if err := in.Fill(block(to, iface.I32, 2, 3, 4, 50, 5)); err != nil {
			t.Fatal(err)
		}
		for i, v := range to {
			want := int32(-1)
			if x, y, z := i/50, i%50/5, i%50%5; y < 3 && z < 4 {
				want = int32(x*12 + y*4 + z)
			}
			if v != want {
				t.Errorf("%s: place %d is %d, want %d", name, i, v, want)
			}
		}
	}
}

// TestTensorFiles: tensors are saved and loaded like blocks.
func TestTensorFiles(t *testing.T) {
	tensor := func(x []int32, ld0, ld1, ld2 int) *iface.Buffer {
		return &iface.Buffer{Desc: iface.Desc{Kind: iface.Tensor, Elem: iface.I32, Rank: 4, Dim: [iface.MaxRank]int{2, 3, 2, 2}},
			Ptr: unsafe.Pointer(unsafe.SliceData(x)), Stride: [iface.MaxRank]int{ld0, ld1, ld2, 1}}
	}
	from := slices.Repeat([]int32{-1}, 60)
	other := make([]int32, 24)
	for n := range int32(24) {
		i, j, k, l := n/12, n/4%3, n/2%2, n%2
		from[i*30+j*8+k*3+l] = n
		other[i+2*j+6*k+12*l] = n
	}
	fsys := newFS("fortran.npy", npyFile("<i4", "True", "(2, 3, 2, 2)", other, false))
	for _, name := range []string{"x.npy", "x.bin", "fortran.npy"} {
		if name != "fortran.npy" {
			if err := Save(fsys, name, tensor(from, 30, 8, 3)); err != nil {
				t.Fatal(err)
			}
		}
		in, err := Open(fsys, name, Want{Kind: iface.Tensor, Elem: iface.I32, Dims: []int{2, 3, 2, 2}})
		if err != nil {
			t.Fatal(err)
		}
		to := make([]int32, 24)
		if err := in.Fill(tensor(to, 12, 4, 2)); err != nil || !slices.Equal(to, count(24)) {
			t.Errorf("%s: %v %v", name, to, err)
		}
	}
	refused(t, fsys, "x.npy", iface.Block, iface.F64, nil, "x.npy, byte 10: expected block[f64], found size 2 x 3 x 2 x 2")
	refused(t, fsys, "x.npy", iface.Tensor, iface.F64, []int{2, 3, 2, 3}, "x.npy, byte 10: expected tensor[f64] 2 x 3 x 2 x 3, found size 2 x 3 x 2 x 2")
	if err := Save(fsys, "x.png", tensor(from, 30, 8, 3)); err == nil || !strings.Contains(err.Error(), "a tensor is no image") {
		t.Error(err)
	}
	err := Save(fsys, "x.csv", tensor(from, 30, 8, 3))
	if want := "x.csv: a `.csv` file holds no tensor; a tensor is saved in `.npy`, `.npz` or `.bin`"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestBlockNpy: sizes come from the file, and elements that it has in the other
// order find their places.
func TestBlockNpy(t *testing.T) {
	other := make([]int32, 24)
	for i := range int32(24) {
		x, y, z := i/12, i%12/4, i%4
		other[x+2*y+6*z] = i
	}
	fsys := newFS(
		"c.npy", npyFile("<i4", "False", "(2, 3, 4)", count(24), false),
		"fortran.npy", npyFile("<i4", "True", "(2, 3, 4)", other, false),
		"flat.npy", npyFile("<i4", "False", "(4, 6)", count(24), false),
		"four.npy", npyFile("<i4", "False", "(1, 1, 4, 6)", count(24), false),
	)
	for _, name := range []string{"c.npy", "fortran.npy"} {
		in, err := Open(fsys, name, Want{Kind: iface.Block, Elem: iface.I32})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(in.Dims, []int{2, 3, 4}) {
			t.Errorf("%s has sizes %v", name, in.Dims)
		}
		x := make([]int32, 24)
		if err := in.Fill(block(x, iface.I32, 2, 3, 4, 12, 4)); err != nil || !slices.Equal(x, count(24)) {
			t.Errorf("%s: %v %v", name, x, err)
		}
	}
	refused(t, fsys, "flat.npy", iface.Block, iface.F64, nil, "flat.npy, byte 10: expected block[f64], found size 4 x 6")
	refused(t, fsys, "four.npy", iface.Block, iface.F64, nil, "four.npy, byte 10: expected block[f64], found size 1 x 1 x 4 x 6")
	refused(t, fsys, "c.npy", iface.Block, iface.F64, []int{2, 3, 5}, "c.npy, byte 10: expected block[f64] 2 x 3 x 5, found size 2 x 3 x 4")
	refused(t, fsys, "c.npy", iface.Matrix, iface.F64, nil, "c.npy, byte 10: expected matrix[f64], found size 2 x 3 x 4")
	for _, name := range []string{"x.csv", "x.mtx"} {
		err := Save(fsys, name, block(count(24), iface.I32, 2, 3, 4, 12, 4))
		want := name + ": a `" + name[1:] + "` file holds no block; a block is saved in `.npy`, `.npz` or `.bin`"
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
