package lang

// The compiler: what scripts may use, and compilation.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/interp"
	"github.com/starpush/starpush/lang/kernel"
	"github.com/starpush/starpush/lang/syntax/printer"
	"github.com/starpush/starpush/lang/types"
)

// Config lists everything a script can reach; the zero value gives scripts no IO
// and no imports.
type Config struct {
	Codelets []*Codelet         // host codelets, usable without import
	Modules  map[string]*Module // host modules, as in import "std/blas": stdlib.Modules() has those of package stdlib
	Funcs    []*Func            // host functions
	Filters  []*Filter          // host filters
	Loader   Loader             // resolves import "x.spu"; nil forbids file imports
	Files    FileSystem         // what load and save reach; nil forbids both
	Limits   Limits             // defaults for every run, call and entry
	Totals   Totals             // defaults for all calls of an instance or session together
	Warnings WarningSet         // which warnings to report, which to treat as errors
	Kernels  Kernels            // how bodies of codelets run on CPU workers

	// KernelCache is a folder that keeps machine code of bodies between runs of programs, up to
	// 64 MiB; "" for none. Processes may share it. Files that another user could have written
	// are not used.
	KernelCache string
}

// Kernels is how bodies of codelets run on CPU workers. Results are the same, bit for bit. The
// environment variable STARPUSH_KERNELS (strips or native) replaces AutoKernels.
type Kernels uint8

const (
	// AutoKernels runs a body in strips of several hundred rounds an operation, and as machine
	// code once its runs have taken some milliseconds: the LLVM library of the machine, if
	// there is one, compiles it beside the tasks.
	AutoKernels = Kernels(kernel.Auto)
	// StripKernels runs all bodies in strips, and loads no library.
	StripKernels = Kernels(kernel.Strips)
	// NativeKernels compiles a body before its first run. Bodies that have no machine code
	// run in strips. Without a library, tasks with a body fail.
	NativeKernels = Kernels(kernel.Native)
)

// kernels returns how bodies run.
func (c *Compiler) kernels() kernel.Options {
	return kernel.Options{Mode: kernel.Mode(c.cfg.Kernels), Cache: kernel.NewCache(c.cfg.KernelCache)}
}

// KernelLibrary loads the library that makes machine code of bodies, and returns its name, its
// version and the processor. The error is the reason why there is none.
func KernelLibrary() (string, error) { return kernel.Library() }

// String returns auto, strips or native.
func (k Kernels) String() string { return kernel.Mode(k).String() }

// A Compiler holds what scripts may use. It is immutable and safe for concurrent use.
type Compiler struct {
	cfg Config
	env check.Env
}

// NewCompiler checks cfg: two things of one name, or a module whose name ends in
// .spu, are errors.
func NewCompiler(cfg Config) (*Compiler, error) {
	c := &Compiler{cfg: cfg, env: check.Env{Modules: map[string]*types.Module{}}}
	seen := map[string]string{}
	add := func(name, what string) error {
		if old, dup := seen[name]; dup {
			return fmt.Errorf("lang: NewCompiler: %s is given twice, as %s and as %s", name, old, what)
		}
		seen[name] = what
		return nil
	}
	for _, k := range cfg.Codelets {
		if k == nil || k.sig == nil {
			return nil, fmt.Errorf("lang: NewCompiler: a codelet is nil")
		}
		if err := add(k.Name(), "codelet"); err != nil {
			return nil, err
		}
		c.env.Codelets = append(c.env.Codelets, codeletObject(k.sig, k.eng))
	}
	for _, f := range cfg.Funcs {
		if f == nil || f.f == nil {
			return nil, fmt.Errorf("lang: NewCompiler: a function is nil")
		}
		if err := add(f.Name(), "function"); err != nil {
			return nil, err
		}
		c.env.Funcs = append(c.env.Funcs, &types.Object{Name: f.f.Name, Kind: types.FuncObject, Doc: f.f.Doc, Sig: f.f.Sig, Host: f.f})
	}
	for _, f := range cfg.Filters {
		if f == nil || f.f == nil {
			return nil, fmt.Errorf("lang: NewCompiler: a filter is nil")
		}
		if err := add(f.f.Name, "filter"); err != nil {
			return nil, err
		}
		c.env.Filters = append(c.env.Filters, &types.Object{Name: f.f.Name, Kind: types.FilterObject, Doc: f.f.Doc, Sig: f.f.Sig, Host: f.f})
	}
	for name, m := range cfg.Modules {
		if m == nil || name == "" || strings.HasSuffix(name, ".spu") {
			return nil, fmt.Errorf("lang: NewCompiler: module %q: host modules are not nil and have names without .spu", name)
		}
		members, err := moduleMembers(m)
		if err != nil {
			return nil, fmt.Errorf("lang: NewCompiler: module %q: %w", name, err)
		}
		for _, o := range members {
			k := c.withBodies(o.Host.(*engine.Codelet))
			o.Host, o.Kinds = k, kindsOf(k)
		}
		c.env.Modules[name] = &types.Module{Name: name, Doc: m.Doc, Members: members}
	}
	return c, nil
}

var errNoCompiler = errors.New("lang: the Compiler is nil; NewCompiler makes one, unless it returns an error")

// envFor returns the environment with file imports bound to ctx.
func (c *Compiler) envFor(ctx context.Context) *check.Env {
	env := c.env
	env.MaxSource = c.cfg.Limits.MaxSource()
	env.Used = c.cfg.Warnings.Used
	if l := c.cfg.Loader; l != nil {
		env.Load = func(p string, from *diag.Source) (src *diag.Source, err error) {
			defer func() {
				if r := recover(); r != nil {
					err = fmt.Errorf("the loader panicked: %v", r)
				}
			}()
			if err := context.Cause(ctx); err != nil {
				return nil, err
			}
			name, text, err := l.Load(ctx, p, from.Name)
			if err != nil {
				e := &loadError{err: err}
				if n, ok := l.(interface{ Near(p, from string) []string }); ok {
					e.near = n.Near(p, from.Name)
				}
				return nil, e
			}
			return diag.NewSource(name, string(text)), nil
		}
	}
	return &env
}

// loadError is an error of a Loader with the names that exist near.
type loadError struct {
	err  error
	near []string
}

func (e *loadError) Error() string {
	if pe, ok := e.err.(*fs.PathError); ok {
		return fmt.Sprintf("%s: %v", pe.Path, pe.Err)
	}
	return e.err.Error()
}

// Unwrap returns the error of the Loader.
func (e *loadError) Unwrap() error { return e.err }

// Near lists the files that an import could have meant.
func (e *loadError) Near() []string { return e.near }

// Compile parses, resolves and checks src and all it imports. The Program is nil
// exactly when diags.Err() is not nil.
func (c *Compiler) Compile(ctx context.Context, name string, src []byte) (p *Program, diags Diagnostics) {
	ctx = interp.Context(ctx)
	source := diag.NewSource(name, string(src))
	if c == nil {
		return nil, Diagnostics{internal(source, errNoCompiler)}
	}
	defer func() {
		if r := recover(); r != nil {
			p, diags = nil, Diagnostics{internal(source, r)}
		}
	}()
	prog, ds := check.Check(c.envFor(ctx), source)
	ds = c.cfg.Warnings.apply(ds)
	if ds.Err() != nil || prog == nil {
		return nil, ds
	}
	code, err := interp.Compile(prog, c.kernels())
	if err != nil {
		return nil, append(ds, diagnosticOf(source, err))
	}
	return &Program{comp: c, checked: prog, code: code, planned: &planCode{}}, ds
}

// internal reports a fault of the compiler itself as a diagnostic.
func internal(src *diag.Source, r any) Diagnostic {
	return Diagnostic{Code: "E0001", Message: fmt.Sprintf("the compiler failed on this script: %v", r), Span: src.Span(0, 0),
		Help: []string{"this is a fault of starpush: please report it with the script"}}
}

func diagnosticOf(src *diag.Source, err error) Diagnostic {
	if d, ok := err.(*Diagnostic); ok {
		return *d
	}
	return internal(src, err)
}

// NewSession starts a session on rt. Its options are those of a run. The engine's
// runtime must outlive it. A mistake in an option is the error of every Eval.
func (c *Compiler) NewSession(rt *engine.Runtime, opts ...Option) *Session {
	if c == nil {
		return &Session{comp: &Compiler{}, err: errNoCompiler}
	}
	return newSession(c, rt, opts)
}

// Format returns src in the canonical layout. It is idempotent. The error is
// Diagnostics when src does not parse.
func Format(name string, src []byte) ([]byte, error) {
	return printer.Format(diag.NewSource(name, string(src)))
}

// Must returns v and panics when err is not nil. It is for start-up code whose
// arguments are constants.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
