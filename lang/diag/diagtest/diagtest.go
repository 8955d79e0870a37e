// Package diagtest is for tests of what scripts report: it renders diagnostics, and reads
// archives of scripts with what is expected of each.
//
// An archive is a txtar file. Its files x.spu are scripts, and x.want is the result for
// x.spu.
package diagtest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/starpush/starpush/lang/diag"
)

// Render returns ds as the command prints them, without colours.
func Render(t testing.TB, ds diag.Diagnostics) string {
	t.Helper()
	var b strings.Builder
	if err := ds.Render(&b, diag.Style{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// archives reads the archives that match pattern, by their paths.
func archives(t testing.TB, pattern string) (paths []string, list []*txtar.Archive) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no archives match %s: %v", pattern, err)
	}
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, a)
	}
	return paths, list
}

// Scripts calls use for each script of the archives that match pattern. name is its name in
// the archive.
func Scripts(t testing.TB, pattern string, use func(name, text string)) {
	t.Helper()
	_, list := archives(t, pattern)
	for _, a := range list {
		for _, f := range a.Files {
			if strings.HasSuffix(f.Name, ".spu") {
				use(f.Name, string(f.Data))
			}
		}
	}
}

// Compare runs each script of the archives that match pattern, in a subtest for each
// archive, and reports results that are not the expected ones. STARPUSH_UPDATE=1 writes the
// results to the archives instead.
func Compare(t *testing.T, pattern string, run func(t *testing.T, name, text string) string) {
	t.Helper()
	update := os.Getenv("STARPUSH_UPDATE") != ""
	paths, list := archives(t, pattern)
	for i, a := range list {
		t.Run(strings.TrimSuffix(filepath.Base(paths[i]), ".txtar"), func(t *testing.T) {
			want := map[string]string{}
			for _, f := range a.Files {
				want[f.Name] = string(f.Data)
			}
			out := &txtar.Archive{Comment: a.Comment}
			for _, f := range a.Files {
				name, ok := strings.CutSuffix(f.Name, ".spu")
				if !ok {
					continue
				}
				got := run(t, f.Name, string(f.Data))
				out.Files = append(out.Files, f, txtar.File{Name: name + ".want", Data: []byte(got)})
				if got != want[name+".want"] && !update {
					t.Errorf("%s: got\n%s\nwant\n%s", f.Name, got, want[name+".want"])
				}
			}
			if text := txtar.Format(out); update && !bytes.Equal(text, txtar.Format(a)) {
				if err := os.WriteFile(paths[i], text, 0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
