package lang_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang"
)

// TestStructsBind brings structs of the program and of files to a script, which changes them in place.
func TestStructsBind(t *testing.T) {
	ctx := context.Background()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("p.csv", []byte("id,y,on,x,other\n7,0.5,1,1,99\n8,1.5,0,2,98\n9,2.5,true,3,97\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	const script = `
struct P { x: f64; y: f32; id: i32; on: bool }
extern p: vector[P]
codelet step(p: RW vector[P]) {
    each i in p {
        p[i].x += p[i].y
        p[i].on = not p[i].on
        if p.offset + i == 2 { p[i].id = 100 }
    }
}
partition p by blocks(2)
for b in 0..2 { insert step(RW p[b]) }
print(p)
`
	prog := compile(t, lang.Config{Files: lang.Dir(".")}, script)
	const want = `vector[P] 3:
  0: {x: 1.5, y: 0.5, id: 7, on: false}
  1: {x: 3.5, y: 1.5, id: 8, on: true}
  2: {x: 5.5, y: 2.5, id: 100, on: false}
`
	run := func(opts ...lang.Option) error {
		var out bytes.Buffer
		inst, err := prog.Run(ctx, newRuntime(t, engine.Options{Workers: 2}), append(opts, lang.Stdout(&out))...)
		if err != nil {
			return err
		}
		if err := inst.Close(); err != nil {
			return err
		}
		if out.String() != want {
			t.Errorf("printed %q, want %q", out.String(), want)
		}
		return nil
	}
	type particles struct {
		X    []float64
		Vert []float32 `spu:"y"`
		ID   []int32
		On   []bool
	}
	ps := particles{[]float64{1, 2, 3}, []float32{0.5, 1.5, 2.5}, []int32{7, 8, 9}, []bool{true, false, true}}
	if err := run(lang.Bind("p", lang.Must(lang.StructsOf(&ps)))); err != nil {
		t.Fatalf("%+v", err)
	}
	if got, want := fmt.Sprint(ps), "{[1.5 3.5 5.5] [0.5 1.5 2.5] [7 8 100] [false true false]}"; got != want {
		t.Errorf("after the run: %v, want %v", got, want)
	}
	type particle struct {
		X    float64
		On   bool
		note *int
		ID   int32
		Vert float32 `spu:"y"`
	}
	side := []particle{{1, true, new(int), 7, 0.5}, {2, false, nil, 8, 1.5}, {3, true, nil, 9, 2.5}}
	note := side[0].note
	for range 2 {
		if err := run(lang.Bind("p", lang.Must(lang.StructsOf(side)))); err != nil {
			t.Fatalf("%+v", err)
		}
		if w := []particle{{1.5, false, note, 7, 0.5}, {3.5, true, nil, 8, 1.5}, {5.5, false, nil, 100, 2.5}}; !slices.Equal(side, w) {
			t.Errorf("after the run: %v, want %v", side, w)
		}
		copy(side, []particle{{1, true, note, 7, 0.5}, {2, false, nil, 8, 1.5}, {3, true, nil, 9, 2.5}})
	}
	if err := run(lang.BindFile("p", "p.csv")); err != nil {
		t.Errorf("%+v", err)
	}
	for _, c := range []struct {
		v    any
		want string
	}{
		{3, "int is no slice of structs, and no struct of slices"},
		{[]struct{ Name string }{{"a"}}, "field Name of struct { Name string } is a string"},
		{[]struct {
			X float64
			Y float64 `spu:"x"`
		}{}, "have the name \"x\""},
		{struct{}{}, "has no fields"},
		{struct{ x []float64 }{}, "field x of struct { x []float64 } is not exported"},
		{struct{ X float64 }{}, "must be a slice of elements"},
		{struct{ X []string }{}, "must be a slice of elements"},
		{struct{ X, Y []float64 }{make([]float64, 2), make([]float64, 3)}, "field Y has 3 elements, and X has 2"},
		{struct {
			X []float64
			Y []float64 `spu:"x"`
		}{}, "have the name \"x\""},
	} {
		if _, err := lang.StructsOf(c.v); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("StructsOf(%T): %v, want an error with %q", c.v, err, c.want)
		}
	}
	for _, c := range []struct {
		data *lang.Data
		want string
	}{
		{lang.VectorOf([]float64{1}), "`p` is bound to a vector[f64]"},
		{lang.Must(lang.StructsOf(struct {
			X, Y []float64
			ID   []int32
			On   []bool
		}{})), "the field `y` of `p` is f32, and its slice has f64"},
		{lang.Must(lang.StructsOf(struct {
			X  []float64
			Y  []float32
			ID []int32
		}{})), "`p` has the fields `x`, `y`, `id`, `on`, and is bound to `X`, `Y`, `ID`"},
	} {
		if err := run(lang.Bind("p", c.data)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want an error with %q", err, c.want)
		}
	}
}

// TestStructsCopyBool: an assignment of an element stores 0 or 1, whatever byte the program has for true.
func TestStructsCopyBool(t *testing.T) {
	prog := compile(t, lang.Config{}, `
struct P { on: bool; id: i32 }
extern p: vector[P]
codelet turn(p: RW vector[P]) { for i in 0..p.n // 2 { p[i] = p[p.n - 1 - i] } }
insert turn(RW p)
`)
	on := []byte{1, 0, 0, 9}
	ps := struct {
		On []bool
		ID []int32
	}{unsafe.Slice((*bool)(unsafe.Pointer(&on[0])), len(on)), []int32{1, 2, 3, 4}}
	inst, err := prog.Run(context.Background(), newRuntime(t, engine.Options{Workers: 1}), lang.Bind("p", lang.Must(lang.StructsOf(&ps))))
	if err == nil {
		err = inst.Close()
	}
	if got := fmt.Sprint(on, ps.ID); err != nil || got != "[1 0 0 9] [4 3 3 4]" {
		t.Errorf("%v %v, want [1 0 0 9] [4 3 3 4]", got, err)
	}
}

// TestStructsDefaultViews: structs and each field have default views of their own; neither ends the other.
func TestStructsDefaultViews(t *testing.T) {
	const start = `
struct P { x: i32; y: i32 }
codelet inc(v: RW vector[i32]) { each i in v { v[i] += 1 } }
func end(v: vector[i32]) { unpartition v }
func again(v: vector[i32]) { partition v by blocks(4) }
func drop(v: vector[i32]) { unregister v }
register p = vector[P](4, fill = 0, layout = soa)
partition p by blocks(2)
`
	for _, tt := range []struct{ script, prints, code string }{
		{"partition p.x by blocks(4)\ninsert inc(RW p.x[3])\ninsert inc(RW p[1].x)\nprint(p.x)", "vector[i32] 4: 0 0 1 2\n", ""},
		{"partition p.x by blocks(4)\nunpartition p.x\ninsert inc(RW p[1].x)\nprint(p.x)", "vector[i32] 4: 0 0 1 1\n", ""},
		{"partition p.x by blocks(4)\nunpartition p\ninsert inc(RW p.x[0])\nprint(p.x)", "vector[i32] 4: 1 0 0 0\n", ""},
		{"again(p.x)\nend(p.x)\ninsert inc(RW p[0].x)\nprint(p.x)", "vector[i32] 4: 1 1 0 0\n", ""},
		{"again(p.x)\nagain(p.x)\ninsert inc(RW p[0].x)\ninsert inc(RW p.x[1])\nprint(p.x)", "vector[i32] 4: 1 2 0 0\n", ""},
		{"partition p[1].x by blocks(2)\ninsert inc(RW p[1].x[1])\nunpartition p[1].x\nprint(p[1])", "vector[P] 2:\n  2: {x: 0, y: 0}\n  3: {x: 1, y: 0}\n", ""},
		{"unpartition p.x", "", "E0507"},
		{"end(p.x)", "", "E0507"},
		{"end(p[0].x)", "", "E0507"},
		{"insert inc(RW p.x[0])", "", "E0507"},
		{"partition p.y by blocks(2)\nunpartition p.x", "", "E0507"},
		{"drop(p.x)", "", "E0705"},
		{"drop(p[0].x)", "", "E0705"},
	} {
		for _, layout := range []string{"soa", "aos"} {
			prog := compile(t, lang.Config{}, strings.Replace(start, "soa", layout, 1)+tt.script+"\n")
			var out bytes.Buffer
			inst, err := prog.Run(context.Background(), newRuntime(t, engine.Options{Workers: 2}), lang.Stdout(&out))
			var d *lang.Diagnostic
			switch {
			case tt.code == "" && (err != nil || out.String() != tt.prints):
				t.Errorf("%s: printed %q, want %q; %v", tt.script, out.String(), tt.prints, err)
			case tt.code != "" && (!errors.As(err, &d) || d.Code != tt.code):
				t.Errorf("%s: %v, want %s", tt.script, err, tt.code)
			}
			if err == nil {
				if err := inst.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}
