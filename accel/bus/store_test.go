package bus

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/sim"
)

// copies is how many copies were ever begun on devices of one clock.
func copies(devices []accel.Device) (n int64) {
	for _, l := range devices[0].(*sim.Device).Clock().Traffic() {
		n += l.Copies
	}
	return n
}

func TestStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "yet")
	s, err := NewStore(dir, "Some CPU @ 3 GHz")
	must(t, err)
	devices := machine(t, three(1<<20)...)
	if _, err := s.Load(main(), devices); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before anything was measured: %v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a folder is made before anything was measured")
	}
	one, err := s.Get(main(), devices)
	must(t, err)
	n := copies(devices)
	if n == 0 || len(one.Links) != 8 {
		t.Fatalf("%d copies, %v", n, one.Links)
	}
	again, err := s.Get(main(), devices)
	must(t, err)
	if !reflect.DeepEqual(one, again) || copies(devices) != n {
		t.Errorf("measured: %+v; read, after %d more copies: %+v", one, copies(devices)-n, again)
	}
	// equal devices of another process or run
	other := machine(t, three(1<<20)...)
	if again, err = s.Get(main(), other); err != nil || !reflect.DeepEqual(one, again) || copies(other) != 0 {
		t.Errorf("equal devices: %+v after %d copies, %v", again, copies(other), err)
	}
	// other devices, and another machine
	o := three(1 << 20)
	o[2].Main.Latency++
	other = machine(t, o...)
	if _, err := s.Get(main(), other); err != nil || copies(other) == 0 {
		t.Errorf("other devices: %d copies, %v", copies(other), err)
	}
	x, err := NewStore(dir, "another")
	must(t, err)
	other = machine(t, three(1<<20)...)
	if _, err := x.Get(main(), other); err != nil || copies(other) == 0 {
		t.Errorf("another machine: %d copies, %v", copies(other), err)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) != 3 {
		t.Errorf("%v", files)
	}
	// again, because the user says so
	if _, err := s.Renew(main(), devices); err != nil || copies(devices) == n {
		t.Errorf("renewed after %d copies, %v", copies(devices)-n, err)
	}
}

func TestStoreFiles(t *testing.T) {
	for _, c := range []struct {
		name, content string
		err           error
		replaced      bool
	}{
		{"empty", "", ErrCorrupt, true},
		{"text", "hello", ErrCorrupt, true},
		{"cut", `{"starpush_bus": 1, "links": [`, ErrCorrupt, true},
		{"no version", `{}`, ErrCorrupt, true},
		{"newer", `{"starpush_bus": 2, "links": "elsewhere"}`, ErrNewer, false},
		{"negative", `{"starpush_bus": 1, "links": [{"from": "a", "to": "b", "latency_ns": -1}]}`, ErrCorrupt, true},
		{"unknown", `{"starpush_bus": 1, "lines": []}`, ErrCorrupt, true},
		{"of others", `{"starpush_bus": 1, "machine": "m", "main": "ram", "devices": [], "links": []}`, ErrCorrupt, true},
		{"large", strings.Repeat(" ", maxFileBytes+1), ErrCorrupt, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := NewStore(t.TempDir(), "m")
			must(t, err)
			devices := machine(t, three(1<<20)...)
			path := s.Path(main(), devices)
			must(t, os.WriteFile(path, []byte(c.content), 0o666))
			var file *FileError
			if _, err := s.Load(main(), devices); !errors.Is(err, c.err) || !errors.As(err, &file) || file.File != path || file.Remedy == "" {
				t.Errorf("read: %v", err)
			}
			table, err := s.Get(main(), devices)
			if table == nil || len(table.Links) != 8 || copies(devices) == 0 {
				t.Errorf("%+v", table)
			}
			b, _ := os.ReadFile(path)
			if replaced := string(b) != c.content; replaced != c.replaced || (err == nil) != c.replaced {
				t.Errorf("replaced: %v, %v", replaced, err)
			}
		})
	}
}

// A folder that cannot be used costs the file only.
func TestStoreFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o666))
	s, err := NewStore(filepath.Join(file, "below"), "m")
	must(t, err)
	table, err := s.Get(main(), machine(t, three(1<<20)...))
	var bad *FileError
	if table == nil || len(table.Links) != 8 || !errors.As(err, &bad) || !strings.Contains(bad.Remedy, "STARPUSH_BUS_DIR") {
		t.Errorf("%+v, %v", table, err)
	}
	if _, err := NewStore("", "m"); err == nil {
		t.Error("a store without a folder")
	}
	dir, err := Folder(func(string) string { return "x" })
	if dir != "x" || err != nil {
		t.Errorf("%s, %v", dir, err)
	}
}

// A table with links that could not be measured is not kept.
func TestStoreFailure(t *testing.T) {
	s, err := NewStore(t.TempDir(), "m")
	must(t, err)
	devices := machine(t, three(1<<20)...)
	devices[2].(*sim.Device).FailCopy(sim.Nth(1))
	table, err := s.Get(main(), devices)
	if err == nil || len(table.Links) != 7 {
		t.Errorf("%v, %v", table.Links, err)
	}
	if table, err = s.Get(main(), devices); err != nil || len(table.Links) != 8 {
		t.Errorf("%v, %v", table.Links, err)
	}
}

// Only old leftovers of crashes go: others may be writing theirs.
func TestTidy(t *testing.T) {
	s, err := NewStore(t.TempDir(), "m")
	must(t, err)
	old, young := filepath.Join(s.dir, ".1-a.tmp"), filepath.Join(s.dir, ".1-b.tmp")
	for _, f := range []string{old, young} {
		must(t, os.WriteFile(f, nil, 0o666))
	}
	must(t, os.Chtimes(old, time.Time{}, time.Now().Add(-2*leftover)))
	_, err = s.Get(main(), machine(t, three(1<<20)...))
	must(t, err)
	if _, err := os.Stat(old); err == nil {
		t.Error("what a crash left stays")
	}
	if _, err := os.Stat(young); err != nil {
		t.Error(err)
	}
}

// together reads and measures the same devices from many goroutines.
func together(t *testing.T, dir string) {
	var all sync.WaitGroup
	for g := range 4 {
		s, err := NewStore(dir, "m")
		must(t, err)
		all.Go(func() {
			devices := machine(t, three(1<<16)...)
			for range 5 {
				table, err := s.Get(main(), devices)
				if g == 0 {
					table, err = s.Renew(main(), devices)
				}
				if err != nil || len(table.Links) != 8 {
					t.Errorf("%+v, %v", table, err)
				}
			}
		})
	}
	all.Wait()
}

// Goroutines of several processes use one folder at once; each finds whole files.
func TestProcesses(t *testing.T) {
	if dir := os.Getenv("STARPUSH_TEST_BUS"); dir != "" {
		together(t, dir)
		return
	}
	dir := t.TempDir()
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^TestProcesses$")
			cmd.Env = append(os.Environ(), "STARPUSH_TEST_BUS="+dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	together(t, dir)
	all.Wait()
	files, err := os.ReadDir(dir)
	must(t, err)
	if len(files) != 1 || strings.HasSuffix(files[0].Name(), ".tmp") {
		t.Errorf("%v", files)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{``, `{"starpush_bus":1}`, `{"starpush_bus":2}`,
		`{"starpush_bus":1,"machine":"m","main":"ram","time":5,"devices":[{"name":"a","arch":"cpu","memory":"a"}],"links":[{"from":"ram","to":"a","latency_ns":5,"bytes_per_second":1e9},{"from":"a","to":"ram","latency_ns":5,"bytes_per_second":1e9}]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		table, err := decode(b)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNewer) {
				t.Errorf("%v", err)
			}
			return
		}
		for _, l := range table.Links {
			if l.Time(1<<50) < 0 {
				t.Errorf("%+v", l)
			}
			table.Time(l.To, l.From, 8)
		}
		one, err := encode(table)
		must(t, err)
		again, err := decode(one)
		must(t, err)
		two, err := encode(again)
		must(t, err)
		if !bytes.Equal(one, two) {
			t.Errorf("%s\n%s", one, two)
		}
	})
}
