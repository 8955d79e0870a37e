package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/filter"
	"github.com/starpush/starpush/datamgr/iface"
)

// submitters are all ways to submit a task with spec s: each returns the error of the
// submission.
func submitters(rt *Runtime, j *Job) map[string]func(s *TaskSpec) error {
	kept := func(_ *Task, err error) error { return err }
	child := func(submit func(g *Subgraph, s *TaskSpec) error) func(s *TaskSpec) error {
		return func(s *TaskSpec) error {
			var got error
			t, err := j.SubmitTask(&TaskSpec{Operands: s.Operands, Codelet: kernel("owner", func(c *TaskContext) error {
				g, err := c.Subgraph()
				if err == nil {
					got = submit(g, s)
				}
				return err
			})})
			if err == nil {
				err = t.Wait(context.Background())
			}
			return errors.Join(err, got)
		}
	}
	return map[string]func(s *TaskSpec) error{
		"Submit":     j.Submit,
		"SubmitTask": func(s *TaskSpec) error { return kept(j.SubmitTask(s)) },
		"SubmitWith": func(s *TaskSpec) error { return kept(j.SubmitWith(s, TaskOptions{})) },
		"prepared":   func(s *TaskSpec) error { return j.NewTask(s, TaskOptions{}).Submit() },
		"repeating": func(s *TaskSpec) error {
			return kept(j.SubmitWith(s, TaskOptions{Repeat: func(t *Task) bool { return t.Rounds() < 2 }}))
		},
		"with a tag":  func(s *TaskSpec) error { return kept(j.SubmitWith(s, TaskOptions{Tag: j.NewTag("t")})) },
		"with a name": func(s *TaskSpec) error { c := *s; c.Name = "named"; return j.Submit(&c) },
		"unordered":   func(s *TaskSpec) error { c := *s; c.Unordered = true; return j.Submit(&c) },
		"after a task": func(s *TaskSpec) error {
			t, err := j.SubmitTask(&TaskSpec{Codelet: nop})
			c := *s
			c.After = []Dependency{t}
			return errors.Join(err, j.Submit(&c))
		},
		"on one worker": func(s *TaskSpec) error { c := *s; c.Workers = []int{0}; return j.Submit(&c) },
		"parallel": func(s *TaskSpec) error {
			c, k := *s, *s.Codelet
			k.Traits = &Traits{Parallel: SPMD}
			c.Codelet = &k
			return kept(j.SubmitWith(&c, TaskOptions{Size: 2}))
		},
		"two implementations": func(s *TaskSpec) error {
			c, k := *s, *s.Codelet
			k.CPU = append(k.CPU[:1:1], k.CPU[0])
			c.Codelet = &k
			return j.Submit(&c)
		},
		"sub-graph":      child(func(g *Subgraph, s *TaskSpec) error { return g.Submit(s) }),
		"sub-graph with": child(func(g *Subgraph, s *TaskSpec) error { return kept(g.SubmitWith(s, TaskOptions{})) }),
		"in a kernel": func(s *TaskSpec) error {
			var got error
			t, err := j.SubmitTask(&TaskSpec{Codelet: kernel("submits", func(c *TaskContext) error { got = j.Submit(s); return nil })})
			if err == nil {
				err = t.Wait(context.Background())
			}
			return errors.Join(err, got)
		},
		"Codelet.Call": func(s *TaskSpec) error { return callOn(s, s.Codelet.Call) },
		"Runtime.Call": func(s *TaskSpec) error {
			return callOn(s, func(ctx context.Context, b []*iface.Buffer, a []iface.Scalar) error {
				return rt.Call(ctx, s.Codelet, b, a)
			})
		},
	}
}

// callOn calls on memory of its own what looks like the operands of s.
func callOn(s *TaskSpec, call func(context.Context, []*iface.Buffer, []iface.Scalar) error) error {
	var bufs []*iface.Buffer
	for _, op := range s.Operands {
		b := &iface.Buffer{Desc: op.Handle.Desc()}
		b.Stride = [iface.MaxRank]int{max(1, b.Dim[1]), 1}
		mem := make([]int64, 64)
		b.Ptr = unsafe.Pointer(&mem[0])
		bufs = append(bufs, b)
	}
	return call(context.Background(), bufs, s.Args)
}

// TestTypes: a task that its codelet's declaration does not admit is an error of the
// submission, whichever way it is submitted; its kernel does not run.
func TestTypes(t *testing.T) {
	reg := func(rt *Runtime, k iface.Kind, e iface.Elem, dims ...int) *datamgr.Handle {
		h, err := rt.Register(DataSpec{Kind: k, Elem: e, Dims: dims})
		must(t, err)
		a, err := rt.NewJob(context.Background(), JobOptions{}).Acquire(context.Background(), h, iface.W)
		must(t, err)
		must(t, a.Release())
		return h
	}
	for _, o := range []Options{{Workers: 2}, {Sequential: true}} {
		rt, j := start(t, o)
		vf := reg(rt, iface.Vector, iface.F32, 8)
		vd := reg(rt, iface.Vector, iface.F64, 8)
		vi := reg(rt, iface.Vector, iface.I32, 8)
		mf := reg(rt, iface.Matrix, iface.F32, 2, 4)
		xf := reg(rt, iface.Variable, iface.F32)
		xi := reg(rt, iface.Variable, iface.I8)
		void, err := rt.Register(DataSpec{Kind: iface.Void})
		must(t, err)
		rows, err := rt.Partition(mf, filter.Pick(0))
		must(t, err)
		dup, err := j.Duplicate(vd)
		must(t, err)
		vector := OperandType{Name: "v", Kinds: Kinds(iface.Vector), Elem: iface.F32}
		dense := OperandType{Kinds: Kinds(iface.Vector, iface.Matrix), Param: 'T'}
		one := OperandType{Kinds: Kinds(iface.Variable), Param: 'T'}
		R := func(hs ...*datamgr.Handle) (ops []Operand) {
			for _, h := range hs {
				ops = append(ops, Operand{Handle: h, Mode: iface.R})
			}
			return ops
		}
		cases := []struct {
			ops   []OperandType
			args  []ArgType
			given []Operand
			with  []iface.Scalar
			want  string // part of the error; "": there is none
		}{
			{[]OperandType{vector}, nil, R(vf), nil, ""},
			{[]OperandType{vector}, nil, R(vd), nil, "operand 0, `v`, of codelet k must be a vector[f32], and got vector[f64]"},
			{[]OperandType{vector}, nil, R(dup), nil, "must be a vector[f32], and got vector[f64]"},
			{[]OperandType{vector}, nil, R(vi), nil, "must be a vector[f32], and got vector[i32]"},
			{[]OperandType{vector}, nil, R(mf), nil, "must be a vector[f32], and got matrix[f32]"},
			{[]OperandType{vector}, nil, R(xf), nil, "must be a vector[f32], and got variable[f32]"},
			{[]OperandType{vector}, nil, R(void), nil, "must be a vector[f32], and got void"},
			{[]OperandType{vector}, nil, R(rows.Parts[1]), nil, ""},
			{[]OperandType{dense}, nil, R(rows.Parts[1]), nil, ""},
			{[]OperandType{dense}, nil, R(mf), nil, ""},
			{[]OperandType{dense}, nil, R(xf), nil, "must be a vector or matrix, and got variable[f32]"},
			{[]OperandType{dense, one}, nil, R(vf, xf), nil, ""},
			{[]OperandType{dense, one}, nil, R(vd, xf), nil, "operand 1 of codelet k must be a variable[f64], and got variable[f32]"},
			{[]OperandType{dense, {Param: 'U'}}, nil, R(vd, xf), nil, ""},
			{[]OperandType{{}}, nil, R(void), nil, ""},
			{[]OperandType{vector}, nil, R(), nil, "takes 1 operand and 0 scalar arguments, and got 0 and 0"},
			{[]OperandType{vector}, nil, R(vf, vf), nil, "takes 1 operand and 0 scalar arguments, and got 2 and 0"},
			{[]OperandType{vector}, nil, R(vf), []iface.Scalar{iface.Int(1)}, "takes 1 operand and 0 scalar arguments, and got 1 and 1"},
			{nil, []ArgType{{Name: "a", Kind: iface.FloatScalar}}, nil, nil, "takes 0 operands and 1 scalar argument, and got 0 and 0"},
			{nil, []ArgType{{Name: "a", Kind: iface.FloatScalar}}, nil, []iface.Scalar{iface.Float(1)}, ""},
			{nil, []ArgType{{Name: "a", Kind: iface.FloatScalar}}, nil, []iface.Scalar{iface.Int(1)}, ""},
			{nil, []ArgType{{Name: "a", Kind: iface.FloatScalar}}, nil, []iface.Scalar{iface.Str("x")}, "scalar argument 0, `a`, of codelet k must be a number, and got the string \"x\""},
			{nil, []ArgType{{Kind: iface.IntScalar}}, nil, []iface.Scalar{iface.Float(1.5)}, "scalar argument 0 of codelet k must be an integer, and got the float 1.5"},
			{nil, []ArgType{{Kind: iface.StringScalar}}, nil, []iface.Scalar{iface.Int(1)}, "must be a string, and got the integer 1"},
			{nil, []ArgType{{Kind: iface.BoolScalar}}, nil, []iface.Scalar{iface.Int(1)}, "must be a truth value, and got the integer 1"},
			{nil, []ArgType{{Kind: iface.BoolScalar}}, nil, []iface.Scalar{iface.Bool(true)}, ""},
			{nil, []ArgType{{Kind: iface.IntScalar}}, nil, []iface.Scalar{{}}, "and got a Scalar without a value"},
			{nil, []ArgType{{Elem: iface.I8}}, nil, []iface.Scalar{iface.Int(127)}, ""},
			{nil, []ArgType{{Elem: iface.I8}}, nil, []iface.Scalar{iface.Int(128)}, "must be an integer that fits i8, and got the integer 128"},
			{nil, []ArgType{{Elem: iface.U16}}, nil, []iface.Scalar{iface.Int(-1)}, "must be an integer that fits u16, and got the integer -1"},
			{nil, []ArgType{{Elem: iface.U64}}, nil, []iface.Scalar{iface.Int(-1)}, ""},
			{nil, []ArgType{{Elem: iface.I64}}, nil, []iface.Scalar{iface.Float(1)}, "must be an integer that fits i64, and got the float 1"},
			{nil, []ArgType{{Elem: iface.F32}}, nil, []iface.Scalar{iface.Float(1e39)}, "must be a number that fits f32, and got the float 1e+39"},
			{nil, []ArgType{{Elem: iface.F32}}, nil, []iface.Scalar{iface.Int(3)}, ""},
			{nil, []ArgType{{Elem: iface.F64}}, nil, []iface.Scalar{iface.Bool(true)}, "must be a number that fits f64, and got true"},
			{[]OperandType{one}, []ArgType{{Param: 'T'}}, R(xi), []iface.Scalar{iface.Int(7)}, ""},
			{[]OperandType{one}, []ArgType{{Param: 'T'}}, R(xi), []iface.Scalar{iface.Int(700)}, "must be an integer that fits i8, and got the integer 700"},
			{nil, []ArgType{{Param: 'T'}}, nil, []iface.Scalar{iface.Str("whatever")}, ""},
			{nil, []ArgType{{}}, nil, []iface.Scalar{iface.Str("whatever")}, ""},
		}
		for name, submit := range submitters(rt, j) {
			for i, c := range cases {
				ran := make(chan bool, 100)
				k := kernel("k", func(*TaskContext) error { ran <- true; return nil })
				k.Types = &Types{Operands: c.ops, Args: c.args}
				err := submit(&TaskSpec{Codelet: k, Operands: c.given, Args: c.with})
				must(t, j.Wait(context.Background()))
				at := fmt.Sprintf("%s, case %d, sequential %v", name, i, o.Sequential)
				if c.want == "" {
					if err != nil || len(ran) == 0 {
						t.Errorf("%s: %v, and the kernel ran %d times", at, err, len(ran))
					}
					continue
				}
				var te *TypeError
				switch {
				case !errors.As(err, &te):
					t.Errorf("%s: %v, want a *TypeError", at, err)
				case !strings.Contains(te.Error(), c.want):
					t.Errorf("%s: %q lacks %q", at, te, c.want)
				case te.Codelet.Name != "k":
					t.Errorf("%s: the error names %v", at, te.Codelet)
				}
				if len(ran) > 0 {
					t.Errorf("%s: the kernel ran", at)
				}
			}
		}
	}
}

// TestTypeErrorFields: the fields of the error say what is wrong.
func TestTypeErrorFields(t *testing.T) {
	rt, j := start(t, Options{Workers: 1})
	h := ints(t, rt, make([]int64, 4))
	h.SetName("counts")
	k := kernel("k", func(*TaskContext) error { return nil })
	k.Types = &Types{Operands: []OperandType{{Kinds: Kinds(iface.Vector), Elem: iface.I64}, {Elem: iface.F64}}, Args: []ArgType{{}, {Kind: iface.IntScalar}}}
	k.Signature = "k(x: R vector[i64], …)"
	var te *TypeError
	s := &TaskSpec{Codelet: k, Operands: []Operand{{Handle: h, Mode: iface.R}, {Handle: h, Mode: iface.R}}, Args: []iface.Scalar{{}, {}}}
	if err := j.Submit(s); !errors.As(err, &te) || te.Operand != 1 || te.Handle != h || te.Arg != -1 {
		t.Errorf("%+v", te)
	}
	if want := "operand 1 of codelet k, declared as \"k(x: R vector[i64], …)\", must be data of f64 elements, and got `counts` (vector[i64] of 4)"; te.Error() != want {
		t.Errorf("%q", te)
	}
	k.Types.Operands[1].Elem = iface.I64
	if err := j.Submit(s); !errors.As(err, &te) || te.Operand != -1 || te.Handle != nil || te.Arg != 1 {
		t.Errorf("%+v", te)
	}
}
