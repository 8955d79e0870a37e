package llvm

// Machine code that is kept between runs of programs.

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/starpush/starpush/lang/kernel/ir"
)

// Cache is a folder with machine code, which any number of processes may use at a time. The
// zero value keeps nothing. Code is taken only from files that belong to the user and that
// no other user may write, in a folder that does.
type Cache struct{ dir string }

// The bounds of a cache. When one is passed, the files that were not used for the longest time
// are removed, down to three quarters.
const (
	maxCacheFiles = 4000 // two for each body
	maxCacheBytes = 64 << 20
)

// cacheVersion changes when the text of equal bodies no longer means the same to Kernel.
const cacheVersion = "starpush machine code 3\n"

// hasAVX512 reports whether the processor has vectors of 64 bytes.
func hasAVX512() bool { return strings.Contains(processorID(), " avx512vl ") }

// NewCache returns the cache in a folder, which need not exist. With "" it keeps nothing.
func NewCache(dir string) *Cache { return &Cache{dir} }

// libraryFile is the name of the file that describes the library that last compiled code.
const libraryFile = "library.json"

// libraryRecord describes a library by its file, which can be compared without loading it.
type libraryRecord struct {
	Path     string    `json:"path"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	Version  string    `json:"version"`
}

// recordOf describes the file of a library.
func recordOf(path, version string) (libraryRecord, error) {
	info, err := os.Stat(path)
	if err != nil {
		return libraryRecord{}, err
	}
	return libraryRecord{path, info.Size(), info.ModTime().UTC(), version}, nil
}

// processorID describes the processor: code for one may not run on another.
var processorID = sync.OnceValue(func() string {
	data, _ := os.ReadFile("/proc/cpuinfo")
	first, _, _ := strings.Cut(string(data), "\n\n")
	var lines []string
	for line := range strings.Lines(first) {
		name, _, _ := strings.Cut(line, "\t")
		switch name {
		case "vendor_id", "cpu family", "model", "model name", "stepping", "flags":
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
})

// library returns the version of the library that last compiled code of c, if its file is
// unchanged.
func (c *Cache) library() (r libraryRecord, ok bool) {
	data, err := c.read(libraryFile)
	if err != nil || json.Unmarshal(data, &r) != nil {
		return r, false
	}
	now, err := recordOf(r.Path, r.Version)
	return r, err == nil && now.Size == r.Size && now.Modified.Equal(r.Modified)
}

// key returns the name of the file for a module that a library compiled.
func key(text string, l libraryRecord, processor string) string {
	h := sha256.New()
	library := fmt.Sprint(l.Path, l.Size, l.Modified.UnixNano(), l.Version)
	for _, s := range []string{cacheVersion, library, processor, text} {
		fmt.Fprintf(h, "%d\n%s", len(s), s)
	}
	return hex.EncodeToString(h.Sum(nil)) + ".o"
}

// bodyFile returns the name of the empty file that says that there is code of a body: its name
// needs no LLVM IR, which takes longer to write than the body to hash.
func bodyFile(fn *ir.Func) string { return fn.Hash() + ".body" }

// MayHave reports whether the cache is likely to have the machine code of a body, which then has
// run for some time in a program before. It takes some microseconds. Body.Cached finds out.
func (c *Cache) MayHave(fn *ir.Func) bool {
	if c == nil || c.dir == "" || os.Getenv(LibraryVariable) == "none" {
		return false
	}
	_, err := os.Lstat(filepath.Join(c.dir, bodyFile(fn)))
	return err == nil
}

// note says that there is code of a body, which was used now.
func (c *Cache) note(fn *ir.Func) {
	if c.dir == "" {
		return
	}
	name := filepath.Join(c.dir, bodyFile(fn))
	now := time.Now()
	if err := os.Chtimes(name, now, now); errors.Is(err, fs.ErrNotExist) {
		_ = os.WriteFile(name, nil, 0o600) // without it the code is found later
	}
}

// get returns the code that is kept under a name, or nil.
func (c *Cache) get(name string) []byte {
	data, err := c.read(name)
	if err != nil {
		return nil
	}
	rest, ok := bytes.CutPrefix(data, []byte(cacheVersion))
	if !ok || len(rest) < sha256.Size {
		return nil
	}
	object := rest[sha256.Size:]
	if sum := sha256.Sum256(object); !bytes.Equal(sum[:], rest[:sha256.Size]) {
		return nil // damaged
	}
	now := time.Now()
	_ = os.Chtimes(filepath.Join(c.dir, name), now, now) // the file was used
	return object
}

// put keeps code under a name.
func (c *Cache) put(name string, object []byte, l libraryRecord) error {
	if c.dir == "" {
		return nil
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	if err := trusted(c.dir); err != nil {
		return err
	}
	sum := sha256.Sum256(object)
	if err := c.write(name, slices.Concat([]byte(cacheVersion), sum[:], object)); err != nil {
		return err
	}
	if data, err := json.Marshal(l); err == nil && l.Path != "" {
		if old, err := c.read(libraryFile); err != nil || !bytes.Equal(old, data) {
			if err := c.write(libraryFile, data); err != nil {
				return err
			}
		}
	}
	return c.trim()
}

// read reads a file of the folder, if no other user could have written it.
func (c *Cache) read(name string) ([]byte, error) {
	if c.dir == "" {
		return nil, fs.ErrNotExist
	}
	if err := trusted(c.dir); err != nil {
		return nil, err
	}
	path := filepath.Join(c.dir, name)
	if err := trusted(path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// write writes a file of the folder at once: readers see all of it, or the old one.
func (c *Cache) write(name string, data []byte) error {
	f, err := os.CreateTemp(c.dir, "new-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(c.dir, name))
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// trim removes files until the folder keeps to its bounds, and temporary files of processes that
// ended while they wrote.
func (c *Cache) trim() error {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	type file struct {
		name  string
		bytes int64
		used  time.Time
	}
	var files []file
	total := int64(0)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue // another process has removed it
		}
		switch {
		case strings.HasPrefix(e.Name(), "new-") && time.Since(info.ModTime()) > time.Hour:
			_ = os.Remove(filepath.Join(c.dir, e.Name()))
		case strings.HasSuffix(e.Name(), ".o"), strings.HasSuffix(e.Name(), ".body"):
			files = append(files, file{e.Name(), info.Size(), info.ModTime()})
			total += info.Size()
		}
	}
	if len(files) <= maxCacheFiles && total <= maxCacheBytes {
		return nil
	}
	slices.SortFunc(files, func(a, b file) int { return a.used.Compare(b.used) })
	left := len(files)
	for _, f := range files {
		if left <= maxCacheFiles*3/4 && total <= maxCacheBytes*3/4 {
			break
		}
		_ = os.Remove(filepath.Join(c.dir, f.name)) // another process may have done so
		left--
		total -= f.bytes
	}
	return nil
}
