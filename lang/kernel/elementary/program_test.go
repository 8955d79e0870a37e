package elementary

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// run interprets the code of p. Floats are their bits, those of F32 values 32 bits. It evaluates
// every instruction, also those behind a guard that holds.
func (p *Program) run(args ...uint64) (result uint64, slow bool) {
	v := make([]uint64, len(p.Code))
	flag := func(c bool) uint64 {
		if c {
			return 1
		}
		return 0
	}
	for k, i := range p.Code {
		a, b, c := v[i.Args[0]], v[i.Args[1]], v[i.Args[2]]
		x, y, z := math.Float64frombits(a), math.Float64frombits(b), math.Float64frombits(c)
		var r uint64
		f := math.NaN()
		switch i.Op {
		case Param:
			r = args[i.Bits]
		case Const:
			r = i.Bits
		case FAdd:
			f = x + y
		case FSub:
			f = x - y
		case FMul:
			f = x * y
		case FDiv:
			f = x / y
		case FMA:
			f = math.FMA(x, y, z)
		case FNeg:
			r = a ^ 1<<63
		case FAbs:
			r = a &^ (1 << 63)
		case FEq:
			r = flag(x == y)
		case FNe:
			r = flag(x != y)
		case FLt:
			r = flag(x < y)
		case FLe:
			r = flag(x <= y)
		case Widen:
			f = float64(math.Float32frombits(uint32(a)))
		case Narrow:
			r = uint64(math.Float32bits(float32(x)))
		case ToBits, FromBits:
			r = a
		case IntToFloat:
			if n := int64(a); n < 1<<51 && n > -1<<51 {
				f = float64(n)
			}
		case IAdd:
			r = a + b
		case ISub:
			r = a - b
		case IMul:
			r = a * b
		case IMulHigh:
			r = mulHigh(a, b)
		case IAnd:
			r = a & b
		case IOr:
			r = a | b
		case IXor:
			r = a ^ b
		case Shl:
			r = a << (b & 63)
		case ShrU:
			r = a >> (b & 63)
		case ShrS:
			r = uint64(int64(a) >> (b & 63))
		case IEq:
			r = flag(a == b)
		case INe:
			r = flag(a != b)
		case ILtU:
			r = flag(a < b)
		case And:
			r = a & b
		case Or:
			r = a | b
		case Not:
			r = 1 - a
		case Select:
			if r = c; a == 1 {
				r = b
			}
		case TableAt:
			if t := Tables[i.Bits]; i.Type == F64 {
				f = t.Floats[a]
			} else {
				r = t.Ints[a]
			}
		default:
			panic("no operation " + i.Op.String())
		}
		switch i.Op {
		case FAdd, FSub, FMul, FDiv, FMA, Widen, IntToFloat:
			r = math.Float64bits(f)
		case TableAt:
			if i.Type == F64 {
				r = math.Float64bits(f)
			}
		}
		v[k] = r
	}
	return v[p.Result], p.Guard >= 0 && v[p.Guard] == 1
}

// call is run, or that of the slow program if the guard holds.
func (p *Program) call(t *testing.T, args ...uint64) uint64 {
	r, slow := p.run(args...)
	if p.Guard < 0 {
		return r
	}
	// the code of Slow runs in any case: its lookups must be in range
	s, more := p.Slow.run(args...)
	if more {
		t.Fatalf("the slow program of %s has a guard", p.Name)
	}
	if slow {
		return s
	}
	return r
}

// special64 has arguments that functions treat in some way of their own, and their neighbours.
func special64() []float64 {
	list := []float64{0, 1, 2, 0.5, 3, 1e-5, 0x1p-1074, 0x1p-1022, 0x1p-1023, math.MaxFloat64, math.Inf(1), math.NaN(), 0x1p31, 0x1p32, 0x1p28,
		0x1p52, 0x1p53, 0x1p51, 6, 4, 10, 22, 100, 120, 709.782712893384, 745.1332191019411, 720, 760, 800, 1e300, math.Pi / 2, math.Pi, math.E,
		5e22, 0x1p1023, math.Sqrt2, math.Sqrt2 / 2, 1.0 / 3, 0x1p-540, 0x1p540, 0x1.921fb54442d18p2, 6381956970095103 * 0x1p797, 88.72283, 103.97208,
		math.MaxFloat32, 0x1p-149, 0x1p-126, 2.5, 1e15, 1e16 + 2}
	for _, x := range list[:len(list):len(list)] {
		list = append(list, math.Nextafter(x, 0), math.Nextafter(x, math.Inf(1)))
	}
	for _, x := range list[:len(list):len(list)] {
		list = append(list, -x)
	}
	return list
}

// TestProgramsRun: an interpreter of the programs and the loops over slices get the bits of the Go
// functions, for special arguments and random bits.
func TestProgramsRun(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	one64, one32 := special64(), []float32(nil)
	for range 20000 {
		one64 = append(one64, math.Float64frombits(r.Uint64()), r.NormFloat64(), r.NormFloat64()*300)
	}
	for _, x := range one64 {
		one32 = append(one32, float32(x), math.Float32frombits(uint32(math.Float64bits(x))))
	}
	wrong := 0
	compare := func(p *Program, got, want float64, args ...any) {
		if wrong < 20 && math.Float64bits(got) != math.Float64bits(want) && (got == got || want == want) {
			t.Errorf("%s%v = %v by its program, %v by its function", p.Name, args, got, want)
			wrong++
		}
	}
	for _, f := range functions {
		p := Lookup(f.Name, 64)
		d, short := slices.Clone(one64), slices.Clone(one64)
		f.Slice64(d, d)
		for c := range slices.Chunk(short, 3) { // too few for vectors
			f.Slice64(c, c)
		}
		for k, x := range one64 {
			compare(p, math.Float64frombits(p.call(t, math.Float64bits(x))), f.F64(x), x)
			compare(p, d[k], f.F64(x), "slice", x)
			compare(p, short[k], f.F64(x), "short slice", x)
		}
		p = Lookup(f.Name, 32)
		e, short32 := slices.Clone(one32), slices.Clone(one32)
		f.Slice32(e, e)
		for c := range slices.Chunk(short32, 3) {
			f.Slice32(c, c)
		}
		for k, x := range one32 {
			got := p.call(t, uint64(math.Float32bits(x)))
			compare(p, float64(math.Float32frombits(uint32(got))), float64(f.F32(x)), x)
			compare(p, float64(e[k]), float64(f.F32(x)), "slice", x)
			compare(p, float64(short32[k]), float64(f.F32(x)), "short slice", x)
		}
	}
	p := Lookup("pow", 64)
	var allX, allY []float64
	pow := func(x, y float64) {
		allX, allY = append(allX, x), append(allY, y)
		d := []float64{x, y}
		PowSlice(d[:1], d[:1], d[1:])
		compare(p, d[0], Pow(x, y), "slice", x, y)
		compare(p, math.Float64frombits(p.call(t, math.Float64bits(x), math.Float64bits(y))), Pow(x, y), x, y)
	}
	q := Lookup("pow", 32)
	powF32 := func(x, y float32) {
		d := []float32{x, y}
		PowSliceF32(d[:1], d[:1], d[1:])
		compare(q, float64(d[0]), float64(PowF32(x, y)), "slice", x, y)
		got := q.call(t, uint64(math.Float32bits(x)), uint64(math.Float32bits(y)))
		compare(q, float64(math.Float32frombits(uint32(got))), float64(PowF32(x, y)), x, y)
	}
	for _, x := range special64() {
		for _, y := range special64() {
			pow(x, y)
			powF32(float32(x), float32(y))
		}
	}
	for range 20000 {
		x, y := math.Exp(20*r.NormFloat64()), 20*r.NormFloat64()
		pow(x, y)
		powF32(float32(x), float32(y))
	}
	d, x32, y32 := make([]float64, len(allX)), make([]float32, len(allX)), make([]float32, len(allX))
	PowSlice(d, allX, allY)
	for k, x := range allX {
		x32[k], y32[k] = float32(x), float32(allY[k])
		compare(p, d[k], Pow(x, allY[k]), "long slice", x, allY[k])
	}
	e := slices.Clone(x32)
	PowSliceF32(e, e, y32)
	for k, x := range x32 {
		compare(q, float64(e[k]), float64(PowF32(x, y32[k])), "long slice", x, y32[k])
	}
}

// TestProgramsAreWellFormed: arguments are earlier values of the types that the operation takes.
func TestProgramsAreWellFormed(t *testing.T) {
	seen := map[Op]bool{}
	check := func(p *Program) {
		for k, i := range p.Code {
			seen[i.Op] = true
			arg := func(n int) Type {
				if int(i.Args[n]) >= k {
					t.Fatalf("%s: instruction %d has a later argument", p.Name, k)
				}
				return p.Code[i.Args[n]].Type
			}
			var want []Type
			result := F64
			switch i.Op {
			case Param:
				if result = p.Params[i.Bits]; k != int(i.Bits) {
					t.Errorf("%s: parameter %d is instruction %d", p.Name, i.Bits, k)
				}
			case Const:
				result = i.Type
			case FAdd, FSub, FMul, FDiv:
				want = []Type{F64, F64}
			case FMA:
				want = []Type{F64, F64, F64}
			case FNeg, FAbs:
				want = []Type{F64}
			case FEq, FNe, FLt, FLe:
				want, result = []Type{F64, F64}, Bool
			case Widen:
				want = []Type{F32}
			case Narrow:
				want, result = []Type{F64}, F32
			case ToBits:
				want, result = []Type{F64}, I64
			case FromBits, IntToFloat:
				want = []Type{I64}
			case IAdd, ISub, IMul, IMulHigh, IAnd, IOr, IXor, Shl, ShrU, ShrS:
				want, result = []Type{I64, I64}, I64
			case IEq, INe, ILtU:
				want, result = []Type{I64, I64}, Bool
			case And, Or:
				want, result = []Type{Bool, Bool}, Bool
			case Not:
				want, result = []Type{Bool}, Bool
			case Select:
				want, result = []Type{Bool, i.Type, i.Type}, i.Type
			case TableAt:
				want, result = []Type{I64}, i.Type
				if tab := Tables[i.Bits]; (i.Type == F64) != (tab.Floats != nil) {
					t.Errorf("%s: instruction %d takes a value of %s as %d", p.Name, k, tab.Name, i.Type)
				}
			}
			for n, w := range want {
				if got := arg(n); got != w {
					t.Errorf("%s: instruction %d, %s: argument %d has the type %d, want %d", p.Name, k, i.Op, n, got, w)
				}
			}
			if i.Type != result || argCount(i.Op) != len(want) {
				t.Errorf("%s: instruction %d, %s, has the type %d and %d arguments", p.Name, k, i.Op, i.Type, argCount(i.Op))
			}
			if (i.Op == Shl || i.Op == ShrU || i.Op == ShrS) && p.Code[i.Args[1]].Op == Const && p.Code[i.Args[1]].Bits > 63 {
				t.Errorf("%s: instruction %d shifts too far", p.Name, k)
			}
		}
		if p.Code[p.Result].Type != p.Params[0] || p.Guard >= 0 && (p.Code[p.Guard].Type != Bool || p.Slow == nil) {
			t.Errorf("%s: its result or guard has the wrong type", p.Name)
		}
	}
	for _, name := range Names() {
		for _, bits := range []int{64, 32} {
			p := Lookup(name, bits)
			check(p)
			if p.Slow != nil {
				check(p.Slow)
			}
		}
	}
	for op := range opNames {
		if op := Op(op); !seen[op] && op != INe && op != IEq && op != FNeg {
			t.Errorf("no program has the operation %s", op)
		}
	}
	if Lookup("exp", 16) != nil || Lookup("sqrt", 64) != nil {
		t.Error("Lookup finds what is not there")
	}
}

// digests has a hash of the results of each function for the arguments of TestSameBits, with the
// float32 function behind it. STARPUSH_UPDATE=1 writes the file.
const digests = "testdata/digests.txt"

// TestSameBits: the results are those of the machine that wrote the digests, whatever this one is.
func TestSameBits(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	args := special64()
	for range 20000 {
		args = append(args, math.Float64frombits(r.Uint64()), 8*r.Float64()-4, 256*r.Float64()-128, math.Float64frombits(r.Uint64N(1<<60)+0x3800<<48))
	}
	var out strings.Builder
	for _, name := range Names() {
		f64, f32 := func(x float64) float64 { return Pow(math.Abs(x), args[math.Float64bits(x)>>20%uint64(len(args))]) }, func(x float32) float32 { return PowF32(x, 1.7) }
		if f := Unary(name); f != nil {
			f64, f32 = f.F64, f.F32
		}
		h64, h32 := fnv.New64a(), fnv.New64a()
		for _, x := range args {
			y, y32 := f64(x), f32(float32(x))
			if y == y {
				binary.Write(h64, binary.LittleEndian, y)
			}
			if y32 == y32 {
				binary.Write(h32, binary.LittleEndian, y32)
			}
		}
		fmt.Fprintf(&out, "%s %016x %016x\n", name, h64.Sum64(), h32.Sum64())
	}
	if os.Getenv("STARPUSH_UPDATE") != "" {
		if err := os.WriteFile(digests, []byte(out.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(digests)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("the bits differ from those of another machine. Now:\n%sbefore:\n%s", out.String(), want)
	}
}
