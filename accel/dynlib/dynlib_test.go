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
