//go:build linux && amd64

package llvm

// Object files in executable memory.

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"unsafe"

	"github.com/starpush/starpush/accel/dynlib"
)

// code is machine code in executable memory, which lives as long as the value.
type code struct {
	memory []byte
	entry  uintptr
}

// loadCode puts the sections of an object file for x86-64 into memory, joins them and makes
// them executable. It refuses files that need anything from outside.
func loadCode(object []byte) (*code, error) {
	f, err := elf.NewFile(bytes.NewReader(object))
	if err != nil {
		return nil, err
	}
	if f.Class != elf.ELFCLASS64 || f.Machine != elf.EM_X86_64 || f.Type != elf.ET_REL {
		return nil, fmt.Errorf("the object file is not for x86-64")
	}
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	at, size := make([]uint64, len(f.Sections)), uint64(0)
	for k, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC == 0 || s.Type != elf.SHT_PROGBITS && s.Type != elf.SHT_NOBITS {
			at[k] = ^uint64(0)
			continue
		}
		align := max(s.Addralign, 1)
		size = (size + align - 1) / align * align
		at[k] = size
		size += s.Size
	}
	if size == 0 || size > 1<<28 {
		return nil, fmt.Errorf("the object file has %d bytes", size)
	}
	memory, err := syscall.Mmap(-1, 0, int(size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	c := &code{memory: memory}
	if err := c.fill(f, symbols, at); err != nil {
		syscall.Munmap(memory)
		return nil, err
	}
	if err := syscall.Mprotect(memory, syscall.PROT_READ|syscall.PROT_EXEC); err != nil {
		syscall.Munmap(memory)
		return nil, err
	}
	runtime.AddCleanup(c, func(m []byte) { syscall.Munmap(m) }, memory)
	return c, nil
}

// fill copies the sections to their places and applies the relocations.
func (c *code) fill(f *elf.File, symbols []elf.Symbol, at []uint64) error {
	base := uint64(uintptr(unsafe.Pointer(&c.memory[0])))
	for k, s := range f.Sections {
		if at[k] == ^uint64(0) || s.Type == elf.SHT_NOBITS {
			continue
		}
		data, err := s.Data()
		if err != nil {
			return err
		}
		copy(c.memory[at[k]:], data)
	}
	address := func(s *elf.Symbol) (uint64, error) {
		if int(s.Section) <= 0 || int(s.Section) >= len(at) || at[s.Section] == ^uint64(0) {
			return 0, fmt.Errorf("the machine code needs %q", s.Name)
		}
		return base + at[s.Section] + s.Value, nil
	}
	for k := range symbols {
		if symbols[k].Name == entryName {
			a, err := address(&symbols[k])
			if err != nil {
				return err
			}
			c.entry = uintptr(a)
		}
	}
	if c.entry == 0 {
		return fmt.Errorf("the machine code has no function %s", entryName)
	}
	for _, s := range f.Sections {
		if s.Type != elf.SHT_RELA || int(s.Info) >= len(at) || at[s.Info] == ^uint64(0) {
			continue
		}
		data, err := s.Data()
		if err != nil {
			return err
		}
		for ; len(data) >= 24; data = data[24:] {
			offset, info, addend := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:]), binary.LittleEndian.Uint64(data[16:])
			sym := int(info >> 32)
			if sym == 0 || sym > len(symbols) {
				return fmt.Errorf("a relocation without a symbol")
			}
			a, err := address(&symbols[sym-1])
			if err != nil {
				return err
			}
			place := at[s.Info] + offset
			v, end := a+addend, uint64(len(c.memory))
			t := elf.R_X86_64(info & 0xFFFFFFFF)
			if size := uint64(4); place+size > end || t == elf.R_X86_64_64 && place+8 > end {
				return fmt.Errorf("a relocation outside of the machine code")
			}
			switch t {
			case elf.R_X86_64_64:
				binary.LittleEndian.PutUint64(c.memory[place:], v)
			case elf.R_X86_64_PC32, elf.R_X86_64_PLT32:
				binary.LittleEndian.PutUint32(c.memory[place:], uint32(v-base-place))
			default:
				return fmt.Errorf("a relocation of the kind %v", t)
			}
		}
	}
	return nil
}

// call runs the machine code. The thread is in C for the run, so the garbage collector does
// not wait for it.
func (c *code) call(words unsafe.Pointer) int { return int(cgocall(c.entry, words)) }

// cgocall calls a C function with one argument, as cgo does. Package purego sets up what the runtime
// needs for it without cgo, and its SyscallN calls it, too, after it has copied room for 32
// arguments several times.
//
//go:linkname cgocall runtime.cgocall
func cgocall(fn uintptr, arg unsafe.Pointer) int32

// pauseFunction returns the address of pause for machine code.
var pauseFunction = sync.OnceValue(func() uintptr { return dynlib.Callback(pause) })
