//go:build cuda

// Package cudatest is a CUDA driver without a device, for tests: it is made of
// C, and does what is asynchronous asynchronously. Its source is testdata/fake in
// the folder above.
package cudatest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// Use makes the driver that of this process, in which none must be in use. gcc
// builds it when there is none of this source.
var Use = sync.OnceValue(func() error {
	dir, err := build()
	if err != nil {
		return err
	}
	return os.Setenv("STARPUSH_CUDA_LIBS", dir)
})

// build returns the folder with libcuda, libcublas and libcusolver.
func build() (string, error) {
	home, err := home()
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	for _, pattern := range []string{"testdata/fake/*", "include/*", "kernels/*"} {
		files, err := filepath.Glob(filepath.Join(home, pattern))
		if err != nil {
			return "", err
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(hash, "%s %d\n%s", filepath.Base(f), len(text), text)
		}
	}
	dir := filepath.Join(home, "lib", fmt.Sprintf("fake-%x", hash.Sum(nil)[:8]))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "building")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	if err := compile(home, work); err != nil {
		return "", err
	}
	if err := os.Rename(work, dir); err != nil && !errors.Is(err, fs.ErrExist) { // another process was faster
		return "", err
	}
	return dir, nil
}

// compile runs gcc in home.
func compile(home, to string) error {
	gcc := func(file string, more ...string) error {
		cmd := exec.Command("gcc", append([]string{"-O2", "-g", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-shared", "-fPIC", "-pthread",
			"-Iinclude", "-Ikernels", "-Wl,-soname," + file, "-o", filepath.Join(to, file)}, more...)...)
		cmd.Dir = home
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("building the fake %s: %w\n%s", file, err, out)
		}
		return nil
	}
	const src = "testdata/fake/"
	driver := filepath.Join(to, "libcuda.so.1")
	if err := gcc("libcuda.so.1", src+"fake.c", src+"kernels.c", "-lm"); err != nil {
		return err
	}
	return errors.Join(gcc("libcublas.so.12", src+"blas.c", driver, "-lm"), gcc("libcusolver.so.11", src+"blas.c", driver, "-lm"))
}

// home is the folder of package cuda: tests run in folders of the repository.
func home() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		cuda := filepath.Join(dir, "accel", "cuda")
		if _, err := os.Stat(filepath.Join(cuda, "testdata", "fake", "fake.c")); err == nil {
			return cuda, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("cudatest: the C files of the fake driver are in the repository, and this is not")
		}
		dir = up
	}
}
