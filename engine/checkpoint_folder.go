package engine

// Folders of checkpoints: the files of generations, and which generations there are.

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
)

const (
	manifestName       = "manifest"
	stateName          = "state"
	unfinished         = ".unfinished-" // prefix of generations that are being written
	generationsKept    = 2
	checkpointVersion  = 2
	checkpointBufBytes = 1 << 16
)

// manifest describes the files of a generation.
type manifest struct {
	sum     string // of its text
	Version int
	State   savedFile
	Data    []savedData
	Ranks   int // that wrote it
	Numbers int `json:",omitempty"` // that they have given to data, see CheckpointGroup
}

type savedFile struct {
	File  string
	Bytes int64
	Sum   string // SHA-256
}

// savedData is what a rank wrote of one datum. Elements lie row by row, box by box, in the byte order of the machine.
type savedData struct {
	Name   string
	Type   string // as Desc.String has it, with the capacity
	Rank   int    `json:",omitempty"`
	Number int    `json:",omitempty"` // see CheckpointGroup
	savedFile
	Packed  bool                    `json:",omitempty"` // a value of a Go type, as its Pack gave it
	Content []int                   `json:",omitempty"` // sizes, of data with a capacity
	Boxes   [][2][iface.MaxRank]int `json:",omitempty"` // that have a value, if not all do
	Part    bool                    `json:",omitempty"` // Boxes is set, or nothing has a value
	Order   string                  // of bytes
}

// writeManifest writes the state and the manifest, the last files of a generation.
func writeManifest(tmp string, m *manifest, state []byte) (err error) {
	if m.State, err = writeSaved(tmp, stateName, func(w io.Writer) error { _, err := w.Write(state); return err }); err != nil {
		return err
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	if _, err = writeSaved(tmp, manifestName, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%x\n%s", sum, text)
		return err
	}); err != nil {
		return err
	}
	return syncDir(tmp)
}

// removeOld removes generations that are not kept, and what processes that were killed have left. A folder that cannot be
// removed is left, which does no harm. all are the generations, the newest first.
func removeOld(dir string, all []int) {
	kept := 0
	for _, n := range all {
		path := filepath.Join(dir, strconv.Itoa(n))
		if kept < generationsKept {
			if complete(path) {
				kept++
				continue
			}
		}
		removeGeneration(path)
	}
	left, _ := filepath.Glob(filepath.Join(dir, unfinished+"*"))
	for _, path := range left {
		_ = os.RemoveAll(path)
	}
}

// complete reports whether a generation has all its files, with the lengths that they had: a look at their bytes, as OpenCheckpoint
// takes it, would take as long as writing them.
func complete(path string) bool {
	m, err := readManifest(path)
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(append(files(m.Data), m.State), func(f savedFile) bool {
		fi, err := os.Stat(filepath.Join(path, filepath.Base(f.File)))
		return err != nil || fi.Size() != f.Bytes
	})
}

// removeGeneration removes the manifest first: what is left of a generation then is none.
func removeGeneration(path string) {
	_ = os.Remove(filepath.Join(path, manifestName))
	_ = os.RemoveAll(path)
}

// generations lists the generations in dir, the newest first, whether they are usable or not.
func generations(dir string) (all []int, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && n > 0 && e.IsDir() && strconv.Itoa(n) == e.Name() {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	slices.Reverse(all)
	return all, nil
}

// writeSaved writes a file of a generation, and returns when it is on the disk.
func writeSaved(dir, name string, fill func(io.Writer) error) (s savedFile, err error) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return s, err
	}
	sum := &summed{w: f, sum: sha256.New()}
	out := bufio.NewWriterSize(sum, checkpointBufBytes)
	err = fill(out)
	if e := out.Flush(); err == nil {
		err = e
	}
	if e := f.Sync(); err == nil {
		err = e
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return savedFile{name, sum.n, hex.EncodeToString(sum.sum.Sum(nil))}, err
}

// summed counts and sums up what is written.
type summed struct {
	w   io.Writer
	n   int64
	sum hash.Hash
}

func (s *summed) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	s.n += int64(n)
	s.sum.Write(b[:n])
	return n, err
}

// syncDir returns when the names in a folder are on the disk.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrInvalid) || errors.Is(err, fs.ErrPermission) {
		err = nil // folders of this system cannot be synced
	}
	if e := d.Close(); err == nil {
		err = e
	}
	return err
}

func files(data []savedData) (all []savedFile) {
	for i := range data {
		all = append(all, data[i].savedFile)
	}
	return all
}

// readManifest reads the manifest of a generation.
func readManifest(path string) (*manifest, error) {
	b, err := os.ReadFile(filepath.Join(path, manifestName))
	if err != nil {
		return nil, err
	}
	sum, text, _ := strings.Cut(string(b), "\n")
	if is := sha256.Sum256([]byte(text)); hex.EncodeToString(is[:]) != sum {
		return nil, errors.New("its manifest is damaged")
	}
	m := &manifest{sum: sum}
	if err := json.Unmarshal([]byte(text), m); err != nil {
		return nil, fmt.Errorf("its manifest is damaged: %w", err)
	}
	if m.Version != checkpointVersion {
		return nil, fmt.Errorf("it was written by another version of starpush: format %d, and this one reads %d", m.Version, checkpointVersion)
	}
	return m, nil
}
