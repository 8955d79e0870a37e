package tests

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/engine/cluster"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/stdlib"
)

// rankOutcome is what a program does on one rank.
type rankOutcome struct {
	stdout  string
	code    string // of the diagnostic that ended it
	refused bool   // it needs what only runs on one rank have
	err     error  // of the test
}

// onRanks runs a program on a number of ranks in this process.
func onRanks(ctx context.Context, name, source, dir string, size int) []rankOutcome {
	out := make([]rankOutcome, size)
	var group sync.WaitGroup
	for r, end := range cluster.Local(size) {
		group.Go(func() { out[r] = asRank(ctx, name, source, dir, end) })
	}
	group.Wait()
	return out
}

func asRank(ctx context.Context, name, source, dir string, end cluster.Comm) (out rankOutcome) {
	comp, err := lang.NewCompiler(lang.Config{Modules: stdlib.Modules(), Loader: lang.FSLoader(os.DirFS(dir)), Files: absFiles{lang.Dir(dir)}})
	if err != nil {
		return rankOutcome{err: err}
	}
	prog, ds := comp.Compile(ctx, name, []byte(source))
	if prog == nil {
		return rankOutcome{err: ds.Err()}
	}
	rt, err := engine.New(engine.Options{Workers: 1 + end.Rank()%2})
	if err != nil {
		return rankOutcome{err: err}
	}
	var stdout bytes.Buffer
	inst, err := prog.Run(ctx, rt, lang.Stdout(&stdout), lang.Ranks(end), lang.WithCheckpoints(func(name string) (string, error) { return filepath.Join(dir, name), nil }))
	if err == nil {
		err = inst.Close()
	}
	out.stdout = stdout.String()
	var d *lang.Diagnostic
	if errors.As(err, &d) {
		out.code = d.Code
		out.refused = strings.Contains(d.Message, "possible on one rank only")
	}
	switch closed := rt.Close(); {
	case err != nil && d == nil:
		out.err = err
	case ctx.Err() != nil:
		out.err = fmt.Errorf("still running after %v", patience)
	default:
		out.err = closed
	}
	return out
}

// TestSpecOnRanks: the programs of SPEC.md that run to their end print the same on three ranks, on each of them; those that end with a
// diagnostic end with the same one. Only programs that need what one rank alone has are refused.
func TestSpecOnRanks(t *testing.T) {
	doc, err := readDocument(specFile)
	if err != nil {
		t.Fatal(err)
	}
	dirs := map[int]string{}
	dirOf := func(section int) string {
		if dirs[section] == "" {
			dirs[section] = t.TempDir()
		}
		return dirs[section]
	}
	for _, b := range doc.blocks { // what programs may import, before any runs
		if b.kind == "spu" && b.name != "" {
			writeFile(t, filepath.Join(dirOf(b.section), b.name), b.text)
		}
	}
	ran, refused := 0, 0
	for i, b := range doc.blocks {
		if b.kind != "spu" || i+1 == len(doc.blocks) {
			continue
		}
		want, code := "", ""
		for _, next := range doc.blocks[i+1 : min(i+3, len(doc.blocks))] {
			if next.kind == "output" && want == "" && code == "" {
				want = next.text
			} else if next.kind == "diagnostic" && code == "" {
				code, _, _ = strings.Cut(strings.TrimPrefix(next.text, "error["), "]")
			} else {
				break
			}
		}
		if code != "" && !strings.HasPrefix(code, "R") {
			continue // most of them are found before the program runs
		}
		name := b.name
		if name == "" {
			name = "example.spu"
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		all := onRanks(ctx, name, b.text, dirOf(b.section), 3)
		cancel()
		if slices.ContainsFunc(all, func(o rankOutcome) bool { return o.refused }) {
			refused++
			t.Logf("%s:%d: needs one rank", b.file, b.line)
			continue
		}
		ran++
		for r, o := range all {
			switch {
			case o.err != nil:
				t.Errorf("%s:%d, rank %d: %v", b.file, b.line, r, o.err)
			case o.code != code:
				t.Errorf("%s:%d, rank %d: ends with %q, want %q", b.file, b.line, r, o.code, code)
			case o.stdout != want:
				t.Errorf("%s:%d, rank %d: prints something else (-want +got):\n%s", b.file, b.line, r, cmp.Diff(want, o.stdout))
			}
		}
	}
	if t.Logf("%d programs, and %d that need one rank", ran, refused); ran < 10*refused {
		t.Error("too many programs need one rank")
	}
}
