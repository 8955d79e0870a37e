package syntax_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
)

// TestErrors parses every x.spu of the archives in testdata/errors and compares the
// rendered diagnostics with x.want. STARPUSH_UPDATE=1 writes what comes out.
func TestErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/errors/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
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
				src := diag.NewSource(f.Name, string(f.Data))
				parse := syntax.Parse
				if strings.HasPrefix(name, "prompt") {
					parse = syntax.ParseEntry
				}
				file, ds := parse(src)
				checkRanges(t, file, len(src.Text))
				got := rendered(t, ds)
				out.Files = append(out.Files, f, txtar.File{Name: name + ".want", Data: []byte(got)})
				if got != want[name+".want"] && os.Getenv("STARPUSH_UPDATE") == "" {
					t.Errorf("%s: got\n%s\nwant\n%s", f.Name, got, want[name+".want"])
				}
			}
			if os.Getenv("STARPUSH_UPDATE") != "" {
				if text := txtar.Format(out); !bytes.Equal(text, txtar.Format(a)) {
					if err := os.WriteFile(file, text, 0o666); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}
