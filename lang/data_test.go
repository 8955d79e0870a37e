package lang_test

import (
	"errors"
	"io"
	"math"
	"math/bits"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/sim"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
)

// blockScript uses a block of the host as a whole, by slabs, and by planes.
const blockScript = `
extern b: block[f64]
extern codelet lift(m: RW block[f64], up: f64)
extern codelet count(b: R block[f64], n: W variable[i64])

codelet twice(m: RW matrix[f64]) { each i, j in m { m[i, j] *= 2.0 } }
register n = variable[i64]()
partition slabs = b by axis(1, 2)
partition floors = b by pick(2)

insert lift(RW slabs[1], 100)
insert twice(RW floors[0])
insert count(R b, W n)
`

func TestBlockOf(t *testing.T) {
	const nx, ny, nz, ldx, ldy = 2, 3, 4, 20, 5
	lift := lang.Must(lang.NewCodelet("lift(m: RW block[f64], up: f64)", lang.CPUFunc(func(m lang.Buffer[float64], up float64) {
		s := m.Shape()
		for x := range s[0] {
			for y := range s[1] {
				for z := range m.Line(x, y) {
					m.Line(x, y)[z] += up
				}
			}
		}
		if m.Stride(2) != 1 || m.Stride(1) < s[2] || m.Offset(1) != 2 {
			panic("strides")
		}
	})))
	count := lang.Must(lang.NewCodelet("count(b: R block[f64], n: W variable[i64])", lang.CPUFunc(func(b lang.Buffer[float64], n *int64) {
		*n = 0
		for x := range b.Rows() {
			for y := range b.Cols() {
				*n += int64(len(b.Line(x, y)))
			}
		}
	})))
	comp := lang.Must(lang.NewCompiler(lang.Config{Codelets: []*lang.Codelet{lift, count}}))
	prog, ds := comp.Compile(t.Context(), "b.spu", []byte(blockScript))
	if ds.Err() != nil {
		t.Fatal(ds)
	}
	rt := lang.Must(engine.New(engine.Options{Workers: 2}))
	defer rt.Close()

	mem := slices.Repeat([]float64{-1}, ldx+2*ldy+nz)
	want := slices.Clone(mem)
	for x := range nx {
		for y := range ny {
			for z := range nz {
				v := float64(100*x + 10*y + z)
				mem[x*ldx+y*ldy+z] = v
				if y == 2 {
					v += 100
				}
				if z == 0 {
					v *= 2
				}
				want[x*ldx+y*ldy+z] = v
			}
		}
	}
	inst, err := prog.Run(t.Context(), rt, lang.Bind("b", lang.Must(lang.BlockOf(mem, nx, ny, nz, ldx, ldy))), lang.Stdout(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	n, err := inst.Handle("n")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := lang.Value[int64](t.Context(), n); v != nx*ny*nz || err != nil {
		t.Errorf("%d elements counted, %v", v, err)
	}
	b, err := inst.Handle("b")
	if err != nil {
		t.Fatal(err)
	}
	a, err := lang.Acquire[float64](t.Context(), b, lang.R)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(a.Shape(), []int{nx, ny, nz}) || a.Slice() != nil || !slices.Equal(a.Line(1, 2), want[ldx+2*ldy:][:nz]) {
		t.Errorf("shape %v, slice %v, line %v", a.Shape(), a.Slice(), a.Line(1, 2))
	}
	for _, idx := range [][]int{{}, {0}, {2, 0}, {0, 3}, {-1, 0}, {0, 0, 0}} {
		if a.Line(idx...) != nil {
			t.Errorf("there is a line %v", idx)
		}
	}
	if err := a.Release(); err != nil || a.Line(0, 0) != nil {
		t.Errorf("after release: %v, %v", a.Line(0, 0), err)
	}
	if err := inst.Close(); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(mem, want) {
		t.Errorf("the memory is\n%v, want\n%v", mem, want)
	}
}

func TestBlockOfWrong(t *testing.T) {
	s := make([]float32, 60)
	for _, c := range []struct {
		nx, ny, nz, ldx, ldy int
		want                 string // "": none
	}{
		{3, 4, 5, 0, 0, ""},
		{3, 4, 4, 20, 5, ""},
		{1, 4, 5, 1000, 0, ""},
		{0, 4, 5, 0, 0, ""},
		{3, 0, 5, 0, 0, ""},
		{3, 4, 0, 0, 0, ""},
		{3, 4, 6, 0, 0, "too few for 3 x 4 x 6"},
		{3, 4, 5, 21, 5, "too few"},
		{-1, 4, 5, 0, 0, "must not be negative"},
		{3, 4, 5, 0, 4, "rows would overlap"},
		{3, 4, 5, 19, 5, "planes would overlap"},
		{3, 4, 5, -20, 5, "planes would overlap"},
		{1 << (bits.UintSize - 24), 1 << (bits.UintSize - 24), 1 << (bits.UintSize - 24), 0, 0, "too few"},
	} {
		_, err := lang.BlockOf(s, c.nx, c.ny, c.nz, c.ldx, c.ldy)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestTensorNOf: a script uses a tensor of the host with six indices as a whole, by tiles and by slices, in a body and in a
// kernel of the host, and the types of the host say how many indices there are.
func TestTensorNOf(t *testing.T) {
	add := lang.Must(lang.NewCodelet("add(t: RW tensor[f64, 6], up: f64)", lang.CPUFunc(func(t lang.Buffer[float64], up float64) {
		for n := range t.Shape()[4] {
			for l := range t.Line(0, 0, 0, 0, n) {
				t.Line(0, 0, 0, 0, n)[l] += up * float64(t.Offset(5)+l)
			}
		}
	})))
	comp := lang.Must(lang.NewCompiler(lang.Config{Codelets: []*lang.Codelet{add}}))
	prog, ds := comp.Compile(t.Context(), "t.spu", []byte(`
extern t: tensor[f64, 6]
extern codelet add(t: RW tensor[f64, 6], up: f64)
codelet twice(b: RW tensor[f64]) { each i, j, k, l in b { b[i, j, k, l] *= 2.0 } }
partition tiles = t by tiles(2, 1, 2, 1, 1, 3)
partition slices = t by pick(0) then pick(1)
for i, j, k in grid(2, 2, 3) { insert add(RW tiles[i, 0, j, 0, 0, k], 100) }
insert twice(RW slices[1, 0])
`))
	if ds.Err() != nil {
		t.Fatal(ds)
	}
	rt := lang.Must(engine.New(engine.Options{Workers: 2}))
	defer rt.Close()
	dims, step := []int{2, 1, 2, 1, 2, 3}, []int{33, 31, 14, 0, 5}
	mem := slices.Repeat([]float64{-1}, 33+14+5+3)
	want := slices.Clone(mem)
	for n := range 2 * 2 * 2 * 3 {
		i, k, m, l := n/12, n/6%2, n/3%2, n%3
		at := i*33 + k*14 + m*5 + l
		mem[at] = float64(n)
		want[at] = float64(n + 100*l)
		if i == 1 && k == 0 {
			want[at] *= 2
		}
	}
	inst, err := prog.Run(t.Context(), rt, lang.Bind("t", lang.Must(lang.TensorNOf(mem, dims, step))))
	if err == nil {
		err = inst.Close()
	}
	if err != nil || !slices.Equal(mem, want) {
		t.Fatalf("%v\ngot  %v\nwant %v", err, mem, want)
	}
	for _, c := range []struct {
		dims, step []int
		err        string
	}{
		{[]int{1, 1, 1}, nil, "3 sizes, and a tensor has 4 to 8"},
		{make([]int, 9), nil, "9 sizes, and a tensor has 4 to 8"},
		{[]int{1, 1, 1, 1, 1}, []int{1}, "1 steps for 5 sizes; give one for each index but the last"},
		{[]int{2, 2, 2, 2, 2}, []int{0, 0, 0, 1}, "step[3] is 1, below 2; elements would overlap"},
		{[]int{2, 2, 2, 2, 8}, nil, "the slice has 55 elements, too few for sizes [2 2 2 2 8]"},
		{[]int{2, 2, 2, -2, 8}, nil, "-2 is not a size"},
	} {
		if _, err := lang.TensorNOf(mem, c.dims, c.step); err == nil || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%v %v: %v, want %q", c.dims, c.step, err, c.err)
		}
	}
	for text, want := range map[string]string{
		"f(x: R tensor[f64, 9])": "only a tensor has a number of indices in the bracket, from 4 to 8",
		"f(x: R matrix[f64, 5])": "only a tensor has a number of indices",
	} {
		if _, err := lang.NewCodelet(text, lang.CPUFunc(func(lang.Buffer[float64]) {})); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestTensorOf: a script uses a tensor of the host as a whole, by tiles and by blocks, and
// a kernel of the host gets its lines.
func TestTensorOf(t *testing.T) {
	add := lang.Must(lang.NewCodelet("add(t: RW tensor[f64], up: f64)", lang.CPUFunc(func(t lang.Buffer[float64], up float64) {
		s := t.Shape()
		for n := range s[0] * s[1] * s[2] {
			line := t.Line(n/s[2]/s[1], n/s[2]%s[1], n%s[2])
			for l := range line {
				line[l] += up * float64(t.Offset(3)+l)
			}
		}
	})))
	comp := lang.Must(lang.NewCompiler(lang.Config{Codelets: []*lang.Codelet{add}}))
	prog, ds := comp.Compile(t.Context(), "t.spu", []byte(`
extern t: tensor[f64]
extern codelet add(t: RW tensor[f64], up: f64)
codelet twice(b: RW block[f64]) { each i, j, k in b { b[i, j, k] *= 2.0 } }
partition tiles = t by tiles(1, 2, 1, 2)
partition blocks = t by pick(2)
insert add(RW tiles[0, 1, 0, 1], 100)
insert twice(RW blocks[0])
`))
	if ds.Err() != nil {
		t.Fatal(ds)
	}
	rt := lang.Must(engine.New(engine.Options{Workers: 2}))
	defer rt.Close()
	dims, step := [4]int{2, 3, 2, 4}, [3]int{40, 12, 5}
	mem := slices.Repeat([]float64{-1}, 40+2*12+5+4)
	want := slices.Clone(mem)
	for n := range 2 * 3 * 2 * 4 {
		i, j, k, l := n/24, n/8%3, n/4%2, n%4
		v, at := float64(n), i*40+j*12+k*5+l
		mem[at] = v
		if j == 2 && l >= 2 {
			v += 100 * float64(l)
		}
		if k == 0 {
			v *= 2
		}
		want[at] = v
	}
	inst, err := prog.Run(t.Context(), rt, lang.Bind("t", lang.Must(lang.TensorOf(mem, dims, step))))
	if err == nil {
		err = inst.Close()
	}
	if err != nil || !slices.Equal(mem, want) {
		t.Fatalf("%v\ngot  %v\nwant %v", err, mem, want)
	}
	for _, c := range []struct {
		n    int
		dims [4]int
		step [3]int
		want string
	}{
		{48, [4]int{2, 3, 2, 4}, [3]int{}, ""},
		{47, [4]int{2, 3, 2, 4}, [3]int{}, "47 elements, too few for sizes [2 3 2 4] with steps [24 8 4]"},
		{73, [4]int{2, 3, 2, 4}, step, ""},
		{72, [4]int{2, 3, 2, 4}, step, "too few"},
		{99, [4]int{2, 3, 2, 4}, [3]int{0, 0, 3}, "step[2] is 3, below 4; elements would overlap"},
		{99, [4]int{2, 3, 2, 4}, [3]int{23, 0, 0}, "step[0] is 23, below 24; elements would overlap"},
		{99, [4]int{2, 3, -2, 4}, [3]int{}, "-2 is not a size"},
		{0, [4]int{2, 0, 2, 4}, [3]int{}, ""},
		{9, [4]int{math.MaxInt, math.MaxInt, 2, 4}, [3]int{}, "too few"},
	} {
		_, err := lang.TensorOf(make([]float64, c.n), c.dims, c.step)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestBlockAlias: blocks that lie in each other's gaps share nothing.
func TestBlockAlias(t *testing.T) {
	comp := lang.Must(lang.NewCompiler(lang.Config{}))
	prog, ds := comp.Compile(t.Context(), "b.spu", []byte("extern a: block[f64]\nextern b: block[f64]\nwait\n"))
	if ds.Err() != nil {
		t.Fatal(ds)
	}
	rt := lang.Must(engine.New(engine.Options{Workers: 1}))
	defer rt.Close()
	mem := make([]float64, 120) // 3 planes of 4 rows of 10
	a := lang.Must(lang.BlockOf(mem, 3, 4, 5, 40, 10))
	for from, want := range map[int]bool{5: true, 4: false, 40: false} {
		b := lang.Must(lang.BlockOf(mem[from:], 2, 4, 5, 40, 10))
		inst, err := prog.Run(t.Context(), rt, lang.Bind("a", a), lang.Bind("b", b))
		if err == nil {
			err = inst.Close()
		}
		if want != (err == nil) {
			t.Errorf("from %d: %v", from, err)
		}
	}
}

// pinner is a device that has page-locked memory.
type pinner struct {
	accel.Device
	blocks map[unsafe.Pointer][]uint64
	freed  int
	full   error
}

func (p *pinner) AllocPinned(bytes int64) (unsafe.Pointer, error) {
	if p.full != nil {
		return nil, p.full
	}
	block := make([]uint64, bytes/8+1)
	for i := range block {
		block[i] = 42
	}
	at := unsafe.Pointer(&block[0])
	p.blocks[at] = block
	return at, nil
}

func (p *pinner) FreePinned(at unsafe.Pointer) error {
	delete(p.blocks, at)
	p.freed++
	return nil
}

func (p *pinner) Pin(unsafe.Pointer, int64) error { return nil }
func (p *pinner) Unpin(unsafe.Pointer) error      { return nil }

func TestAlloc(t *testing.T) {
	d, err := sim.New(sim.Options{Capacity: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	pins := &pinner{Device: d, blocks: map[unsafe.Pointer][]uint64{}}
	for name, o := range map[string]engine.Options{"heap": {Workers: 1}, "pinned": {Workers: 1, Devices: []accel.Device{pins}}} {
		t.Run(name, func(t *testing.T) {
			rt := newRuntime(t, o)
			s, free, err := lang.Alloc[float32](rt, 1000)
			if err != nil {
				t.Fatal(err)
			}
			if len(s) != 1000 || s[0] != 0 || s[999] != 0 {
				t.Errorf("%d elements, %v to %v", len(s), s[0], s[999])
			}
			if name == "heap" && uintptr(unsafe.Pointer(&s[0]))%64 != 0 {
				t.Error("it is not aligned")
			}
			if _, ok := pins.blocks[unsafe.Pointer(&s[0])]; ok != (name == "pinned") {
				t.Errorf("from the device: %v", ok)
			}
			p := compile(t, lang.Config{}, "extern x: vector[f32]\ncodelet inc(v: RW vector[f32]) { each i in v { v[i] += 1 } }\ninsert inc(RW x)\n")
			inst, err := p.Run(t.Context(), rt, lang.Bind("x", lang.VectorOf(s)))
			if err != nil {
				t.Fatal(err)
			}
			if err := inst.Close(); err != nil {
				t.Fatal(err)
			}
			if s[0] != 1 || s[999] != 1 {
				t.Errorf("%v to %v", s[0], s[999])
			}
			free()
			free()
			if name == "pinned" && pins.freed != 1 {
				t.Errorf("freed %d times", pins.freed)
			}

			empty, free, err := lang.Alloc[int8](rt, 0)
			if err != nil || len(empty) != 0 {
				t.Errorf("%v, %v", empty, err)
			}
			free()
			_, _, err = lang.Alloc[int64](rt, -1)
			wantErr(t, err, "-1 elements")
			_, _, err = lang.Alloc[int64](rt, 1<<(bits.UintSize-2))
			wantErr(t, err, "elements")
			if name == "pinned" {
				pins.full = errors.New("no more of it")
				_, _, err = lang.Alloc[int64](rt, 1)
				wantErr(t, err, "no more of it")
			}
		})
	}
	_, _, err = lang.Alloc[int8](nil, 1)
	wantErr(t, err, "runtime is nil")
	rt := lang.Must(engine.New(engine.Options{Workers: 1}))
	rt.Close()
	if _, _, err = lang.Alloc[int8](rt, 1); !errors.Is(err, engine.ErrClosed) {
		t.Error(err)
	}
}

// CUDA and OpenCL are for devices of their kind.
func TestDeviceOptions(t *testing.T) {
	fn := func(*lang.Task, accel.Stream) error { return nil }
	for arch, o := range map[string]lang.CodeletOption{"cuda": lang.CUDA(fn), "opencl": lang.OpenCL(fn)} {
		c := lang.Must(lang.NewCodelet("c(x: RW vector[f64])", o))
		if on := c.Engine().On; len(on) != 1 || len(on[arch]) != 1 {
			t.Errorf("%s: %v", arch, on)
		}
	}
	_, err := lang.NewCodelet("c(x: RW vector[f64])", lang.CUDA(nil))
	wantErr(t, err, `On("cuda")`, "the function is nil")
}
