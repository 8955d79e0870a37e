//go:build !linux || !amd64

package llvm

import (
	"errors"
	"unsafe"
)

// LibraryVariable is the environment variable that names the library to load.
const LibraryVariable = "STARPUSH_LLVM"

// Library is the LLVM library of the machine, which this platform does not use.
type Library struct{}

// Open returns an error on this platform.
func Open() (*Library, error) {
	return nil, errors.New("machine code is made on Linux with x86-64 alone")
}

// Loaded reports whether Open has been called, with success.
func Loaded() bool { return false }

// String returns "".
func (l *Library) String() string { return "" }

// Compile is not called: there is no Library.
func (l *Library) Compile(text string) ([]byte, error) { return nil, errors.ErrUnsupported }

// PTX is not called: there is no Library.
func (l *Library) PTX(text string) (string, error) { return "", errors.ErrUnsupported }

func (l *Library) record() (libraryRecord, error) { return libraryRecord{}, errors.ErrUnsupported }

func trusted(string) error { return errors.ErrUnsupported }

type code struct{}

func loadCode([]byte) (*code, error) { return nil, errors.ErrUnsupported }

func (c *code) call(unsafe.Pointer) int { return stopped }

func pauseFunction() uintptr { return 0 }
