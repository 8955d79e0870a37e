package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/starpush/starpush/engine"
)

// TestBatchFiles: scripts load and save files of the working folder, as with the command,
// and import files of their own folder.
func TestBatchFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("scripts", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"in.csv":          "1\n2\n3\n",
		"scripts/lib.spu": "let out = \"out.csv\"\n",
		"scripts/s.spu":   "import \"lib.spu\" as lib\nregister x = vector[f64](load = \"in.csv\")\nsave(x, lib.out)\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	rt, err := engine.New(engine.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	var out bytes.Buffer
	if failed, err := batch(t.Context(), rt, []string{"scripts/s.spu"}, 1, time.Minute, &out); err != nil || failed != 0 {
		t.Fatalf("%d failed, %v: %s", failed, err, &out)
	}
	if _, err := os.Stat("out.csv"); err != nil {
		t.Error(err)
	}
}

func TestBatch(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	write("lib.spu", "func twice(n: int) -> int { return 2 * n }\n")
	var files []string
	for k := range 20 {
		files = append(files, write(fmt.Sprintf("s%d.spu", k), fmt.Sprintf("import \"lib.spu\" as lib\n"+
			"codelet add(x: RW vector[f64]) { each i in x { x[i] += 1.0 } }\nregister x = vector[f64](8, fill = 0)\n"+
			"for i in 0..lib.twice(%d) { insert add(RW x) }\nprint(x)\n", k)))
	}
	files = append(files, write("wrong.spu", "print(nothing)\n"), write("fails.spu", "print(\"before\")\nassert false\n"), filepath.Join(dir, "none.spu"))
	rt, err := engine.New(engine.Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	var out bytes.Buffer
	failed, err := batch(t.Context(), rt, files, 3, 10*time.Minute, &out)
	if err != nil || failed != 3 {
		t.Errorf("%d failed, %v", failed, err)
	}
	for _, want := range []string{
		`s0\.spu: 0 tasks, .*\nvector\[f64\] 8: 0\.0`, `s19\.spu: 38 tasks, .*\nvector\[f64\] 8: 38\.0`,
		"wrong\\.spu: 0 tasks, .*\n   error\\[E0201\\]", "fails\\.spu: .*\nbefore\n   error\\[R0102\\]", "none\\.spu: .*\n   .*no such file",
		"3 of 23 scripts failed\n$",
	} {
		if !regexp.MustCompile(want).Match(out.Bytes()) {
			t.Errorf("%q is not in:\n%s", want, &out)
		}
	}
	out.Reset()
	failed, err = batch(t.Context(), rt, []string{write("slow.spu", "while true { }\n")}, 1, 50*time.Millisecond, &out)
	if err != nil || failed != 1 || !bytes.Contains(out.Bytes(), []byte("wall time")) {
		t.Errorf("%d failed, %v: %s", failed, err, &out)
	}
}
