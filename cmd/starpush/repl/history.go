package repl

// History: the entries of this and earlier sessions.

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/starpush/starpush/lang"
)

// lineEnd replaces the ends of lines of an entry in the file: the record separator, which no
// keyboard types.
const lineEnd = "\x1e"

// HistoryLimit is the number of entries that are kept.
const HistoryLimit = 10_000

// A History is the list of entries, oldest first, and the file that holds them, each on
// one line, with lineEnd between its lines. It is safe for concurrent use.
type History struct {
	path string // "": in memory only

	mu struct {
		sync.Mutex
		entries []string
	}
}

// OpenHistory reads the history file, which need not exist. With an error the
// History is still usable; it then keeps its entries in memory.
func OpenHistory(path string) (*History, error) {
	h := &History{path: path}
	if path == "" {
		return h, nil
	}
	err := h.load()
	if err != nil {
		h.path = ""
		return h, fmt.Errorf("history is not kept: %w", err)
	}
	return h, nil
}

func (h *History) load() error {
	if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return err
	}
	if fi, err := os.Stat(h.path); err == nil && fi.Mode()&fs.ModeNamedPipe != 0 {
		return fmt.Errorf("%s is a pipe", h.path) // which waits for its other side when it is opened
	}
	f, err := os.Open(h.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Chmod(0o600); err != nil { // it may hold secrets
		return err
	}
	lines := 0
	r := bufio.NewReader(f)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			break // a last line without newline was not written in full
		}
		lines++
		h.pushLocked(strings.ReplaceAll(strings.TrimSuffix(line, "\n"), lineEnd, "\n"))
	}
	if lines > HistoryLimit {
		return h.rewrite()
	}
	return nil
}

// keeps reports whether an entry belongs into a history: not when it is blank
// or starts with a space, which hides it.
func keeps(entry string) bool {
	return entry != "" && entry[0] != ' ' && entry[0] != '\t' && strings.TrimSpace(entry) != ""
}

// pushLocked appends without writing; h.mu is held, or h is not published yet.
func (h *History) pushLocked(entry string) bool {
	n := len(h.mu.entries)
	if !keeps(entry) || n > 0 && h.mu.entries[n-1] == entry {
		return false
	}
	if n >= HistoryLimit {
		h.mu.entries = append(h.mu.entries[:0], h.mu.entries[n-HistoryLimit+1:]...)
	}
	h.mu.entries = append(h.mu.entries, entry)
	return true
}

// Add appends an entry and saves it. Blank entries, those
// that start with a space, and repetitions of the last one are not kept.
func (h *History) Add(entry string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.pushLocked(entry) || h.path == "" {
		return nil
	}
	f, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	// One write, so that two sessions do not mix their lines.
	_, err = f.WriteString(onOneLine(entry))
	return errors.Join(err, f.Close())
}

// Entries returns a copy of the list, oldest first.
func (h *History) Entries() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.mu.entries...)
}

// rewrite shortens the file to the entries that are kept. The new version is written beside it
// and replaces it in one step; versions that killed processes left behind are removed.
func (h *History) rewrite() error {
	path, err := filepath.EvalSymlinks(h.path)
	if err != nil {
		return err
	}
	dir, name := filepath.Split(path)
	f, err := lang.Dir(filepath.Clean(dir)).Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	for _, e := range h.mu.entries {
		w.WriteString(onOneLine(e))
	}
	if err := w.Flush(); err != nil {
		if v, ok := f.(interface{ Abort() }); ok {
			v.Abort()
		}
		return err
	}
	return f.Close()
}

// onOneLine returns an entry as a line of the file.
func onOneLine(entry string) string { return strings.ReplaceAll(entry, "\n", lineEnd) + "\n" }
