package perf

// Models: how a codelet declares its times.

import (
	"fmt"
	"math"

	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine/internal/isolate"
)

// Kind says how a model predicts.
type Kind uint8

// The kinds of models.
const (
	History    Kind = iota // median of what was measured last for the footprint
	Regression             // a·n^b
	NonLinear              // a·n^b + c
	Multiple               // sum of the model's Terms
	Common                 // Cost, times a factor for the architecture
	PerArch                // Cost, which looks at the architecture
)

var kindNames = [...]string{"history", "regression", "non-linear", "multiple", "common", "per-arch"}

// String returns the name of k in files and tables.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", k)
}

// measured reports whether models of kind k learn.
func (k Kind) measured() bool { return k <= Multiple }

// Limits of what a model may declare.
const (
	MaxParams = 8  // of a Multiple model
	MaxTerms  = 16 // of a Multiple model
)

// DefaultMinSamples is the number of measurements from which an entry is known.
const DefaultMinSamples = 10

// Call is one task as a model sees it. The slices belong to the caller and must
// not be kept.
type Call struct {
	Ops  []iface.Desc   // the operands: kinds and sizes
	Args []iface.Scalar // the scalar arguments
	Arch string         // "cpu"
	Impl int            // number of the implementation, from 0
	// Variant is the way in which the implementation runs, where it has several: "native".
	Variant string
	// Workers is how many workers a task of a parallel codelet has. Each number has
	// measurements of its own. 0: the codelet is not parallel.
	Workers int
}

// Bytes is the size of all operands together.
func (c *Call) Bytes() float64 {
	n := 0.0
	for i := range c.Ops {
		n += float64(c.Ops[i].Bytes())
	}
	return n
}

// Model declares how the times of a codelet are predicted. The zero value is a
// history. It is immutable once used. Functions may be called by several workers
// at once, each call on a goroutine of its own, and must not block; one that
// panics, ends its goroutine or returns no positive number makes the prediction
// unknown.
type Model struct {
	Kind Kind
	// Name of the file; "" takes the codelet's. Codelets that share a name share
	// their measurements.
	Name string
	// Args lists the scalar arguments that belong to the footprint, counted from
	// 0. Nil: texts and truth values, which are flags as a rule. Numbers take
	// part only if listed, as each value has measurements of its own.
	Args []int
	// Size is the n of Regression and NonLinear, and of plots; nil: the bytes of
	// all operands. SizeUnit names its unit: curves do not go through what was
	// measured under another one.
	Size     func(*Call) float64
	SizeUnit string
	// Params computes the parameters of a Multiple model, at most MaxParams.
	// ParamNames is their number and how files and plots call them.
	Params     func(*Call) []float64
	ParamNames []string
	// Terms are the monomials of a Multiple model, at most MaxTerms: one exponent
	// for each parameter. {{0, 0}, {1, 2}} stands for a0 + a1·p·q².
	Terms [][]float64
	// Cost predicts seconds, for Common and PerArch.
	Cost func(*Call) float64
	// Factor multiplies what Cost says on an architecture, for Common; 1 where
	// it has none.
	Factor map[string]float64
	// Energy predicts the joules that a task takes, for models of any kind; nil:
	// not known. The policies dmda to dmdas weigh it.
	Energy func(*Call) float64
	// MinSamples is the number of measurements from which an entry is known; 0
	// means DefaultMinSamples.
	MinSamples int
}

// Check reports what is wrong with a model.
func (m *Model) Check() error {
	switch {
	case int(m.Kind) >= len(kindNames):
		return fmt.Errorf("model of unknown %v; the kinds are History to PerArch", m.Kind)
	case m.MinSamples < 0:
		return fmt.Errorf("MinSamples is %d; it must be positive, or 0 for %d", m.MinSamples, DefaultMinSamples)
	case !m.Kind.measured() && m.Cost == nil:
		return fmt.Errorf("a %v model needs a Cost function", m.Kind)
	case m.Kind == Multiple && (m.Params == nil || len(m.ParamNames) == 0 || len(m.Terms) == 0):
		return fmt.Errorf("a multiple model needs Params, ParamNames and Terms")
	case len(m.ParamNames) > MaxParams || len(m.Terms) > MaxTerms:
		return fmt.Errorf("a model of %d parameters and %d terms; it can have %d and %d",
			len(m.ParamNames), len(m.Terms), MaxParams, MaxTerms)
	}
	for i, t := range m.Terms {
		if len(t) != len(m.ParamNames) {
			return fmt.Errorf("term %d has %d exponents for %d parameters", i, len(t), len(m.ParamNames))
		}
		for _, e := range t {
			if math.IsNaN(e) || math.IsInf(e, 0) {
				return fmt.Errorf("term %d has the exponent %v", i, e)
			}
		}
	}
	for _, a := range m.Args {
		if a < 0 {
			return fmt.Errorf("there is no argument %d; they count from 0", a)
		}
	}
	for arch, f := range m.Factor {
		if !usable(f) {
			return fmt.Errorf("the factor of %q is %v; it must be positive", arch, f)
		}
	}
	return nil
}

// minSamples is the number of measurements that make an entry known.
func (m *Model) minSamples() int64 {
	if m.MinSamples == 0 {
		return DefaultMinSamples
	}
	return int64(m.MinSamples)
}

// sizeUnit names the unit of sizes.
func (m *Model) sizeUnit() string {
	switch {
	case m.Size == nil:
		return "bytes"
	case m.SizeUnit == "":
		return "size"
	}
	return m.SizeUnit
}

// size returns the n of a call, or 0 if it cannot be computed.
func (m *Model) size(c *Call) float64 {
	if m.Size == nil {
		return c.Bytes()
	}
	return guard(m.Size, c)
}

// params returns the parameters of a call, or nil if they cannot be computed.
func (m *Model) params(c *Call) (p []float64) {
	if m.Params == nil {
		return nil
	}
	if !isolate.Call(func() { p = m.Params(c) }) || len(p) != len(m.ParamNames) {
		return nil
	}
	for _, v := range p {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
	}
	return append([]float64(nil), p...)
}

// cost is what the user's function says; 0: unknown.
func (m *Model) cost(c *Call) float64 {
	s := guard(m.Cost, c)
	if f, ok := m.Factor[c.Arch]; ok && m.Kind == Common {
		s *= f
	}
	if !usable(s) {
		return 0
	}
	return s
}

// Joules returns the energy of a call by the model's Energy; 0: not known. m may be nil.
func (m *Model) Joules(c *Call) float64 {
	if m == nil || m.Energy == nil {
		return 0
	}
	return guard(m.Energy, c)
}

// guard calls a function of the user's; 0 when it does not return, or no positive
// number. Policies ask under their locks.
func guard(fn func(*Call) float64, c *Call) (x float64) {
	if !isolate.Call(func() { x = fn(c) }) || !usable(x) {
		return 0
	}
	return x
}

// usable reports whether x is a positive finite number.
func usable(x float64) bool { return x > 0 && !math.IsInf(x, 1) }
