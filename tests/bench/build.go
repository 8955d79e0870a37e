package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed peers/*/peerbench.c peers/starlark peers/starpu-mpi
var peerSources embed.FS

// starpuModules are the names of StarPU's releases in pkg-config, best first.
var starpuModules = []string{"starpu-1.3", "starpu-1.4"}

// missing says what could not be built and what to install. The table is made
// without it.
type missing struct {
	what, install string
	err           error
}

func (m *missing) Error() string {
	return fmt.Sprintf("without %s: %v; on Debian: apt-get install %s", m.what, m.err, m.install)
}

// buildStarPU compiles the StarPU peer and returns the program. When StarPU is
// there but OpenBLAS is not, program runs all but the dense workloads and err
// says so.
func buildStarPU(ctx context.Context, dir string) (program string, err error) {
	var flags []string
	for _, m := range starpuModules {
		var out []byte
		if out, err = output(ctx, "pkg-config", "--cflags", "--libs", m); err == nil {
			flags = strings.Fields(string(out))
			break
		}
	}
	if err != nil {
		return "", &missing{"StarPU", "libstarpu-dev libopenblas-dev liblapacke-dev gcc pkg-config", err}
	}
	flags = append(flags, "-lm")
	program, err = compile(ctx, dir, "starpu", append([]string{"-DWITH_BLAS", "-llapacke", "-lopenblas"}, flags...))
	if err == nil {
		return program, nil
	}
	dense := &missing{"StarPU's dense workloads", "libopenblas-dev liblapacke-dev", err}
	if program, err = compile(ctx, dir, "starpu", flags); err != nil {
		return "", &missing{"StarPU", "libstarpu-dev gcc", err}
	}
	return program, dense
}

// buildOpenMP compiles the OpenMP peer and returns the program.
func buildOpenMP(ctx context.Context, dir string) (string, error) {
	program, err := compile(ctx, dir, "openmp", []string{"-fopenmp"})
	if err != nil {
		return "", &missing{"libgomp", "gcc", err}
	}
	return program, nil
}

// buildStarlark builds the starlark-go peer, a module of its own, and returns the
// program.
func buildStarlark(ctx context.Context, dir string) (string, error) {
	version, err := output(ctx, "go", "version")
	if err != nil {
		return "", &missing{"starlark-go", "golang", err}
	}
	files := map[string]string{"peer.go": "peer.go", "mod.txt": "go.mod", "sum.txt": "go.sum"}
	key := sha256.New()
	key.Write(version)
	tmp, err := os.MkdirTemp(dir, "build")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	for _, from := range slices.Sorted(maps.Keys(files)) {
		text, err := peerSources.ReadFile("peers/starlark/" + from)
		if err != nil {
			return "", err
		}
		key.Write(text)
		if err := os.WriteFile(filepath.Join(tmp, files[from]), text, 0o666); err != nil {
			return "", err
		}
	}
	program := filepath.Join(dir, fmt.Sprintf("starlark-%x", key.Sum(nil)[:8]))
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	out := filepath.Join(tmp, "starlark")
	if _, err := output(ctx, "go", "build", "-C", tmp, "-o", out, "peer.go"); err != nil {
		return "", &missing{"starlark-go", "golang, and a network for its module", err}
	}
	return program, os.Rename(out, program)
}

// compile builds peers/NAME/peerbench.c into dir.
func compile(ctx context.Context, dir, name string, flags []string) (string, error) {
	src, err := peerSources.ReadFile("peers/" + name + "/peerbench.c")
	if err != nil {
		return "", err
	}
	return compileSource(ctx, dir, name, src, flags)
}

// compileSource builds a program of one file in C into dir. A program that was built
// before from the same source, flags and compiler is used again.
func compileSource(ctx context.Context, dir, name string, src []byte, flags []string) (string, error) {
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "gcc"
	}
	version, err := output(ctx, cc, "--version")
	if err != nil {
		return "", err
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%q\n", src, version, flags))
	program := filepath.Join(dir, fmt.Sprintf("%s-%x", name, key[:8]))
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	tmp, err := os.MkdirTemp(dir, "build")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	file := filepath.Join(tmp, name+".c")
	if err := os.WriteFile(file, src, 0o666); err != nil {
		return "", err
	}
	out := filepath.Join(tmp, name)
	// Libraries come behind the source that uses them.
	if _, err := output(ctx, cc, append([]string{"-O2", "-o", out, file}, flags...)...); err != nil {
		return "", err
	}
	return program, os.Rename(out, program)
}

// output runs a program and returns what it prints. The error has the first
// lines of its complaints.
func output(ctx context.Context, program string, args ...string) ([]byte, error) {
	return outputEnv(ctx, nil, program, args...)
}

// outputEnv is output with env added to the environment.
func outputEnv(ctx context.Context, env []string, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), env...)
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		lines := strings.SplitN(strings.TrimSpace(complaints.String()), "\n", 4)
		err = fmt.Errorf("%s: %w: %s", filepath.Base(program), err, strings.Join(lines[:min(3, len(lines))], "; "))
	}
	return out.Bytes(), err
}

// cacheDir is where built peers are kept; it exists.
func cacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	dir = filepath.Join(dir, "starpush", "bench")
	return dir, os.MkdirAll(dir, 0o777)
}
