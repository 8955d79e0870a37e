package lang_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
)

// TestRanksGoOn: runs go on from a checkpoint with another number of ranks, and print what the first had still to print.
func TestRanksGoOn(t *testing.T) {
	const script = `
codelet add(x: RW vector[f64], k: int) { each i in x { x[i] += float(k + i) } }
codelet total(x: R vector[f64], s: RW variable[f64]) { for i in 0..x.n { s += x[i] } }
register x = vector[f64](100, fill = 1)
register s, before = variable[f64](fill = 0, reduce = sum)
register bare = vector[f64](7)
partition x by blocks(7)
partition bare by blocks(3)
acquire W bare[1] as b { for i in 0..b.n { b[i] = 5.0 } }
let sum = 0.0
func step(k: int) -> float {
    for b in 0..7 { insert add(RW x[b], k) with rank = k + b }
    for b in 0..7 { insert total(R x[b], REDUX s) }
    checkpoint "state"
    for b in 0..7 { insert total(R x[b], REDUX before) }
    return value(s)
}
for k in 0..6 {
    let t = insert add(RW x[0], 1)
    sum = sum + step(k)
    acquire RW x[k] as xs { xs[0] = xs[0] + sum }
    wait t
    print(k, sum, busy(x) and false)
}
print(x, before, str(bare))
`
	folder := func(dir string) func(int) lang.Option {
		return func(int) lang.Option {
			return lang.WithCheckpoints(func(name string) (string, error) { return filepath.Join(dir, name), nil })
		}
	}
	for _, wrote := range []int{1, 2, 3, 4} {
		dir := t.TempDir()
		all, errs := onRanks(t, wrote, dir, script, folder(dir))
		for r, err := range errs {
			if err != nil {
				t.Fatalf("rank %d: %s", r, whole(err))
			}
		}
		for _, generation := range []string{"6", "5"} {
			for _, reads := range []int{1, 2, 3, 4} {
				to := t.TempDir()
				state := filepath.Join(to, "state")
				if err := os.CopyFS(filepath.Join(state, generation), os.DirFS(filepath.Join(dir, "state", generation))); err != nil {
					t.Fatal(err)
				}
				from, err := engine.OpenCheckpoint(state)
				if err != nil {
					t.Fatal(err)
				}
				got, errs := onRanks(t, reads, to, script, folder(to), func(r int) lang.Option {
					if r > 0 {
						return lang.Resume(nil)
					}
					return lang.Resume(from)
				})
				for r := range reads {
					if errs[r] != nil {
						t.Fatalf("%d ranks wrote %s, rank %d of %d: %s", wrote, generation, r, reads, whole(errs[r]))
					}
					if first := fmt.Sprintln(5 - ('6' - generation[0])); !strings.HasSuffix(all[0], got[r]) || !strings.HasPrefix(got[r], strings.TrimSpace(first)+" ") {
						t.Errorf("%d ranks wrote %s, rank %d of %d prints\n%s\nwant the end of\n%s", wrote, generation, r, reads, got[r], all[0])
					}
				}
			}
		}
	}
}

// TestChangedScripts: a run that cannot go on says what differs first.
func TestChangedScripts(t *testing.T) {
	const src = `param n: int = 3
extern y: vector[f64]
codelet add(x: RW vector[f64]) { each i in x { x[i] += 1.0 } }
register x = vector[f64](4, fill = 1)
for k in 0..n { insert add(RW x); checkpoint "state" }
print(x)
`
	dir := t.TempDir()
	run := func(src string, resume bool, opts ...lang.Option) (string, error) {
		rt, err := engine.New(engine.Options{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer rt.Close()
		c, err := lang.NewCompiler(lang.Config{})
		if err != nil {
			t.Fatal(err)
		}
		p, diags := c.Compile(context.Background(), "t.spu", []byte(src))
		if err := diags.Err(); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		opts = append(opts, lang.Stdout(&out), lang.WithCheckpoints(func(name string) (string, error) { return filepath.Join(dir, name), nil }))
		if resume {
			from, err := engine.OpenCheckpoint(filepath.Join(dir, "state"))
			if err != nil {
				t.Fatal(err)
			}
			opts = append(opts, lang.Resume(from))
		}
		i, err := p.Run(context.Background(), rt, opts...)
		if err == nil {
			err = i.Close()
		}
		return out.String(), err
	}
	y, longer := lang.Bind("y", lang.VectorOf(make([]float64, 2))), lang.Bind("y", lang.VectorOf(make([]float64, 3)))
	want, err := run(src, false, y)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		src  string
		opts []lang.Option
		want string // "": it goes on
	}{
		{src, []lang.Option{y}, ""},
		{strings.Replace(src, "fill = 1", "fill = 2", 1), []lang.Option{y}, "line 4 of `t.spu` is `register x = vector[f64](4, fill = 2)`, and was `register x = vector[f64](4, fill = 1)`"},
		{src + "print(1)\n", []lang.Option{y}, "line 7 of `t.spu`, `print(1)`, was not there"},
		{strings.Replace(src, "print(x)\n", "", 1), []lang.Option{y}, "`t.spu` ends with line 5, and went on with `print(x)`"},
		{strings.Replace(src, "print", "\nprint", 1), []lang.Option{y}, "line 6 of `t.spu` is empty, and was `print(x)`"},
		{strings.TrimSuffix(src, "\n"), []lang.Option{y}, "the line break at the end of `t.spu`"},
		{src, []lang.Option{y, lang.Param("n", 3)}, "the param `n` is given, and was not"},
		{src, []lang.Option{longer}, "the data `y` is `vector f64 [3] \"\"`, and was `vector f64 [2] \"\"`"},
	} {
		got, err := run(test.src, true, test.opts...)
		switch {
		case test.want == "" && (err != nil || got != want):
			t.Errorf("%q, %v", got, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%v, want %q", err, test.want)
		}
	}
}

// TestHeldWhileGoingOn: on the way to a checkpoint the script reads data that it holds, or a part of that, again. Tasks have the numbers of
// the whole run.
func TestHeldWhileGoingOn(t *testing.T) {
	const script = `
codelet inc(x: RW vector[i64]) { each i in x { x[i] += i } }
codelet next(x: RW variable[i64]) { x += 1 }
register x = vector[i64](6, fill = 1)
register y = variable[i64](fill = 5)
partition v = x by halves()
insert inc(RW x)
let sum = 0
acquire R x as a, R v[1] as b {
    acquire R v[0] as c, R v[0] as d {
        sum = sum + a[5] + b[0] + c[1] + d[2]
    }
    sum = sum + a[1] + b[2]
    acquire R y as z { sum = sum + value(y) + z[0] + a[0] }
}
acquire RW x as a {
    a[0] = 9
    release a to R
    acquire R v[0] as c { sum = sum + c[0] + a[1] }
    sum = sum + a[0] + a[5]
}
let t = insert inc(RW v[0])
checkpoint "state"
let u = insert next(RW y)
print(sum, x, y, t, u)
`
	for _, size := range []int{1, 2, 3} {
		dir := t.TempDir()
		checkpoints := func(int) lang.Option {
			return lang.WithCheckpoints(func(name string) (string, error) { return filepath.Join(dir, name), nil })
		}
		all, errs := onRanks(t, size, dir, script, checkpoints)
		from, err := engine.OpenCheckpoint(filepath.Join(dir, "state"))
		if err != nil {
			t.Fatal(err, errs)
		}
		got, again := onRanks(t, size, dir, script, checkpoints, func(r int) lang.Option {
			if r > 0 {
				return lang.Resume(nil)
			}
			return lang.Resume(from)
		})
		for r := range size {
			if errs[r] != nil || again[r] != nil || got[r] != all[r] || !strings.HasPrefix(got[r], "60 ") {
				t.Errorf("rank %d of %d prints %q, and then %q; %v, %v", r, size, all[r], got[r], errs[r], again[r])
			}
		}
	}
}
