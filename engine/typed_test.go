package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// TestTypedData makes data of each kind, in memory of the program and of the runtime.
func TestTypedData(t *testing.T) {
	ctx := context.Background()
	onTyped(t, func(t *testing.T, rt *Runtime, j *Job) {
		s := []int16{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}
		value := 2.5
		check := func(what string, h *datamgr.Handle, desc string, got, want any) {
			t.Helper()
			if d := h.Desc(); d.String() != desc || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: %v, %v; want %s, %v", what, &d, got, desc, want)
			}
		}
		x := got(NewVector(rt, s[:4], Name("vec")))(t)
		check("vector", x.Handle, "vector[i16] of 4", got(x.Value(ctx, j))(t), []int16{0, 1, 2, 3})
		if x.Name() != "vec" {
			t.Errorf("its name is %q", x.Name())
		}
		m := got(NewMatrix(rt, s[4:], 2, 3))(t)
		check("matrix", m.Handle, "matrix[i16] 2 x 3", got(m.Value(ctx, j))(t), Mat[int16]{2, 3, []int16{4, 5, 6, 7, 8, 9}, 3})
		wide := got(NewMatrix(rt, slices.Clone(s), 3, 2, Stride(7)))(t)
		check("matrix with a stride", wide.Handle, "matrix[i16] 3 x 2", got(wide.Value(ctx, j))(t), Mat[int16]{3, 2, []int16{0, 1, 7, 8, 14, 15}, 2})
		b := got(NewBlock(rt, slices.Clone(s), 2, 2, 2, Stride(10, 3)))(t)
		check("block with strides", b.Handle, "block[i16] 2 x 2 x 2", got(b.Value(ctx, j))(t), []int16{0, 1, 3, 4, 10, 11, 13, 14})
		h := got(NewTensor(rt, slices.Clone(s), [4]int{2, 1, 2, 2}, Stride(8, 8, 3)))(t)
		check("tensor with strides", h.Handle, "tensor[i16] 2 x 1 x 2 x 2", got(h.Value(ctx, j))(t), []int16{0, 1, 3, 4, 8, 9, 11, 12})
		cubes := got(h.Slices(filter.Pick(3)))(t)
		check("slice of a tensor", cubes.Parts[1].Handle, "block[i16] 2 x 1 x 2", got(cubes.Parts[1].Value(ctx, j))(t), []int16{1, 4, 9, 12})
		slabs := got(h.Partition(filter.TilesN([]int{2, 1, 2, 1}, 0)))(t)
		a := got(slabs.At(1, 0, 1, 0).Acquire(ctx, j, iface.RW))(t)
		a.Data().Line(0, 0, 0)[1] = 120
		must(t, a.Release())
		check("part of a tensor", slabs.At(1, 0, 1, 0).Handle, "tensor[i16] 1 x 1 x 1 x 2", got(h.Value(ctx, j))(t), []int16{0, 1, 3, 4, 8, 9, 11, 120})
		six := got(NewTensorN(rt, slices.Clone(s), []int{1, 2, 1, 2, 1, 2}, Stride(8, 4, 4, 2, 2)))(t)
		five := got(six.Slices(filter.Pick(0)))(t).Parts[0]
		check("slice of a tensor with six indices", five.Handle, "tensor[i16, 5] 2 x 1 x 2 x 1 x 2", got(five.Value(ctx, j))(t), []int16{0, 1, 2, 3, 4, 5, 6, 7})
		check("part of it", got(five.Partition(filter.Axis(4, 2, 0)))(t).Parts[1].Handle, "tensor[i16, 5] 2 x 1 x 2 x 1 x 1", got(six.Value(ctx, j))(t), []int16{0, 1, 2, 3, 4, 5, 6, 7})
		four := got(five.Slices(filter.Pick(1)))(t).Parts[0]
		if t4 := got(As[Tensor[int16]](four.Handle))(t); t4.Dims() != [4]int{2, 2, 1, 2} || !slices.Equal(four.Dims(), []int{2, 2, 1, 2}) || (TensorN[int8]{}).Dims() != nil {
			t.Error("dims")
		}
		held := got(six.Acquire(ctx, j, iface.R))(t)
		if x := held.Data().Line(0, 1, 0, 1, 0); !slices.Equal(x, []int16{6, 7}) {
			t.Errorf("a line has %v", x)
		}
		must(t, held.Release())
		if h.Dims() != [4]int{2, 1, 2, 2} || (Tensor[int8]{}).Dims() != [4]int{} {
			t.Error(h.Dims())
		}
		v := got(NewVariable(rt, &value, ReadOnly()))(t)
		check("variable", v.Handle, "variable[f64]", got(v.Value(ctx, j))(t), 2.5)
		u := got(MakeVector[uint64](rt, 3, Fill(uint64(math.MaxUint64))))(t)
		check("filled vector", u.Handle, "vector[u64] of 3", got(u.Value(ctx, j))(t), slices.Repeat([]uint64{math.MaxUint64}, 3))
		f := got(MakeMatrix[float32](rt, 2, 2, Fill(3)))(t)
		check("filled matrix", f.Handle, "matrix[f32] 2 x 2", got(f.Value(ctx, j))(t), Mat[float32]{2, 2, []float32{3, 3, 3, 3}, 2})
		z := got(MakeTensor[int8](rt, [4]int{1, 1, 2, 2}, Fill(-1)))(t)
		check("filled tensor", z.Handle, "tensor[i8] 1 x 1 x 2 x 2", got(z.Value(ctx, j))(t), []int8{-1, -1, -1, -1})
		k := got(MakeBlock[celsius](rt, 1, 2, 2, Fill(celsius(-1.5))))(t)
		check("filled block", k.Handle, "block[f64] 1 x 2 x 2", got(k.Value(ctx, j))(t), []celsius{-1.5, -1.5, -1.5, -1.5})
		none := got(NewVector[float64](rt, nil))(t)
		check("nothing", none.Handle, "vector[f64] of 0", got(none.Value(ctx, j))(t), []float64{})
		must(t, j.Run(ctx, func(x []float64) error {
			if len(x) > 0 {
				return errors.New("it has elements")
			}
			return nil
		}, RW(none)))
		if rows, cols := wide.Dims(); rows != 3 || cols != 2 || x.Len() != 4 {
			t.Error(rows, cols, x.Len())
		}
		if nx, ny, nz := k.Dims(); nx != 1 || ny != 2 || nz != 2 {
			t.Error(nx, ny, nz)
		}
		flat := got(MakeMatrix[float64](rt, 3, 0))(t)
		must(t, j.Run(ctx, func(m Mat[float64]) error {
			if m.Rows != 3 || m.Cols != 0 || m.Stride != 1 || len(m.Row(2)) > 0 {
				return fmt.Errorf("%+v", m)
			}
			return nil
		}, R(flat)))
	})
}

// TestTypedMistakes: what is wrong with new data, views and accesses is an error.
func TestTypedMistakes(t *testing.T) {
	ctx := context.Background()
	rt, j := start(t, Options{Workers: 1})
	x := got(NewVector(rt, []float64{1, 2, 3, 4}, Name("x")))(t)
	m := got(MakeMatrix[float32](rt, 2, 4, Fill(1), Name("m")))(t)
	lazy := got(MakeVector[float64](rt, 4))(t)
	err := func(_ any, err error) error { return err }
	for _, c := range []struct {
		err  error
		want string
	}{
		{err(NewVector[float64](nil, nil)), "the runtime is nil"},
		{err(MakeVector[float64](rt, -1)), "engine: MakeVector[float64]: datamgr: size -1 of vector is negative"},
		{err(MakeVector[float64](rt, 1<<(bits.UintSize-3))), "more bytes than can be addressed"},
		{err(NewMatrix(rt, make([]float64, 11), 3, 4)), "the slice has 11 elements, and 12 are needed for sizes [3 4]"},
		{err(NewMatrix(rt, make([]float64, 12), 3, -4)), "is negative"},
		{err(NewMatrix(rt, make([]float64, 12), 3, 4, Stride(5))), "and 14 are needed for sizes [3 4] with Stride [5]"},
		{err(NewMatrix(rt, make([]float64, 12), 3, 4, Stride(3))), "cannot lie 3 elements apart"},
		{err(NewVector(rt, make([]float64, 12), Stride(3))), "the slice has 12 elements, and 34 are needed"},
		{err(NewVector(rt, make([]float64, 1), Stride(0))), "neighbours of a vector cannot lie 0 elements apart"},
		{err(MakeVector[float64](rt, 4, Stride(3))), "Stride is for memory of the program"},
		{err(NewMatrix(rt, make([]float64, 12), 3, 4, Stride(4, 1, 1))), "1 distances"},
		{err(NewMatrix(rt, make([]float64, 12), 1<<(bits.UintSize-24), 1<<(bits.UintSize-24))), "more bytes than can be addressed"},
		{err(NewBlock(rt, make([]float64, 7), 2, 2, 2)), "7 elements, and 8 are needed"},
		{err(NewBlock(rt, make([]float64, 8), 2, 2, 2, Stride(5, 2))), "8 elements, and 9 are needed"},
		{err(NewTensor(rt, make([]float64, 15), [4]int{2, 2, 2, 2})), "15 elements, and 16 are needed"},
		{err(NewTensor(rt, make([]float64, 16), [4]int{2, 2, 2, 2}, Stride(7, 4, 2))), "cannot lie 7 elements apart"},
		{err(NewTensorN(rt, make([]float64, 8), []int{2, 2, 2})), "3 sizes, and a tensor has 4 to 8"},
		{err(MakeTensorN[float64](rt, make([]int, 9))), "9 sizes, and a tensor has 4 to 8"},
		{err(MakeTensorN[float64](rt, []int{1, 1, 1, 1, 1 << 31})), "size 2147483648 of data with 5 indices; with more than 4 indices a size can be up to 2147483647"},
		{err(TensorN[float32]{Handle: m.Handle}.Acquire(ctx, j, iface.R)), "it is a Matrix[float32]"},
		{err(As[Tensor[float64]](got(MakeTensorN[float64](rt, []int{1, 1, 1, 1, 1}))(t).Handle)), "is no tensor[f64] with elements of type float64; it is a TensorN[float64]"},
		{err(Tensor[float32]{Handle: m.Handle}.Acquire(ctx, j, iface.R)), "it is a Matrix[float32]"},
		{err(NewVector(rt, make([]float64, 8), Stride(2, 1))), "a vector has no distance between rows"},
		{err(NewVariable(rt, new(float64), Stride(2))), "a variable has no distance between rows"},
		{err(MakeMatrix[float64](rt, 2, 2, Stride(2))), "Stride is for memory of the program"},
		{err(NewVariable[float64](rt, nil)), "MakeVariable[float64] makes one"},
		{err(NewVector(rt, make([]float64, 8), Fill(1))), "Fill is for data of the runtime"},
		{err(MakeVector[int8](rt, 4, Fill(128))), "Fill: the integer 128 does not fit into int8 elements"},
		{err(MakeVector[int64](rt, 4, Fill(0.5))), "does not fit into int64"},
		{err(MakeVector[uint64](rt, 4, Fill(-1))), "does not fit into uint64"},
		{err(MakeVector[float64](rt, 4, Fill(uint64(math.MaxUint64)))), "does not fit into float64"},
		{err(MakeVector[float64](rt, 4, ReduceBy[float32]("r", 0, nil))), "ReduceBy combines float32, and the data has elements of type float64"},
		{err(MakeVector[float64](rt, 4, Reduce(&datamgr.Reduction{Name: "r"}))), "no function that initialises"},
		{err(As[Vector[float32]](x.Handle)), "`x` (vector[f64] of 4) is no vector[f32] with elements of type float32; it is a Vector[float64]"},
		{err(As[Matrix[float64]](x.Handle)), "it is a Vector[float64]"},
		{err(As[Variable[float64]](nil)), "the handle is nil"},
		{err(ViewOf[Vector[float64]](nil, nil)), "the view is nil"},
		{err(ViewOf[Vector[float64]](nil, ErrClosed)), "closed"},
		{err(x.Partition()), "a partition needs a filter"},
		{err(x.Partition(filter.Blocks(5))), "cannot make 5 parts of 4 elements"},
		{err(x.Partition(filter.Rows(2, 0))), "`rows` splits matrices"},
		{err(x.Partition(filter.Pick(0))), "the parts of `x` (vector[f64] of 4) are no engine.Vector[float64] but a Variable[float64]: Partition takes filters that keep the number of indices, Slices"},
		{err(m.Slices(filter.Rows(2, 0))), "but a Matrix[float32]"},
		{err(Vector[float64]{}.Partition(filter.Blocks(2))), "the handle is nil"},
		{err(Vector[float64]{Handle: m.Handle}.Partition(filter.Rows(2, 0))), "but a Matrix[float32]"},
		{err(Vector[float64]{}.Acquire(ctx, j, iface.R)), "the handle is nil"},
		{err(Vector[float64]{}.Value(ctx, j)), "the handle is nil"},
		{err(Vector[float64]{Handle: m.Handle}.Value(ctx, j)), "it is a Matrix[float32]"},
		{err(Matrix[float64]{Handle: m.Handle}.Acquire(ctx, j, iface.RW)), "it is a Matrix[float32]"},
		{err(Block[float32]{Handle: m.Handle}.Value(ctx, j)), "it is a Matrix[float32]"},
		{err(Variable[float64]{Handle: x.Handle}.Value(ctx, j)), "it is a Vector[float64]"},
		{err(x.Acquire(ctx, j, iface.Commute)), "use R, W or RW"},
		{err(x.Acquire(ctx, j, 0)), "use R, W or RW"},
		{err(lazy.Value(ctx, j)), "read before anything writes it"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%v, want %q", c.err, c.want)
		}
	}
	rows, cols := (Matrix[int8]{}).Dims()
	nx, ny, nz := (Block[int8]{}).Dims()
	if n := (Vector[int8]{}).Len() + rows + cols + nx + ny + nz; n != 0 {
		t.Errorf("nothing has %d elements", n)
	}
	if n := len(x.Views()) + len(m.Views()); n > 0 {
		t.Errorf("%d views are left of what failed", n)
	}
	if reflect.TypeFor[Vector[float64]]().ConvertibleTo(reflect.TypeFor[Vector[float32]]()) {
		t.Error("vectors of different elements convert")
	}
	if s := reflect.TypeFor[Vector[uint8]]().Size(); s != reflect.TypeFor[*datamgr.Handle]().Size() {
		t.Errorf("a handle takes %d bytes", s)
	}
	must(t, j.Unregister(x.Handle))
	var dead *DeadHandleError
	if _, err := x.Value(ctx, j); !errors.As(err, &dead) {
		t.Error(err)
	}
	if _, err := x.Partition(filter.Blocks(2)); !errors.As(err, &dead) {
		t.Error(err)
	}
}

// TestTypedViews: views of views, halos and slices, typed, used side by side.
func TestTypedViews(t *testing.T) {
	ctx := context.Background()
	onTyped(t, func(t *testing.T, rt *Runtime, j *Job) {
		const n = 6
		A := got(MakeMatrix[int32](rt, n, n, Fill(0)))(t)
		tiles := got(A.Partition(filter.Tiles(2, 3, 0)))(t)
		rows := got(A.Slices(filter.Pick(0)))(t)
		cols := got(A.Slices(filter.Pick(1)))(t)
		both := got(A.Partition(filter.Rows(2, 0), filter.Cols(3, 0)))(t) // as tiles
		halves := got(rows.At(3).Partition(filter.Halves()))(t)
		cell := got(halves.At(1).Slices(filter.Pick(0)))(t).At(2) // A[3, 5]
		bands := got(A.Partition(filter.Rows(2, 1)))(t)           // rows 0 to 3 and 2 to 5
		add := func(x []int32, by int32) {
			for i := range x {
				x[i] += by
			}
		}
		must(t, j.Go(add, RW(rows.At(3)), 1))
		must(t, j.Go(add, RW(cols.At(5)), 10))
		must(t, j.Go(add, RW(halves.At(0)), 100))
		must(t, j.Go(func(x *int32) { *x *= 2 }, RW(cell)))
		for i := range 2 {
			for k := range 3 {
				if !tiles.At(i, k).Same(both.At(i, k).Handle) {
					t.Errorf("tile %d, %d", i, k)
				}
				must(t, j.Go(func(m Mat[int32], by int32) {
					for i := range m.Rows {
						add(m.Row(i), by)
					}
				}, RW(tiles.At(i, k)), 1000*(3*i+k)))
			}
		}
		must(t, j.Go(func(m Buffer[int32]) {
			if m.Offset(0) == 2 {
				m.Row(3)[0] = int32(m.Offset(0))
			}
		}, RW(bands.At(1))))
		want := make([]int32, n*n)
		at := func(i, k int) *int32 { return &want[i*n+k] }
		for k := range n {
			*at(3, k)++
		}
		for i := range n {
			*at(i, 5) += 10
		}
		for k := range 3 {
			*at(3, k) += 100
		}
		*at(3, 5) *= 2
		for i := range n {
			for k := range n {
				*at(i, k) += int32(1000 * (3*(i/3) + k/2))
			}
		}
		*at(5, 0) = 2
		if v := got(A.Value(ctx, j))(t); !slices.Equal(v.Data, want) {
			t.Errorf("%v\nwant\n%v", v.Data, want)
		}
		if v := got(cols.At(5).Value(ctx, j))(t); !slices.Equal(v, []int32{*at(0, 5), *at(1, 5), *at(2, 5), *at(3, 5), *at(4, 5), *at(5, 5)}) {
			t.Errorf("the last column is %v", v)
		}
		col := got(cols.At(1).Acquire(ctx, j, iface.RW))(t) // not adjacent in memory
		for i := range col.Data() {
			col.Data()[i] = int32(i)
		}
		must(t, col.Release())
		if v := got(A.Value(ctx, j))(t); v.At(4, 1) != 4 || v.At(4, 0) == 0 {
			t.Errorf("%v", v)
		}
		for _, none := range []Matrix[int32]{tiles.At(), tiles.At(2, 0), tiles.At(0, -1), tiles.At(0, 0, 0), (View[Matrix[int32]]{}).At(0)} {
			if none.Handle != nil {
				t.Error("a part that does not exist")
			}
		}
		rt.EndView(tiles.View)
		if tiles.At(0, 0).Alive() || !both.At(0, 0).Alive() {
			t.Error("one view ends alone")
		}

		cube := got(MakeBlock[int32](rt, 4, 2, 3, Fill(0)))(t)
		slabs := got(cube.Partition(filter.Axis(0, 2, 0)))(t)
		planes := got(cube.Slices(filter.Pick(2)))(t)
		must(t, j.Go(func(b Buffer[int32]) {
			for x := range b.Shape()[0] {
				add(b.Line(x, 1), 7)
			}
		}, RW(slabs.At(1))))
		must(t, j.Go(func(m Mat[int32]) { m.Set(3, 1, m.At(3, 1)*10) }, RW(planes.At(2))))
		if v := got(cube.Value(ctx, j))(t); v[(3*2+1)*3+2] != 70 || v[(3*2+1)*3] != 7 || v[(1*2+1)*3] != 0 {
			t.Error(v)
		}
	})
}

// TestAcquired: what the program holds is typed memory until it is released.
func TestAcquired(t *testing.T) {
	ctx := context.Background()
	onTyped(t, func(t *testing.T, rt *Runtime, j *Job) {
		x := got(MakeVector[float64](rt, 4))(t)
		a := got(x.Acquire(ctx, j, iface.W))(t)
		copy(a.Data(), []float64{1, 2, 3})
		if a.Data()[3] != 0 || a.Mode() != iface.W || a.Handle() != x.Handle {
			t.Error(a.Data(), a.Mode())
		}
		must(t, a.ReleaseTo(iface.R))
		if a.Data()[2] != 3 {
			t.Error(a.Data())
		}
		must(t, a.Release())
		must(t, a.Release())
		if a.Data() != nil || (Acquired[*float64]{}).Data() != nil {
			t.Error("data that was released")
		}
		v := got(MakeVariable[int64](rt))(t)
		b := got(v.Acquire(ctx, j, iface.W))(t)
		*b.Data() = 41
		must(t, b.Release())
		m := got(MakeMatrix[float32](rt, 2, 2))(t)
		c := got(m.Acquire(ctx, j, iface.W))(t)
		c.Data().Set(1, 0, 5)
		must(t, c.Release())
		k := got(MakeBlock[int8](rt, 2, 2, 2))(t)
		d := got(k.Acquire(ctx, j, iface.W))(t)
		d.Data().Line(1, 0)[1] = 6
		must(t, d.Release())
		must(t, j.Go(func(v *int64, m Mat[float32], k Buffer[int8]) { *v += int64(m.At(1, 0)) + int64(k.Line(1, 0)[1]) }, RW(v), R(m), R(k)))
		if n := got(v.Value(ctx, j))(t); n != 52 {
			t.Error(n)
		}
	})
}

// TestReducers: contributions are combined by each reducer, and by functions of the
// program.
func TestReducers(t *testing.T) {
	ctx := context.Background()
	onTyped(t, func(t *testing.T, rt *Runtime, j *Job) {
		for _, c := range []struct {
			name string
			opt  DataOption
			want []int64
		}{
			{"sum", ReduceSum, []int64{10, -10}},
			{"prod", ReduceProd, []int64{24, 24}},
			{"min", ReduceMin, []int64{1, -4}},
			{"max", ReduceMax, []int64{4, -1}},
			{"or", ReduceBy("or", 0, func(a, b int64) int64 { return a | b }), []int64{7, -1}},
			{"a reduction", Reduce(datamgr.SumReduction()), []int64{10, -10}},
		} {
			x := got(MakeVector[int64](rt, 2, c.opt))(t)
			for k := int64(1); k <= 4; k++ {
				must(t, j.Go(func(x []int64, k int64) {
					for i, v := range []int64{k, -k} {
						switch c.name {
						case "prod":
							x[i] *= v
						case "min":
							x[i] = min(x[i], v)
						case "max":
							x[i] = max(x[i], v)
						case "or":
							x[i] |= v
						default:
							x[i] += v
						}
					}
				}, Redux(x), k))
			}
			if v := got(x.Value(ctx, j))(t); !slices.Equal(v, c.want) {
				t.Errorf("%s: %v, want %v", c.name, v, c.want)
			}
		}
		rows := got(MakeMatrix[float64](rt, 4, 4, ReduceBy("least", math.Inf(1), math.Min)))(t)
		parts := got(rows.Partition(filter.Rows(2, 0)))(t)
		for k := range 5 {
			must(t, j.Go(func(m Mat[float64], k int) { m.Set(k%2, 3, min(m.At(k%2, 3), -float64(k))) }, Redux(parts.At(k%2)), k))
		}
		if v := got(rows.Value(ctx, j))(t); v.At(0, 3) != -4 || v.At(3, 3) != -3 || v.At(1, 0) != math.Inf(1) {
			t.Error(v)
		}
	})
	rt, j := start(t, Options{Workers: 1})
	lazy := got(MakeVector[float64](rt, 2, ReduceBy("one", 1.0, nil)))(t) // begins with ones, takes no contributions
	must(t, j.Go(func(x []float64) { x[0]++ }, RW(lazy)))
	if v := got(lazy.Value(ctx, j))(t); !slices.Equal(v, []float64{2, 1}) {
		t.Error(v)
	}
	var none *NoReductionError
	if err := j.Go(func(x []float64) {}, Redux(lazy)); !errors.As(err, &none) {
		t.Error(err)
	}
	broken := got(MakeVariable[int64](rt, Fill(0), ReduceBy("broken", 0, func(a, b int64) int64 { panic("no") })))(t)
	must(t, j.Go(func(x *int64) { *x++ }, Redux(broken)))
	var failed *FailedDataError
	if _, err := broken.Value(ctx, j); !errors.As(err, &failed) || !strings.Contains(err.Error(), "broken could not combine") {
		t.Errorf("a reducer that panics: %v", err)
	}
}

// TestTypedPlan: in a plan tasks of functions are checked, and nothing runs.
func TestTypedPlan(t *testing.T) {
	ctx := context.Background()
	var planned []string
	rt, err := Machine{Workers: 2}.Planner(func(p *PlannedTask) {
		planned = append(planned, p.Internal)
		if p.Codelet != nil {
			planned = append(planned, p.Codelet.Name)
		}
	})
	must(t, err)
	j := rt.NewJob(ctx, JobOptions{})
	x := got(MakeVector[float64](rt, 1<<(bits.UintSize-24), Fill(0)))(t)
	must(t, j.Go(Func("never", func(x []float64) { panic("it runs") }), RW(x)))
	if err := j.Go(Func("never", func(x []float32) {}), RW(x)); err == nil {
		t.Error("a wrong type")
	}
	if _, err := x.Value(ctx, j); err == nil || !strings.Contains(err.Error(), "a plan runs no tasks") {
		t.Error(err)
	}
	a := got(x.Acquire(ctx, j, iface.R))(t)
	if a.Data() != nil {
		t.Error("memory in a plan")
	}
	must(t, a.Release())
	must(t, j.Close())
	must(t, rt.Close())
	if !slices.Equal(planned, []string{"", "never", "acquire"}) {
		t.Error(planned)
	}
}
