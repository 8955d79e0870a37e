//go:build cuda

package cuda

// cuBLAS and cuSOLVER, when the machine has them. They are loaded at run time: their
// functions have kept their names and arguments since CUDA 11, only the names of the
// files change.

import (
	"fmt"
	"path/filepath"
	"sync"

	"github.com/starpush/starpush/accel/dynlib"
)

// libraries are functions by name; a map is nil where the library was not found.
type libraries struct {
	cublas, cusolver map[string]uintptr
	names            []string // of the files that were loaded
}

// The newest first. cuSOLVER of CUDA 12 still has the number 11.
var (
	cublasFiles   = []string{"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"}
	cusolverFiles = []string{"libcusolver.so.12", "libcusolver.so.11"}

	cublasSymbols = []string{
		"cublasCreate_v2", "cublasDestroy_v2", "cublasSetStream_v2", "cublasSgemm_v2", "cublasDgemm_v2",
		"cublasSsyrk_v2", "cublasDsyrk_v2", "cublasStrsm_v2", "cublasDtrsm_v2",
	}
	cusolverSymbols = []string{
		"cusolverDnCreate", "cusolverDnDestroy", "cusolverDnSetStream", "cusolverDnSpotrf_bufferSize",
		"cusolverDnDpotrf_bufferSize", "cusolverDnSpotrf", "cusolverDnDpotrf",
	}
)

var loaded struct {
	sync.Mutex
	byFolder map[string]*libraries
}

// loadLibraries looks in folders, separated as in PATH, and then where the system
// looks. It does so once for each list.
func loadLibraries(folder string) *libraries {
	loaded.Lock()
	defer loaded.Unlock()
	if l := loaded.byFolder[folder]; l != nil {
		return l
	}
	l := &libraries{}
	l.cublas = l.load(folder, cublasFiles, cublasSymbols)
	l.cusolver = l.load(folder, cusolverFiles, cusolverSymbols)
	if loaded.byFolder == nil {
		loaded.byFolder = map[string]*libraries{}
	}
	loaded.byFolder[folder] = l
	return l
}

func (l *libraries) load(folder string, files, symbols []string) map[string]uintptr {
	var paths []string
	for _, dir := range filepath.SplitList(folder) {
		for _, f := range files {
			paths = append(paths, filepath.Join(dir, f))
		}
	}
	paths = append(paths, files...)
	for _, path := range paths {
		lib, err := dynlib.Open(path, dynlib.Local)
		if err != nil {
			continue
		}
		found := map[string]uintptr{}
		for _, s := range symbols {
			if f, err := dynlib.Symbol(lib, s); err == nil {
				found[s] = f
			}
		}
		if len(found) == len(symbols) {
			l.names = append(l.names, path)
			return found
		}
	}
	return nil
}

// libs are the libraries for a device.
func (d *Device) libs() *libraries {
	if d.noLibs {
		return &libraries{}
	}
	return loadLibraries(d.folder)
}

// Libraries returns the names of the libraries that compute for the device.
func (d *Device) Libraries() []string { return d.libs().names }

// LibraryError is a status of cuBLAS or cuSOLVER.
type LibraryError struct {
	Call   string // "cublasDgemm_v2"
	Status int
}

func (e *LibraryError) Error() string { return fmt.Sprintf("%s: status %d", e.Call, e.Status) }
