package repl

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestFileCompletion(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("lib/inner", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"a.spu", "ab.npy", "b.csv", "lib/vec.spu", "lib/.hidden.spu"} {
		if err := os.WriteFile(filepath.FromSlash(f), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		head    string
		replace int
		want    []string
	}{
		{`import "`, 0, []string{"a.spu", "lib/"}},
		{`import "lib/`, 0, []string{"inner/", "vec.spu"}},
		{`import "lib/v`, 1, []string{"vec.spu"}},
		{`register x = vector[f32](load = "a`, 1, []string{"ab.npy"}},
		{`register x = vector[f32](n, load="`, 0, []string{"ab.npy", "b.csv", "lib/"}},
		{`save(x, "b`, 1, []string{"b.csv"}},
		{`import "lib/nowhere/`, 0, nil},
	} {
		prefix, suffixes, ok := fileArgument(tt.head)
		if !ok {
			t.Errorf("%s: names no file", tt.head)
			continue
		}
		n, candidates := files(prefix, suffixes...)
		var got []string
		for _, c := range candidates {
			got = append(got, c.Text)
		}
		if n != tt.replace || !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %d %q, want %d %q", tt.head, n, got, tt.replace, tt.want)
		}
	}
	for _, head := range []string{`print("a`, `let s = "`, `import "a.spu" as `} {
		if _, _, ok := fileArgument(head); ok {
			t.Errorf("%s: taken for the name of a file", head)
		}
	}
}

func TestCommandNames(t *testing.T) {
	n, got := commandNames("re")
	if n != 2 || len(got) != 1 || got[0].Text != "reset" {
		t.Errorf("got %d, %v", n, got)
	}
}

// Modules of the host and files are offered together.
func TestImportCompletion(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("s.spu", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	shell, done := newShell(t, io.Discard, nil)
	defer done()
	for _, tt := range []struct {
		head string
		want []string
	}{
		{`import "`, []string{"std/", "s.spu"}},
		{`import "s`, []string{"std/", "s.spu"}},
		{`import "std/`, []string{"blas", "random", "reduce", "sparse"}},
		{`let a = 1; import "std/r`, []string{"random", "reduce"}},
		{`import "std/none`, nil},
		{`# import "std/`, nil},
	} {
		n, candidates := shell.Complete(tt.head, len(tt.head))
		var got []string
		for _, c := range candidates {
			got = append(got, c.Text)
		}
		if !slices.Equal(got, tt.want) || len(got) > 0 && n != len(lastWord(tt.head)) {
			t.Errorf("%s: %d %q, want %q", tt.head, n, got, tt.want)
		}
	}
}
