package dynlib_test

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/accel/dynlib"
)

// TestOpenNamesReason fails to load a library from many goroutines, which the scheduler moves
// between threads: each error names the file.
func TestOpenNamesReason(t *testing.T) {
	if !dynlib.Supported {
		t.Skip("no libraries on this system")
	}
	var wg sync.WaitGroup
	for range 4 * runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for range 500 {
				if _, err := dynlib.Open("libnothing.so", dynlib.Local); err == nil || !strings.Contains(err.Error(), "libnothing.so") {
					t.Errorf("Open of a missing library: %v", err)
					return
				}
				if _, err := dynlib.SystemSymbol("no_such_function"); err == nil || !strings.Contains(err.Error(), "no_such_function") {
					t.Errorf("SystemSymbol of a missing function: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestCall calls a function of the C library by its address.
func TestCall(t *testing.T) {
	if !dynlib.Supported {
		t.Skip("no libraries on this system")
	}
	abs, err := dynlib.SystemSymbol("labs")
	if err != nil {
		t.Fatal(err)
	}
	minus := -7
	if got := dynlib.Call(abs, uintptr(minus)); got != 7 {
		t.Errorf("labs(-7) = %d", got)
	}
}

// TestCallback lets the C library sort with a comparison that is written in Go.
func TestCallback(t *testing.T) {
	if !dynlib.Supported {
		t.Skip("no libraries on this system")
	}
	sort, err := dynlib.SystemSymbol("qsort")
	if err != nil {
		t.Fatal(err)
	}
	less := dynlib.Callback(func(a, b *int64) int { return int(*a - *b) })
	v := []int64{5, -3, 8, 0}
	dynlib.Call(sort, uintptr(unsafe.Pointer(&v[0])), uintptr(len(v)), 8, less)
	if !slices.Equal(v, []int64{-3, 0, 5, 8}) {
		t.Errorf("sorted: %v", v)
	}
}

// heap returns s in memory that does not move.
//
//go:noinline
func heap(s string) []byte { return []byte(s) }

// TestCaller passes up to 7 arguments, in registers and on the stack, again and again.
func TestCaller(t *testing.T) {
	if !dynlib.Supported {
		t.Skip("no libraries on this system")
	}
	symbol := func(name string) uintptr {
		fn, err := dynlib.SystemSymbol(name)
		if err != nil {
			t.Fatal(err)
		}
		return fn
	}
	var c dynlib.Caller
	minus := -7
	abs, print := symbol("labs"), symbol("snprintf")
	format, out := heap("%ld %ld %ld %ld\x00"), heap(string(make([]byte, 64)))
	for range 1000 {
		if got := c.Call(abs, uintptr(minus)); got != 7 {
			t.Fatalf("labs(-7) = %d", got)
		}
		if runtime.GOARCH != "amd64" {
			continue // functions with a variable number of arguments may take them elsewhere
		}
		n := c.Call(print, uintptr(unsafe.Pointer(&out[0])), uintptr(len(out)), uintptr(unsafe.Pointer(&format[0])), 11, uintptr(minus), 33, 44)
		runtime.KeepAlive(format)
		if got := string(out[:n]); got != "11 -7 33 44" {
			t.Fatalf("snprintf wrote %q", got)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("eight arguments passed")
		}
	}()
	c.Call(abs, 1, 2, 3, 4, 5, 6, 7, 8)
}
