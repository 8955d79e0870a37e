//go:build linux && amd64

package llvm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang/kernel/kerneltest"
)

// TestCache compiles a body, and takes it from the cache as another process would.
func TestCache(t *testing.T) {
	l := library(t)
	c := NewCache(filepath.Join(t.TempDir(), "a", "b"))
	b, err := NewBody(kerneltest.Lowered(t, fmt.Sprintf(kerneltest.LoopCodelet, "each i in y { y[i] = x[i] * 3.0 }"), nil))
	if err != nil {
		t.Fatal(err)
	}
	if k := b.Cached(c); k != nil || c.MayHave(b.fn) {
		t.Fatal("an empty cache has machine code")
	}
	if _, err := b.Compile(l, c); err != nil {
		t.Fatal(err)
	}
	k := b.Cached(c)
	if k == nil || !c.MayHave(b.fn) {
		t.Fatal("the cache has no machine code")
	}
	if NewCache("").MayHave(b.fn) || (*Cache)(nil).MayHave(b.fn) {
		t.Error("a cache that keeps nothing has machine code")
	}
	list, read := kerneltest.LoopData(20)
	if err := k.Run(&kerneltest.Task{Ctx: context.Background(), Bufs: list, Scalars: []iface.Scalar{iface.Int(20)}}); err != nil {
		t.Fatal(err)
	}
	if y := read()[4]; y != read()[4] || y == 0 {
		t.Errorf("y[3] = %v", y)
	}

	files, _ := filepath.Glob(filepath.Join(c.dir, "*.o"))
	if len(files) != 1 {
		t.Fatalf("files %v", files)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	damage := func(name string, change func()) {
		t.Helper()
		change()
		if b.Cached(c) != nil {
			t.Errorf("%s: the cache returned machine code", name)
		}
		for _, dir := range []string{c.dir, files[0]} {
			mode := os.FileMode(0o600)
			if dir == c.dir {
				mode = 0o700
			}
			if err := os.Chmod(dir, mode); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(files[0], whole, 0o600); err != nil {
			t.Fatal(err)
		}
		if b.Cached(c) == nil {
			t.Errorf("after %s: the cache has no machine code", name)
		}
	}
	damage("a short file", func() { os.WriteFile(files[0], whole[:len(whole)/2], 0o600) })
	damage("an empty file", func() { os.WriteFile(files[0], nil, 0o600) })
	damage("another byte", func() {
		bad := append([]byte(nil), whole...)
		bad[len(bad)-9] ^= 1
		os.WriteFile(files[0], bad, 0o600)
	})
	damage("a file that others may write", func() { os.Chmod(files[0], 0o666) })
	damage("a folder that others may write", func() { os.Chmod(c.dir, 0o777) })

	t.Run("none", func(t *testing.T) {
		t.Setenv(LibraryVariable, "none")
		if b.Cached(c) != nil || c.MayHave(b.fn) {
			t.Error("the cache returned machine code, and the machine is to be one without a library")
		}
	})

	// a cache of an earlier version has no note of the body
	if err := os.Remove(filepath.Join(c.dir, bodyFile(b.fn))); err != nil {
		t.Fatal(err)
	}
	if b.Cached(c) == nil || !c.MayHave(b.fn) {
		t.Error("code that was used has no note")
	}

	// another library has no code here
	os.WriteFile(filepath.Join(c.dir, libraryFile), []byte(`{"path": "/bin/sh", "size": 1}`), 0o600)
	if b.Cached(c) != nil {
		t.Error("the cache returned code of another library")
	}
}

// TestNoCache compiles with a cache that keeps nothing: no file is written anywhere.
func TestNoCache(t *testing.T) {
	l := library(t)
	t.Chdir(t.TempDir())
	b, err := NewBody(kerneltest.Lowered(t, fmt.Sprintf(kerneltest.LoopCodelet, "v += 1.0"), nil))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Compile(l, NewCache("")); err != nil {
		t.Fatal(err)
	}
	if files, err := os.ReadDir("."); err != nil || len(files) > 0 {
		t.Error(files, err)
	}
}

// TestCacheBounds fills a cache beyond its bound.
func TestCacheBounds(t *testing.T) {
	c := NewCache(t.TempDir())
	old := time.Now().Add(-time.Hour * 24)
	for k := range maxCacheFiles {
		name := filepath.Join(c.dir, fmt.Sprintf("%d.o", k))
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		used := old.Add(time.Duration(k) * time.Second)
		os.Chtimes(name, used, used)
	}
	left := filepath.Join(c.dir, "new-1")
	os.WriteFile(left, nil, 0o600)
	os.Chtimes(left, old, old)
	if err := c.put("new.o", []byte("code"), libraryRecord{}); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(c.dir, "*"))
	if len(files) != maxCacheFiles*3/4 {
		t.Errorf("%d files", len(files))
	}
	if string(c.get("new.o")) != "code" {
		t.Error("the new file is gone")
	}
	if _, err := os.Stat(filepath.Join(c.dir, "0.o")); err == nil {
		t.Error("the oldest file is there")
	}
}

// TestCacheUnwritable compiles although the cache cannot be written.
func TestCacheUnwritable(t *testing.T) {
	l := library(t)
	file := filepath.Join(t.TempDir(), "file")
	os.WriteFile(file, nil, 0o600)
	b, err := NewBody(kerneltest.Lowered(t, fmt.Sprintf(kerneltest.LoopCodelet, "v += 1.0"), nil))
	if err != nil {
		t.Fatal(err)
	}
	if k, err := b.Compile(l, NewCache(filepath.Join(file, "folder"))); err != nil || k == nil {
		t.Error(err)
	}
}
