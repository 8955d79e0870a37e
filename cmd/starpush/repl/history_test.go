package repl

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestHistoryKeeps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "starpush", "history")
	h, err := OpenHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []string{"a", "a", " hidden", "", "   ", "b", "a"} {
		if err := h.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"a", "b", "a"}
	if got := h.Entries(); !slices.Equal(got, want) {
		t.Errorf("entries are %q, want %q", got, want)
	}
	again, err := OpenHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := again.Entries(); !slices.Equal(got, want) {
		t.Errorf("read back %q, want %q", got, want)
	}
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if fi.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v, want 0600", fi.Mode().Perm())
	}
}

func TestHistoryLimit(t *testing.T) {
	dir, link := t.TempDir(), t.TempDir()
	path := filepath.Join(link, "history")
	if err := os.Symlink(filepath.Join(dir, "kept"), path); err != nil {
		t.Skip("this system has no symbolic links: ", err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".kept.17.tmp"), []byte("entry 0\n"), 0o600); err != nil { // of a killed process
		t.Fatal(err)
	}
	var b strings.Builder
	for i := range HistoryLimit + 50 {
		fmt.Fprintf(&b, "entry %d\n", i)
	}
	b.WriteString("half a li")
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	h, err := OpenHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	got := h.Entries()
	if len(got) != HistoryLimit || got[0] != "entry 50" || got[len(got)-1] != fmt.Sprintf("entry %d", HistoryLimit+49) {
		t.Errorf("%d entries from %q to %q", len(got), got[0], got[len(got)-1])
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(data), "\n"); n != HistoryLimit {
		t.Errorf("the file has %d lines, want %d", n, HistoryLimit)
	}
	if fi, _ := os.Stat(path); fi.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v, want 0600", fi.Mode().Perm())
	}
	for folder, want := range map[string]string{dir: "kept", link: "history"} {
		if files, err := os.ReadDir(folder); err != nil || len(files) != 1 || files[0].Name() != want {
			t.Errorf("the folder of %s has %v, %v", want, files, err)
		}
	}
	if err := h.Add("one more"); err != nil {
		t.Fatal(err)
	}
	if got := h.Entries(); len(got) != HistoryLimit || got[len(got)-1] != "one more" {
		t.Errorf("%d entries, the last is %q", len(got), got[len(got)-1])
	}
}

func TestHistoryUnwritable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := OpenHistory(filepath.Join(file, "history")) // its folder is a file
	if err == nil {
		t.Error("no error for a history inside a file")
	}
	if err := h.Add("x"); err != nil {
		t.Error(err)
	}
	if got := h.Entries(); !slices.Equal(got, []string{"x"}) {
		t.Errorf("entries are %q", got)
	}
}

// Prompts at the same time add to one file, and none loses what another has added.
func TestHistoryConcurrent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	var wg sync.WaitGroup
	for k := range 4 {
		h, err := OpenHistory(path)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for i := range 50 {
				if err := h.Add(fmt.Sprintf("prompt %d, entry %d of several words", k, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	h, err := OpenHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	got := h.Entries()
	slices.Sort(got)
	if got = slices.Compact(got); len(got) != 200 {
		t.Errorf("%d entries of 200", len(got))
	}
	for _, e := range got {
		if !strings.HasPrefix(e, "prompt ") || !strings.HasSuffix(e, " of several words") {
			t.Errorf("an entry was torn: %q", e)
		}
	}
}

// Entries of several lines come back with them, also from the file, which has a line for each.
func TestHistoryKeepsLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	h, err := OpenHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"let a = 1", "for i in 0..3 {\n    f(i)  # why\n}", "let b = \"\\n\""}
	for _, e := range want {
		if err := h.Add(e); err != nil {
			t.Fatal(err)
		}
	}
	again, err := OpenHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(h.Entries(), want) || !slices.Equal(again.Entries(), want) {
		t.Errorf("%q, and read back %q", h.Entries(), again.Entries())
	}
	data, err := os.ReadFile(path)
	if err != nil || strings.Count(string(data), "\n") != 3 {
		t.Errorf("the file is %q, %v", data, err)
	}
}
