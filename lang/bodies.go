package lang

// Bodies of codelets of the host's modules: implementations for devices, for which the host has
// no function, and machine code for CPU workers, where that is faster than its functions.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/kernel"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// withBodies returns k, or a copy of it that runs its bodies: on CPU workers if they are for these, else on NVIDIA devices, if the
// program can use these and k has no other implementation for them.
func (c *Compiler) withBodies(k *engine.Codelet) *engine.Codelet {
	if k.Bodies != nil && k.Bodies.CPU && len(k.CPU) == 1 {
		own := *k
		own.CPU = []engine.Impl{newBodies(k, c.kernels()).onCPU}
		return &own
	}
	if k.Bodies == nil || k.On["cuda"] != nil || kernel.NoCUDA(c.kernels()) != nil {
		return k
	}
	own := *k
	own.On = maps.Clone(k.On)
	if own.On == nil {
		own.On = map[string][]engine.Impl{}
	}
	b := newBodies(k, c.kernels())
	own.On["cuda"] = []engine.Impl{b.onCUDA}
	return &own
}

// bodies are those of a codelet. They are compiled when a task needs one. They are safe for
// concurrent use.
type bodies struct {
	codelet *engine.Codelet
	kernels kernel.Options

	// declared returns the codelets of the source.
	declared func() (map[string]*types.Object, error)

	spent atomic.Int64 // nanoseconds in the function of the codelet, before there are bodies

	mu struct {
		sync.Mutex
		made map[string]func() *body // by the operands; compiles the body when it is first called
	}
}

// body is the one for operands of some kinds and elements.
type body struct {
	code *kernel.Program
	cuda func(s accel.Stream, t *bodyTask) error
	err  error // the reason why there is none
}

func newBodies(k *engine.Codelet, opts kernel.Options) *bodies {
	b := &bodies{codelet: k, kernels: opts}
	b.declared = sync.OnceValues(func() (map[string]*types.Object, error) { return declared(k.Name+".spu", k.Bodies.Source) })
	b.mu.made = map[string]func() *body{}
	return b
}

// bodyTask is a task with the scalars of its body.
type bodyTask struct {
	*engine.TaskContext
	args []iface.Scalar
}

func (t *bodyTask) Args() []iface.Scalar { return t.args }

// onCUDA runs the body for a task on an NVIDIA device. A task that has none runs elsewhere.
func (b *bodies) onCUDA(c *engine.TaskContext) error {
	ops := operandsOf(c)
	of := b.find(ops)
	if of.err != nil {
		return &accel.DeclinedError{Device: "cuda", Kernel: b.codelet.Name, Err: of.err}
	}
	return of.cuda(c.Stream(), &bodyTask{c, b.scalars(ops, c.Args())})
}

// bodiesAfter is the time in the function of a codelet after which tasks look for a body.
const bodiesAfter = time.Millisecond

// onCPU runs a task as machine code of the body, or by the function of the codelet until there is machine code, and if that is
// not faster.
func (b *bodies) onCPU(c *engine.TaskContext) error {
	function := b.codelet.CPU[0]
	if b.kernels.Mode != kernel.Native && b.spent.Load() < int64(bodiesAfter) {
		start := time.Now()
		err := function(c)
		b.spent.Add(int64(time.Since(start)))
		return err
	}
	ops := operandsOf(c)
	of := b.find(ops)
	if of.err != nil {
		return function(c)
	}
	_, err := of.code.RunTask(&bodyTask{c, b.scalars(ops, c.Args())}, c.Keep())
	var fault *kernel.Fault
	if errors.As(err, &fault) {
		return fmt.Errorf("%s: %s", b.codelet.Name, fault.Message) // its place is in the source of the module
	}
	return err
}

// operandsOf returns the operands of a task.
func operandsOf(c *engine.TaskContext) []iface.Desc {
	ops := make([]iface.Desc, c.NumBuffers())
	for i := range ops {
		ops[i] = c.Buffer(i).Desc
	}
	return ops
}

// scalars returns the scalars of the body for a task.
func (b *bodies) scalars(ops []iface.Desc, args []iface.Scalar) []iface.Scalar {
	if b.codelet.Bodies.Args == nil {
		return args
	}
	return b.codelet.Bodies.Args(ops, args)
}

// find returns the body for operands.
func (b *bodies) find(ops []iface.Desc) *body {
	key := make([]byte, 0, 16) // on the stack
	for i := range ops {
		key = append(key, byte(ops[i].Kind), byte(ops[i].Elem))
	}
	b.mu.Lock()
	found := b.mu.made[string(key)]
	if found == nil {
		found = sync.OnceValue(func() *body { return b.compile(ops) })
		b.mu.made[string(key)] = found
	}
	b.mu.Unlock()
	return found() // without the lock: tasks with other operands go on meanwhile
}

// compile compiles the body for operands.
func (b *bodies) compile(ops []iface.Desc) *body {
	code, err := b.program(ops)
	if err != nil {
		return &body{err: err}
	}
	if b.codelet.Bodies.CPU {
		return &body{code: code}
	}
	run, err := kernel.CUDA(code)
	return &body{code: code, err: err, cuda: func(s accel.Stream, t *bodyTask) error { return run(s, t) }}
}

// program compiles the first body that fits operands.
func (b *bodies) program(ops []iface.Desc) (*kernel.Program, error) {
	objects, err := b.declared()
	if err != nil {
		return nil, err
	}
	err = fmt.Errorf("%s has no body for these operands", b.codelet.Name)
	for _, name := range b.codelet.Bodies.Names {
		o := objects[name]
		if o == nil {
			return nil, fmt.Errorf("%s: its bodies have no codelet %s", b.codelet.Name, name)
		}
		if targs, ok := fits(o.Sig, ops); ok {
			var code *kernel.Program
			opts := b.kernels
			if b.codelet.Bodies.CPU {
				opts.Instead = func(t kernel.Task) error { return b.codelet.CPU[0](t.(*bodyTask).TaskContext) }
			}
			if code, err = kernel.Compile(o.Unit.(*check.Unit).File, o.Node.(*syntax.Codelet), o.Sig, targs, opts); err == nil {
				return code, nil
			}
		}
	}
	return nil, err
}

// declared returns the codelets that a source declares, by name.
func declared(name, source string) (map[string]*types.Object, error) {
	p, ds := (&Compiler{}).Compile(context.Background(), name, []byte(source))
	if err := ds.Err(); err != nil {
		return nil, err
	}
	out := map[string]*types.Object{}
	for _, o := range p.checked.Main.Objects {
		if o.Kind == types.CodeletObject && o.Node != nil {
			out[o.Name] = o
		}
	}
	return out, nil
}

// fits returns the element types of the letters in sig for operands, and whether these have the
// kinds and elements of sig.
func fits(sig *types.Signature, ops []iface.Desc) (targs map[byte]iface.Elem, ok bool) {
	targs = map[byte]iface.Elem{}
	n := 0
	for _, p := range sig.Flat().Params {
		if p.Mode == iface.NoMode {
			continue
		}
		if n == len(ops) || p.Type.Data() != ops[n].Kind {
			return nil, false
		}
		want := p.Type.Elem
		if letter := p.Type.Param; letter != 0 {
			if targs[letter] == iface.NoElem {
				targs[letter] = ops[n].Elem
			}
			want = targs[letter]
		}
		if want != ops[n].Elem {
			return nil, false
		}
		n++
	}
	return targs, n == len(ops)
}
