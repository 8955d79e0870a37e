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
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/starpush/starpush/datamgr/iface"
)

const (
	manifestName       = "manifest"
	stateName          = "state"
	markName           = "starpush-checkpoint" // first file of a generation
	markText           = "The files in this folder are a checkpoint of starpush, which removes them when it has written two newer ones.\n"
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
		if kept < generationsKept && complete(path) {
			kept++
			continue
		}
		removeGeneration(path)
	}
	entries, _ := os.ReadDir(dir) // of no other folder: its name may have the signs of a pattern
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); e.IsDir() && abandoned(path) {
			removeGeneration(path)
		}
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

// removeGeneration removes the files of a generation and then its folder, which stays if anything else is in it. The manifest is
// removed first: no run goes on from a generation without it. The mark is removed last, so that a process that is killed meanwhile leaves a folder that is
// known as a generation.
func removeGeneration(path string) {
	_ = os.Remove(filepath.Join(path, manifestName))
	entries, _ := os.ReadDir(path)
	for _, e := range entries {
		if e.Name() != markName && generationFile(e) {
			_ = os.Remove(filepath.Join(path, e.Name()))
		}
	}
	_ = os.Remove(filepath.Join(path, markName))
	_ = os.Remove(path)
}

var (
	generationFiles = regexp.MustCompile(`^(` + manifestName + `|` + stateName + `|` + markName + `|data-[0-9]+(-[0-9]+)?)$`)
	unfinishedNames = regexp.MustCompile(`^` + regexp.QuoteMeta(unfinished) + `[0-9]+$`) // as os.MkdirTemp makes them
)

// generationFile reports whether a file has a name that those of generations have.
func generationFile(e fs.DirEntry) bool {
	return e.Type().IsRegular() && generationFiles.MatchString(e.Name())
}

// made reports whether this package has made the folder of a generation, which may be damaged. Folders of users may have numbers as names, too. A
// generation has a mark; where that was lost, as in a copy, it has a manifest with the right sum.
func made(path string) bool {
	if regular(filepath.Join(path, markName)) {
		return true
	}
	if !regular(filepath.Join(path, manifestName)) {
		return false
	}
	_, _, err := manifestText(path)
	return err == nil
}

// abandoned reports whether a folder is a generation that was not finished: it has the name of one, and the mark or nothing but
// files of generations.
func abandoned(path string) bool {
	if !unfinishedNames.MatchString(filepath.Base(path)) {
		return false
	}
	entries, err := os.ReadDir(path)
	return err == nil && (regular(filepath.Join(path, markName)) || !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !generationFile(e) }))
}

// regular reports whether a file is there, and neither a folder nor a link.
func regular(path string) bool {
	fi, err := os.Lstat(path)
	return err == nil && fi.Mode().IsRegular()
}

// beginGeneration makes a folder for the files of a generation in dir, with its mark.
func beginGeneration(dir string) (tmp string, err error) {
	if tmp, err = os.MkdirTemp(dir, unfinished); err != nil {
		return "", err
	}
	if err = os.WriteFile(filepath.Join(tmp, markName), []byte(markText), 0o666); err != nil {
		removeGeneration(tmp)
		return "", err
	}
	return tmp, nil
}

// generations lists the generations in dir, the newest first, whether they are usable or not. Links are none.
func generations(dir string) (all []int, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err == nil && n > 0 && n < math.MaxInt && e.IsDir() && strconv.Itoa(n) == e.Name() && made(filepath.Join(dir, e.Name())) {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	slices.Reverse(all)
	return all, nil
}

// nextGeneration returns the first number after that of the newest generation that no other file in dir has as its name.
func nextGeneration(dir string, newest int) (int, error) {
	for n := newest + 1; ; n++ {
		switch _, err := os.Lstat(filepath.Join(dir, strconv.Itoa(n))); {
		case errors.Is(err, fs.ErrNotExist):
			return n, nil
		case err != nil:
			return 0, err
		}
	}
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

// manifestText returns the text of the manifest of a generation, and its sum.
func manifestText(path string) (text, sum string, err error) {
	f, err := os.Open(filepath.Join(path, manifestName))
	if err != nil {
		return "", "", unreadable(err)
	}
	defer f.Close()
	head := make([]byte, 2*sha256.Size+1) // a file of a user may be long
	if _, err := io.ReadFull(f, head); err != nil || head[len(head)-1] != '\n' {
		return "", "", errors.New("its file manifest is damaged")
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return "", "", unreadable(err)
	}
	sum = string(head[:len(head)-1])
	if is := sha256.Sum256(b); hex.EncodeToString(is[:]) != sum {
		return "", "", errors.New("its file manifest is damaged")
	}
	return string(b), sum, nil
}

// readManifest reads the manifest of a generation.
func readManifest(path string) (*manifest, error) {
	text, sum, err := manifestText(path)
	if err != nil {
		return nil, err
	}
	m := &manifest{sum: sum}
	if err := json.Unmarshal([]byte(text), m); err != nil {
		return nil, fmt.Errorf("its file manifest is damaged: %w", err)
	}
	if m.Version != checkpointVersion {
		return nil, fmt.Errorf("it was written by another version of starpush: format %d, and this one reads %d", m.Version, checkpointVersion)
	}
	return m, nil
}

// unreadable says why a file of a generation cannot be read.
func unreadable(err error) error {
	pe := (*fs.PathError)(nil)
	switch {
	case !errors.As(err, &pe):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("its file %s is missing", filepath.Base(pe.Path))
	}
	return fmt.Errorf("its file %s cannot be read: %w", filepath.Base(pe.Path), pe.Err)
}
