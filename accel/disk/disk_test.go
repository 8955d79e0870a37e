package disk

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"go.uber.org/goleak"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/acceltest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("STARPUSH_TEST_DISK"); dir != "" {
		crash(dir)
	}
	goleak.VerifyTestMain(m)
}

// faulty is a file whose next call fails on request.
type faulty struct {
	File
	next atomic.Int32
}

// How a call fails.
const (
	broken = 1 + iota // the disk is full, or does not answer
	short             // it does half, and says so
)

func (f *faulty) WriteAt(b []byte, at int64) (int, error) {
	switch f.next.Swap(0) {
	case broken:
		return 0, &os.PathError{Op: "write", Path: "gone", Err: syscall.ENOSPC}
	case short:
		n, _ := f.File.WriteAt(b[:len(b)/2], at)
		return n, nil
	}
	return f.File.WriteAt(b, at)
}

func (f *faulty) ReadAt(b []byte, at int64) (int, error) {
	switch f.next.Swap(0) {
	case broken:
		clear(b)
		return len(b) / 2, syscall.EIO
	case short:
		return f.File.ReadAt(b[:len(b)/2], at)
	}
	return f.File.ReadAt(b, at)
}

func TestDevice(t *testing.T) {
	open := func() ([]accel.Device, error) {
		dir := t.TempDir()
		var ds []accel.Device
		for _, o := range []Options{{}, {Name: "other", Capacity: 32 << 20}} {
			d, err := Open(dir, o)
			if err != nil {
				return nil, err
			}
			ds = append(ds, d)
		}
		return ds, nil
	}
	acceltest.Run(t, open, acceltest.Options{Memory: true})
}

func TestDeviceThatFails(t *testing.T) {
	var f *faulty
	open := func() ([]accel.Device, error) {
		d, err := Open(t.TempDir(), Options{Wrap: func(file File) File { f = &faulty{File: file}; return f }})
		return []accel.Device{d}, err
	}
	kinds := 0
	acceltest.Run(t, open, acceltest.Options{Memory: true, Faults: func(accel.Device) acceltest.Faults {
		return acceltest.Faults{Copy: func() {
			kinds++
			f.next.Store(int32(broken + kinds%2))
		}}
	}})
}

// TestErrors: what a disk says when it fails.
func TestErrors(t *testing.T) {
	dir := t.TempDir()
	var f *faulty
	d := open(t, dir, Options{Wrap: func(file File) File { f = &faulty{File: file}; return f }})
	main := accel.NewHeap("ram", 1<<20)
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h := make([]byte, 100)
	p, err := d.Memory().Alloc(100)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Memory().Free(p, 100)
	there := &accel.Copy{Dst: accel.Place{Mem: d.Memory(), Ptr: p}, Src: accel.Place{Mem: main, Ptr: unsafe.Pointer(&h[0])}, Bytes: 100, Count: accel.Counts()}
	back := &accel.Copy{Dst: there.Src, Src: there.Dst, Bytes: 100, Count: accel.Counts()}
	for _, c := range []struct {
		how  int32
		copy *accel.Copy
		is   error
		want string
	}{
		{broken, there, syscall.ENOSPC, "copying 100 bytes from ram to disk failed: writing the file in " + dir + ": no space left on device"},
		{short, there, io.ErrShortWrite, "writing the file in " + dir + ": short write"},
		{short, back, io.ErrUnexpectedEOF, "reading the file in " + dir + ": unexpected EOF"},
		{broken, back, syscall.EIO, "copying 100 bytes from disk to ram failed: reading the file in " + dir + ": input/output error"},
	} {
		f.next.Store(c.how)
		if err := s.Copy(c.copy); err != nil {
			t.Fatal(err)
		}
		if err := s.Sync(); !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if err := d.mem.d.mu.file.f.Truncate(0); err != nil { // the file is cut from outside
		t.Fatal(err)
	}
	if err := s.Copy(back); err != nil {
		t.Fatal(err)
	}
	if err := s.Sync(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("reading a file that was cut: %v", err)
	}
}

func open(t *testing.T, dir string, o Options) *Device {
	t.Helper()
	d, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// TestFolders: what Open says of folders that will not do.
func TestFolders(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	closed := filepath.Join(dir, "closed")
	if err := os.Mkdir(closed, 0o500); err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{
		filepath.Join(dir, "none"): "disk: there is no folder " + filepath.Join(dir, "none") + "; make it, or name another one",
		file:                       "disk: " + file + " is no folder; name another folder",
	}
	if os.Getuid() != 0 {
		cases[closed] = "disk: no file can be made in " + closed + ": permission denied; name another folder"
	}
	for dir, want := range cases {
		_, err := Open(dir)
		var none *accel.UnavailableError
		if !errors.As(err, &none) || err.Error() != want {
			t.Errorf("%s: %v, want %s", dir, err, want)
		}
	}
}

// files are those of ours in a folder.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		names = append(names, f.Name())
	}
	return names
}

// TestNothingIsLeft: neither after Close, nor of a process that ended, nor of one
// that ended before its file lost its name.
func TestNothingIsLeft(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[b]*")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"nameless", "named"} { // a device removes what was left before
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "STARPUSH_TEST_DISK="+dir, "STARPUSH_TEST_HOW="+how)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "working") {
			t.Fatalf("the process that was to die: %v: %s", err, out)
		}
	}
	if n := len(files(t, dir)); n == 0 {
		t.Fatal("no process has left a file")
	}
	other := filepath.Join(dir, "starpush-mine.txt")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a := open(t, dir, Options{})
	b := open(t, dir, Options{}) // leaves that of a alone
	want := 1
	if !nameless {
		want = 3
	}
	if names := files(t, dir); len(names) != want {
		t.Errorf("the folder holds %v", names)
	}
	for _, d := range []*Device{a, b} {
		work(t, d)
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if names := files(t, dir); len(names) != 1 || names[0] != filepath.Base(other) {
		t.Errorf("at the end the folder holds %v", names)
	}
}

// TestLeftAlone: a file that a process uses is left alone although it has a name.
func TestLeftAlone(t *testing.T) {
	dir := t.TempDir()
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := lock(f); err != nil {
		t.Fatal(err)
	}
	open(t, dir, Options{})
	if _, err := os.Stat(f.Name()); err != nil {
		t.Error(err)
	}
}

// crash is a process that ends while it uses a disk, by the hand of another.
func crash(dir string) {
	if os.Getenv("STARPUSH_TEST_HOW") == "named" {
		f, err := os.CreateTemp(dir, pattern)
		if err != nil || lock(f) != nil {
			os.Exit(0)
		}
	} else if _, err := Open(dir); err != nil {
		os.Exit(0)
	}
	os.Stdout.WriteString("working")
	p, err := os.FindProcess(os.Getpid())
	if err == nil {
		p.Kill()
	}
	select {}
}

// work sends something there and back.
func work(t *testing.T, d *Device) {
	t.Helper()
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	main := accel.NewHeap("ram", 1<<30)
	const n = 1 << 20
	in, out := make([]byte, n), make([]byte, n)
	for i := range in {
		in[i] = byte(i * 7 / 3)
	}
	p, err := d.Memory().Alloc(n)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Memory().Free(p, n)
	at := accel.Place{Mem: d.Memory(), Ptr: p}
	for _, c := range []*accel.Copy{
		{Dst: at, Src: accel.Place{Mem: main, Ptr: unsafe.Pointer(&in[0])}, Bytes: n, Count: accel.Counts()},
		{Dst: accel.Place{Mem: main, Ptr: unsafe.Pointer(&out[0])}, Src: at, Bytes: n, Count: accel.Counts()},
	} {
		if err := s.Copy(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Sync(); err != nil || !bytes.Equal(in, out) {
		t.Errorf("there and back: %v", err)
	}
}

// TestSpace: what is freed is used again, blocks never overlap, and a file does not
// grow for ever.
func TestSpace(t *testing.T) {
	d := open(t, t.TempDir(), Options{Capacity: 1 << 22})
	m := d.mem
	rng := rand.New(rand.NewPCG(3, 4))
	type held struct {
		p unsafe.Pointer
		n int64
	}
	var all []held
	for range 3000 {
		if rng.IntN(2) == 0 && len(all) > 0 {
			k := rng.IntN(len(all))
			m.Free(all[k].p, all[k].n)
			all[k] = all[len(all)-1]
			all = all[:len(all)-1]
			continue
		}
		n := rng.Int64N([]int64{100, 5000, 200_000}[rng.IntN(3)])
		p, err := m.Alloc(n)
		if err != nil {
			continue // full
		}
		for _, h := range all {
			if uintptr(p) < uintptr(h.p)+uintptr(max(h.n, 1)) && uintptr(h.p) < uintptr(p)+uintptr(max(n, 1)) {
				t.Fatalf("%d bytes at %p and %d at %p", n, p, h.n, h.p)
			}
		}
		all = append(all, held{p, n})
	}
	for _, h := range all {
		m.Free(h.p, h.n)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Allocated() != 0 || len(m.mu.blocks) != 0 || len(m.mu.holes) != 1 || m.mu.holes[0].at != 0 {
		t.Errorf("at the end: %d bytes, %d blocks, holes %v", m.Allocated(), len(m.mu.blocks), m.mu.holes)
	}
	if m.mu.size > 4<<22 {
		t.Errorf("for %d bytes the file has %d", m.Capacity(), m.mu.size)
	}
}

// text is a source in memory, which ends or changes on request.
type text struct {
	b       []byte
	ends    atomic.Int64 // if it is not 0, no byte behind it is there
	changed atomic.Bool
	closed  atomic.Int32
}

func (s *text) ReadAt(b []byte, at int64) (int, error) {
	if e := s.ends.Load(); e != 0 && at+int64(len(b)) > e {
		return 0, io.ErrUnexpectedEOF
	}
	return copy(b, s.b[at:]), nil
}

func (s *text) Changed() error {
	if s.changed.Load() {
		return errors.New("it was changed")
	}
	return nil
}

func (s *text) Close() error { s.closed.Add(1); return nil }

// TestAllocFrom copies random rows to and from a block that begins as a source, from several
// streams at once that do not touch each other's bytes.
func TestAllocFrom(t *testing.T) {
	const size, streams = 37*page + 123, 4
	d := open(t, t.TempDir(), Options{})
	main := accel.NewHeap("ram", 1<<20)
	src := &text{b: make([]byte, size)}
	r := rand.New(rand.NewPCG(1, 19))
	for i := range src.b {
		src.b[i] = byte(r.Uint32())
	}
	want := bytes.Clone(src.b)
	p, err := d.mem.AllocFrom(src, size)
	if err != nil {
		t.Fatal(err)
	}
	if n := d.mem.Allocated(); n != 0 {
		t.Errorf("%d bytes are allocated before anything was written", n)
	}
	done := make(chan error)
	for k := range streams {
		go func() { done <- useStrip(d, main, p, want, k, streams) }()
	}
	for range streams {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n := d.mem.Allocated(); n <= 0 || n > size {
		t.Errorf("%d bytes are allocated of a block of %d", n, size)
	}
	d.mem.Free(p, size)
	if n := d.mem.Allocated(); n != 0 || src.closed.Load() != 1 {
		t.Errorf("%d bytes are allocated after Free; the source was closed %d times", n, src.closed.Load())
	}
}

// useStrip reads and writes rows of the block at p: those whose number is k modulo of.
func useStrip(d *Device, main accel.Memory, p unsafe.Pointer, want []byte, k, of int) error {
	s, err := d.NewStream()
	if err != nil {
		return err
	}
	defer s.Close()
	r := rand.New(rand.NewPCG(uint64(k), 20))
	const line = 1000
	lines := len(want) / line
	for range 500 {
		first := r.IntN(lines/of)*of + k
		n := r.IntN((lines-1-first)/of+1) + 1
		from := r.IntN(line)
		bytesOf := 1 + r.IntN(line-from)
		b := make([]byte, n*bytesOf)
		at := unsafe.Add(p, first*line+from)
		c := accel.Copy{Dst: accel.Place{Mem: main, Ptr: unsafe.Pointer(&b[0])}, Src: accel.Place{Mem: d.mem, Ptr: at}, Bytes: int64(bytesOf), Count: accel.Counts(int64(n))}
		c.DstStep[0], c.SrcStep[0] = int64(bytesOf), int64(of*line)
		write := r.IntN(2) == 0
		if write {
			c.Dst, c.Src, c.DstStep, c.SrcStep = c.Src, c.Dst, c.SrcStep, c.DstStep
			for i := range b {
				b[i] = byte(r.Uint32())
			}
		}
		if err := errors.Join(s.Copy(&c), s.Sync()); err != nil {
			return err
		}
		for i := range n {
			row := want[(first+i*of)*line+from:][:bytesOf]
			if got := b[i*bytesOf:][:bytesOf]; write {
				copy(row, got)
			} else if !bytes.Equal(row, got) {
				return errors.New("a row is not what was written there last")
			}
		}
	}
	return nil
}

// TestSourceThatFails reads a source that ends too early, and one that changes.
func TestSourceThatFails(t *testing.T) {
	d := open(t, t.TempDir(), Options{})
	main := accel.NewHeap("ram", 1<<20)
	src := &text{b: make([]byte, 3*page)}
	p, err := d.mem.AllocFrom(src, 3*page)
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := make([]byte, 100)
	move := func(at int, write bool) error {
		c := accel.Copy{Dst: accel.Place{Mem: main, Ptr: unsafe.Pointer(&b[0])}, Src: accel.Place{Mem: d.mem, Ptr: unsafe.Add(p, at)}, Bytes: 100, Count: accel.Counts()}
		if write {
			c.Dst, c.Src = c.Src, c.Dst
		}
		return errors.Join(s.Copy(&c), s.Sync())
	}
	src.ends.Store(page)
	if err := move(0, false); err != nil {
		t.Error(err)
	}
	for _, write := range []bool{false, true} { // part of a page is written: the rest must be read
		if err := move(page+8, write); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("behind the end, write %v: %v", write, err)
		}
	}
	if n := d.mem.Allocated(); n != 0 {
		t.Errorf("%d bytes are allocated after a write that failed", n)
	}
	src.ends.Store(0)
	src.changed.Store(true)
	for _, write := range []bool{false, true} {
		if err := move(page+8, write); err == nil || !strings.Contains(err.Error(), "it was changed") {
			t.Errorf("changed, write %v: %v", write, err)
		}
	}
	src.changed.Store(false)
	if err := errors.Join(move(page+8, true), move(page+8, false)); err != nil {
		t.Error(err)
	}
	if err := d.Close(); err != nil || src.closed.Load() != 1 {
		t.Errorf("closing: %v; the source was closed %d times", err, src.closed.Load())
	}
}
