package lang

// Host functions and host filters.

import (
	"context"
	"fmt"

	"github.com/starpush/starpush/lang/interp"
	"github.com/starpush/starpush/lang/types"
)

// A Func is a host function that scripts may call. It is immutable.
type Func struct{ f *interp.HostFunc }

// NewFunc adds a host function, "now() -> float". fn gets one argument for each
// parameter: int64, float64, bool, string, []int64, []float64, []any for other
// lists, *Handle, *View; it returns the same types (any Go integer or float will
// do, nil for a function without result). Values of other types of the language
// are passed through as they are. A panic in fn becomes an error with the script
// position, and with the stack: see PanicError. fn may use Instance.Call on the same goroutine.
func NewFunc(signature string, fn func(ctx context.Context, args []any) (any, error)) (*Func, error) {
	sig, err := funcSignature(signature)
	if err != nil {
		return nil, err
	}
	if fn == nil {
		return nil, fmt.Errorf("lang: NewFunc %s: the function is nil", sig.Name)
	}
	return &Func{&interp.HostFunc{Name: sig.Name, Sig: sig, Fn: fn}}, nil
}

// Doc returns f with documentation for :doc and editors.
func (f *Func) Doc(text string) *Func {
	if f == nil || f.f == nil {
		return f
	}
	c := *f.f
	c.Doc = text
	return &Func{&c}
}

// Name returns the name in the language.
func (f *Func) Name() string {
	if f == nil || f.f == nil {
		return ""
	}
	return f.f.Name
}

// A Filter is a way of splitting data that scripts may use in partition. It is
// immutable.
type Filter struct{ f *interp.HostFilter }

// Box is one part: the indices Lo[k] <= i < Hi[k] along each axis k of the data
// that is split. Boxes may overlap and need not cover.
type Box = interp.Box

// NewFilter adds a filter, "stripes(A: matrix[T], p: int) -> matrix[T]": the first
// parameter is the data, the result the type of the parts, which must be the
// same; fn gets its sizes and the other arguments (as NewFunc does) and gives the
// box of each part. fn must depend on nothing else.
func NewFilter(signature string, fn func(shape []int, args []any) ([]Box, error)) (*Filter, error) {
	sig, err := funcSignature(signature)
	if err != nil {
		return nil, err
	}
	if fn == nil {
		return nil, fmt.Errorf("lang: NewFilter %s: the function is nil", sig.Name)
	}
	if len(sig.Params) == 0 || !sig.Params[0].Type.IsHandle() || sig.Params[0].Type.Kind == types.Void {
		return nil, fmt.Errorf("lang: NewFilter %s: the first parameter must be the data that is split, such as `A: matrix[T]`", sig.Name)
	}
	if !types.Same(sig.Params[0].Type, sig.Result) {
		return nil, fmt.Errorf("lang: NewFilter %s: parts must have the type of the data, %v, and the result is %v", sig.Name, sig.Params[0].Type, sig.Result)
	}
	for _, p := range sig.Params[1:] {
		if !p.Type.IsScalar() && p.Type.Kind != types.List {
			return nil, fmt.Errorf("lang: NewFilter %s: `%s` is %v; arguments of filters are scalars and lists", sig.Name, p.Name, p.Type)
		}
	}
	return &Filter{&interp.HostFilter{Name: sig.Name, Sig: sig, Fn: fn}}, nil
}
