package lsp

// Scripts that are not open: those in the folders of the editor can import a file whose
// names are looked for or renamed.

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Limits of the search for importing scripts.
const (
	maxScripts = 2000
	maxEntries = 50_000
	maxScript  = 4 << 20 // bytes
)

// setFolders notes the folders that initialize names.
func (w *workspace) setFolders(params json.RawMessage) {
	var p struct {
		RootURI string `json:"rootUri"`
		Folders []struct {
			URI string `json:"uri"`
		} `json:"workspaceFolders"`
	}
	_ = json.Unmarshal(params, &p) // without folders that of the file is looked through
	for _, f := range p.Folders {
		w.addFolder(f.URI)
	}
	w.addFolder(p.RootURI)
}

func (w *workspace) addFolder(uri string) {
	if name := nameOf(uri); name != uri && !slices.Contains(w.folders, name) {
		w.folders = append(w.folders, name)
	}
}

// importers reads the scripts that may import the file of that name and are not open:
// in its folder, and in those of the editor and below.
func (w *workspace) importers(name string) []*document {
	if name == "" || strings.Contains(name, "://") || !filepath.IsAbs(name) {
		return nil
	}
	var out []*document
	entries, seen := 0, map[string]bool{name: true}
	look := func(path string) {
		if seen[path] || filepath.Ext(path) != ".spu" || w.byName[path] != nil || len(out) >= maxScripts {
			return
		}
		seen[path] = true
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > maxScript {
			return
		}
		text, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(text), filepath.Base(name)) {
			out = append(out, &document{uri: w.uriOf(path), name: path, lines: newLineTable(string(text))})
		}
	}
	beside, _ := os.ReadDir(filepath.Dir(name))
	for _, e := range beside {
		look(filepath.Join(filepath.Dir(name), e.Name()))
	}
	for _, root := range w.folders {
		_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			switch entries++; {
			case entries > maxEntries:
				return fs.SkipAll
			case err != nil && e != nil && e.IsDir(), err == nil && e.IsDir() && path != root && strings.HasPrefix(e.Name(), "."):
				return fs.SkipDir
			case err == nil && !e.IsDir():
				look(path)
			}
			return nil
		})
	}
	return out
}
