package elementary

// The writer of vectors_amd64.s: loops over slices with AVX2, four values at a time.

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// An assembler writes the code of a program for one block of four values. Registers Y14 and Y15 are
// for sequences within an instruction; the others hold values. A value that finds none is
// written to the frame, the one first whose next use is the farthest.
type assembler struct {
	*builder
	out    bytes.Buffer
	pool   *constantPool
	same   []int   // the value that has the bits of a value: that of conversions of bits
	uses   [][]int // the instructions that use a value
	at     int     // the current instruction
	reg    []int   // the register of a value, or -1
	holder [14]int // the value of a register, or -1
	home   []string
	frame  int
	pinned []int // registers that the current instruction uses
}

// A constantPool has the constants of all programs, four times each.
type constantPool struct {
	offset map[uint64]int
	order  []uint64
}

func (p *constantPool) address(bits uint64) string {
	if _, ok := p.offset[bits]; !ok {
		p.offset[bits] = 32 * len(p.order)
		p.order = append(p.order, bits)
	}
	return fmt.Sprintf("constants<>+%d(SB)", p.offset[bits])
}

func (p *constantPool) write(out *bytes.Buffer) {
	out.WriteString("\n")
	for _, bits := range p.order {
		for k := range 4 {
			fmt.Fprintf(out, "DATA constants<>+%d(SB)/8, $%#x\n", p.offset[bits]+8*k, bits)
		}
	}
	fmt.Fprintf(out, "GLOBL constants<>(SB), RODATA|NOPTR, $%d\n", 32*len(p.order))
}

func (a *assembler) ins(text string, args ...any) {
	a.out.WriteString("\t" + fmt.Sprintf(text, args...) + "\n")
}

func yreg(r int) string { return fmt.Sprintf("Y%d", r) }

// nextUse returns the next instruction that uses v after the current one.
func (a *assembler) nextUse(v int) int {
	for _, k := range a.uses[v] {
		if k > a.at {
			return k
		}
	}
	return 1 << 30
}

// dead reports whether the current instruction is the last that uses v.
func (a *assembler) dead(v int) bool { return a.nextUse(v) == 1<<30 }

// free returns a register for a value. It pins it.
func (a *assembler) free() int {
	best, far := -1, -1
	for r, v := range a.holder {
		if slices.Contains(a.pinned, r) {
			continue
		}
		if v < 0 {
			best = r
			break
		}
		next := a.nextUse(v)
		if slices.Contains(a.uses[v], a.at) {
			next = a.at // an argument that is not in use yet
		}
		if next > far {
			best, far = r, next
		}
	}
	if v := a.holder[best]; v >= 0 {
		if a.home[v] == "" && far > a.at && far < 1<<30 || a.home[v] == "" && far == a.at {
			a.home[v] = fmt.Sprintf("%d(SP)", a.frame)
			a.frame += 32
			a.ins("VMOVUPD %s, %s", yreg(best), a.home[v])
		}
		a.reg[v] = -1
	}
	a.holder[best] = -1
	a.pinned = append(a.pinned, best)
	return best
}

// register returns the register with v, which it loads if it is in memory.
func (a *assembler) register(v int) string {
	v = a.same[v]
	if a.reg[v] < 0 {
		from := a.home[v]
		r := a.free()
		a.ins("VMOVUPD %s, %s", from, yreg(r))
		a.reg[v], a.holder[r] = r, v
	}
	a.pinned = append(a.pinned, a.reg[v])
	return yreg(a.reg[v])
}

// place returns the register with v, or its address if it is in memory.
func (a *assembler) place(v int) string {
	if s := a.same[v]; a.reg[s] < 0 {
		return a.home[s]
	}
	return a.register(v)
}

// inMemory reports whether v is in no register.
func (a *assembler) inMemory(v int) bool { return a.reg[a.same[v]] < 0 }

// result returns a register for the value of the current instruction. Arguments whose last use it
// is give up theirs, if reuse is set.
func (a *assembler) result(reuse bool) string {
	if reuse {
		a.release()
		a.pinned = nil
	}
	r := a.free()
	a.setResult(r)
	return yreg(r)
}

func (a *assembler) setResult(r int) {
	a.reg[a.at], a.holder[r] = r, a.at
}

// release takes the registers from arguments whose last use is the current instruction.
func (a *assembler) release() {
	for r, v := range a.holder {
		if v >= 0 && v != a.at && a.dead(v) {
			a.reg[v], a.holder[r] = -1, -1
		}
	}
}

// takeOver gives the register of the dying value v to the result.
func (a *assembler) takeOver(v int) string {
	v = a.same[v]
	r := a.reg[v]
	a.reg[v] = -1
	a.setResult(r)
	return yreg(r)
}

func (a *assembler) binary(op string, x, y int, commutes bool) {
	if commutes && a.inMemory(x) && !a.inMemory(y) {
		x, y = y, x
	}
	rx := a.register(x)
	py := a.place(y)
	a.ins("%s %s, %s, %s", op, py, rx, a.result(true))
}

func (a *assembler) constant(bits uint64) string { return a.pool.address(bits) }

func (a *assembler) dying(v int) bool {
	s := a.same[v]
	return a.reg[s] >= 0 && a.dead(s)
}

func (a *assembler) fma(x, y, z int) {
	if a.inMemory(x) && !a.inMemory(y) {
		x, y = y, x // y is the one in memory
	}
	distinct := a.same[x] != a.same[y] && a.same[x] != a.same[z] && a.same[y] != a.same[z]
	switch {
	case distinct && a.dying(z):
		rx := a.register(x)
		a.register(z)
		py := a.place(y)
		a.ins("VFMADD231PD %s, %s, %s", py, rx, a.takeOver(z))
	case distinct && a.dying(x) && a.inMemory(y):
		a.register(x)
		rz := a.register(z)
		py := a.place(y)
		a.ins("VFMADD132PD %s, %s, %s", py, rz, a.takeOver(x))
	case distinct && a.dying(x):
		a.register(x)
		ry := a.register(y)
		pz := a.place(z)
		a.ins("VFMADD213PD %s, %s, %s", pz, ry, a.takeOver(x))
	case distinct && a.dying(y):
		a.register(y)
		rx := a.register(x)
		pz := a.place(z)
		a.ins("VFMADD213PD %s, %s, %s", pz, rx, a.takeOver(y))
	default:
		rx := a.register(x)
		py, pz := a.place(y), a.place(z)
		d := a.result(false)
		a.ins("VMOVUPD %s, %s", pz, d)
		a.ins("VFMADD231PD %s, %s, %s", py, rx, d)
	}
}

// writeVectors writes the loop over blocks of a program.
func (b *builder) writeVectors(out *bytes.Buffer, pool *constantPool, name string) {
	n := len(b.code)
	a := &assembler{builder: b, pool: pool, same: make([]int, n), uses: make([][]int, n), reg: make([]int, n), home: make([]string, n)}
	for r := range a.holder {
		a.holder[r] = -1
	}
	for k, i := range b.code {
		a.same[k], a.reg[k] = k, -1
		switch i.Op {
		case ToBits, FromBits, Widen, Narrow:
			a.same[k] = a.same[i.Args[0]]
			continue
		case Const:
			bits := i.Bits
			if i.Type == Bool {
				bits = -bits
			}
			a.home[k] = pool.address(bits)
		}
		for _, v := range i.Args[:argCount(i.Op)] {
			s := a.same[v]
			a.uses[s] = append(a.uses[s], k)
		}
	}
	a.uses[a.same[b.result]] = append(a.uses[a.same[b.result]], n)
	f32 := b.params[0] == F32
	pointers := []string{"SI", "DX"}[:len(b.params)]
	for k, i := range b.code {
		a.at, a.pinned = k, nil
		args := i.Args
		x, y, z := int(args[0]), int(args[1]), int(args[2])
		switch i.Op {
		case ToBits, FromBits, Widen, Narrow, Const:
			continue
		case Param:
			if p := pointers[i.Bits]; f32 {
				a.ins("VCVTPS2PD (%s), %s", p, a.result(true))
			} else {
				a.home[k] = "(" + p + ")"
			}
		case FAdd:
			a.binary("VADDPD", x, y, true)
		case FSub:
			a.binary("VSUBPD", x, y, false)
		case FMul:
			a.binary("VMULPD", x, y, true)
		case FDiv:
			a.binary("VDIVPD", x, y, false)
		case FMA:
			a.fma(x, y, z)
		case FNeg:
			r := a.register(x)
			a.ins("VXORPD %s, %s, %s", a.constant(signBit), r, a.result(true))
		case FAbs:
			r := a.register(x)
			a.ins("VANDPD %s, %s, %s", a.constant(signBit-1), r, a.result(true))
		case FEq:
			a.binary("VCMPPD $0,", x, y, false)
		case FNe:
			a.binary("VCMPPD $4,", x, y, false)
		case FLt:
			a.binary("VCMPPD $17,", x, y, false)
		case FLe:
			a.binary("VCMPPD $18,", x, y, false)
		case IntToFloat:
			r := a.register(x)
			d := a.result(true)
			a.ins("VPADDQ %s, %s, %s", a.constant(magicBits), r, d)
			a.ins("VSUBPD %s, %s, %s", a.constant(magicBits), d, d)
		case IAdd:
			a.binary("VPADDQ", x, y, true)
		case ISub:
			a.binary("VPSUBQ", x, y, false)
		case IMul:
			if b.code[x].Op == Const {
				x, y = y, x
			}
			c := b.code[y]
			if c.Op != Const || c.Bits >= 1<<32 {
				panic(failure{fmt.Errorf("%s: a product that is not by a constant of 32 bits", name)})
			}
			r := a.register(x)
			a.ins("VPSRLQ $32, %s, Y15", r)
			a.ins("VPMULUDQ %s, Y15, Y15", a.constant(c.Bits))
			a.ins("VPSLLQ $32, Y15, Y15")
			a.ins("VPMULUDQ %s, %s, Y14", a.constant(c.Bits), r)
			a.ins("VPADDQ Y14, Y15, %s", a.result(true))
		case IAnd:
			a.binary("VPAND", x, y, true)
		case IOr:
			a.binary("VPOR", x, y, true)
		case IXor:
			a.binary("VPXOR", x, y, true)
		case Shl, ShrU, ShrS:
			if b.code[y].Op != Const {
				panic(failure{fmt.Errorf("%s: a shift that is not by a constant", name)})
			}
			count := b.code[y].Bits
			r := a.register(x)
			d := a.result(true)
			switch i.Op {
			case Shl:
				a.ins("VPSLLQ $%d, %s, %s", count, r, d)
			case ShrU:
				a.ins("VPSRLQ $%d, %s, %s", count, r, d)
			default: // AVX2 lacks it: extends the sign by a difference
				a.ins("VPSRLQ $%d, %s, %s", count, r, d)
				a.ins("VPXOR %s, %s, %s", a.constant(signBit>>count), d, d)
				a.ins("VPSUBQ %s, %s, %s", a.constant(signBit>>count), d, d)
			}
		case IEq:
			a.binary("VPCMPEQQ", x, y, true)
		case INe:
			a.binary("VPCMPEQQ", x, y, true)
			a.ins("VPXOR %s, %s, %s", a.constant(1<<64-1), yreg(a.reg[k]), yreg(a.reg[k]))
		case ILtU:
			rx, ry := a.register(x), a.register(y)
			a.ins("VPXOR %s, %s, Y14", a.constant(signBit), rx)
			a.ins("VPXOR %s, %s, Y15", a.constant(signBit), ry)
			a.ins("VPCMPGTQ Y14, Y15, %s", a.result(true))
		case And:
			a.binary("VANDPD", x, y, true)
		case Or:
			a.binary("VORPD", x, y, true)
		case Not:
			r := a.register(x)
			a.ins("VXORPD %s, %s, %s", a.constant(1<<64-1), r, a.result(true))
		case Select:
			rc, rz := a.register(x), a.register(z)
			py := a.place(y)
			a.ins("VBLENDVPD %s, %s, %s, %s", rc, py, rz, a.result(true))
		case TableAt:
			r := a.register(x)
			d := a.result(false)
			a.ins("LEAQ ·%s(SB), R8", Tables[i.Bits].Name)
			a.ins("VXORPD %s, %s, %s", d, d, d)
			a.ins("VPCMPEQQ Y15, Y15, Y15")
			a.ins("VGATHERQPD Y15, (R8)(%s*8), %s", r, d)
		default:
			panic(failure{fmt.Errorf("%s: no vector instruction for %s", name, i.Op)})
		}
		if k == b.guard {
			a.ins("VMOVMSKPD %s, AX", yreg(a.reg[k]))
			a.ins("TESTL AX, AX")
			a.ins("JNZ stop")
		}
		a.release()
	}
	a.at, a.pinned = n, nil
	r := a.register(b.result)
	size := 32
	if f32 {
		size = 16
		a.ins("VCVTPD2PSY %s, X14", r)
		a.ins("VMOVUPS X14, (DI)")
	} else {
		a.ins("VMOVUPD %s, (DI)", r)
	}
	fmt.Fprintf(out, "\nTEXT ·%sAVX2(SB), 0, $%d-40\n", lower(name), a.frame)
	out.WriteString("\tMOVQ d+0(FP), DI\n\tMOVQ x+8(FP), SI\n\tMOVQ y+16(FP), DX\n\tMOVQ n+24(FP), CX\n\tXORQ BX, BX\n\nloop:\n\tCMPQ BX, CX\n\tJGE stop\n")
	out.Write(a.out.Bytes())
	fmt.Fprintf(out, "\tADDQ $%d, DI\n\tADDQ $%d, SI\n\tADDQ $%d, DX\n\tADDQ $4, BX\n\tJMP loop\n\nstop:\n\tMOVQ BX, done+32(FP)\n\tVZEROUPPER\n\tRET\n", size, size, size)
}

// writeVectorTable writes vectors_amd64.go.
func writeVectorTable(names []string) []byte {
	var out strings.Builder
	out.WriteString("// Code generated by TestPrograms from the functions of this package. DO NOT EDIT.\n\npackage elementary\n\nimport \"unsafe\"\n")
	for _, name := range names {
		fmt.Fprintf(&out, "\n//go:noescape\nfunc %sAVX2(d, x, y unsafe.Pointer, n int) (done int)\n", lower(name))
	}
	out.WriteString("\nvar avx2 = map[string]vectorLoop{\n")
	for _, name := range names {
		fmt.Fprintf(&out, "%q: %sAVX2,\n", lower(name), lower(name))
	}
	out.WriteString("}\n")
	return []byte(out.String())
}
