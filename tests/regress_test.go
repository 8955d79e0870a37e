package tests

// Programs that once went wrong: each script of testdata/regress gives the
// output and the messages of its .out file, whatever runs it.

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const regressDir = "testdata/regress"

// TestRegressions runs the scripts in every mode. STARPUSH_UPDATE=1 writes what
// the sequential run gives to the .out files.
func TestRegressions(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(regressDir, "*.spu"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in %s: %v", regressDir, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".spu")
		t.Run(name, func(t *testing.T) {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join(regressDir, name+".out")
			p := program{dir: regressDir, name: name + ".spu", source: string(source)}
			if update {
				if err := os.WriteFile(golden, []byte(whole(p.run(t, sequential))), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatalf("%v; STARPUSH_UPDATE=1 writes it", err)
			}
			for _, m := range []mode{sequential, {workers: 1, policy: "lws"}, {workers: 4, policy: "lws"}, {workers: 2, policy: "eager"}, {workers: 4, policy: "prio"}} {
				if diff := cmp.Diff(string(want), whole(p.run(t, m))); diff != "" {
					t.Errorf("%v (-want +got):\n%s", m, diff)
				}
			}
		})
	}
}

// whole is all that a person sees of a run.
func whole(o outcome) string {
	if o.diags == "" {
		return o.stdout
	}
	return o.stdout + "--- messages\n" + o.diags
}

// TestNoMemoryIsNoFault: data too large for the machine is an error of the
// script wherever memory is asked for, not a fault of starpush (R0109). The
// sizes of machines differ, so there is no golden file.
func TestNoMemoryIsNoFault(t *testing.T) {
	const head = "codelet set(x: W vector[f64]) { each i in x { x[i] = 1.0 } }\n" +
		"codelet add(t: SCRATCH vector[f64], x: RW vector[f64]) { each i in x { x[i] += 1.0 } }\n" +
		"register small = vector[f64](2, fill = 1)\n" +
		"register x = vector[f64](2_199_023_255_552, reduce = sum)\npartition x by blocks(4)\n" // 16 TiB
	for text, want := range map[string]string{
		"acquire W x as a { a[0] = 1.0 }":                                 "error[E0705]: `x` does not fit into memory: 16 TiB needed, and ram has ",
		"acquire W x[1] as a { a[0] = 1.0 }":                              "error[E0705]: `x[1]` does not fit into memory: 16 TiB needed, and ram has ",
		"insert set(W x[1])\nprint(x[1])":                                 "error[R0101]: task `set` failed: 16 TiB needed, and ram has ",
		"insert add(SCRATCH x, RW small)":                                 "error[R0101]: task `add` failed: 16 TiB needed, and ram has ",
		"insert add(SCRATCH small, REDUX x)":                              "error[R0101]: task `add` failed: 16 TiB needed, and ram has ",
		"register y = vector[f64](2_199_023_255_552, fill = 1)\nprint(y)": "error[E0705]: `y` cannot be registered: 16 TiB needed, and ram has ",
	} {
		p := program{dir: t.TempDir(), name: "big.spu", source: head + text + "\n"}
		for _, m := range []mode{sequential, {workers: 2, policy: "lws"}} {
			if o := p.run(t, m); !o.failed || !strings.Contains(o.diags, want) {
				t.Errorf("%v: %s\ngives:\n%s\nwant: %s", m, text, o.diags, want)
			}
		}
	}
}
