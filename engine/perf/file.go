package perf

// Files: what is kept of one codelet on one machine.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Schema is the version of the files that this package writes. It reads those before, too:
// version 1 has no recent measurements, and set some aside, which are left out; version 2 has no
// variants of implementations, version 3 no numbers of workers: what it has of parallel codelets is
// not used.
const Schema = 4

// Bounds of a file.
const (
	maxEntries   = 1024 // footprints of one architecture and implementation
	maxGroups    = 256  // architectures, implementations, variants and numbers of workers of one codelet
	maxFileBytes = 64 << 20
)

// Key names the table of a codelet.
type Key struct {
	Codelet string
	Kernel  string // version of the kernels; "" if not known
}

// File is the content of a file.
type File struct {
	Key
	Machine    string
	Kind       Kind
	SizeUnit   string
	ParamNames []string    // of a Multiple model
	Terms      [][]float64 // of a Multiple model
	Generation int64       // raised when everything was measured anew
	Groups     []*Group    // in order of architecture, implementation, variant and number of workers
}

// Group holds the measurements with one variant of an implementation on one architecture, with one
// number of workers.
type Group struct {
	Arch    string
	Impl    int
	Variant string   // see Call
	Workers int      // see Call
	Entries []*Sized // by size, then footprint
}

// Sized is the entry of one footprint and what it stands for.
type Sized struct {
	Entry
	Footprint Footprint
	What      string    // operands and arguments in words
	Size      float64   // what the model's Size says; bytes of all operands without one
	Params    []float64 // of a Multiple model
	Last      int64     // when it last grew, in seconds since 1970
}

// ErrCorrupt is wrapped by errors about files that cannot be understood.
var ErrCorrupt = errors.New("not a performance model")

// ErrNewer is wrapped by errors about files of a later version.
var ErrNewer = errors.New("written by a newer version")

// FileError says what is wrong with a file and what to do about it.
type FileError struct {
	File   string
	Err    error
	Remedy string
}

func (e *FileError) Error() string {
	s := fmt.Sprintf("performance model %s: %v", e.File, e.Err)
	if e.Remedy != "" {
		s += "; " + e.Remedy
	}
	return s
}

func (e *FileError) Unwrap() error { return e.Err }

// number is a float64 whose NaN and infinities survive JSON.
type number float64

func (n number) MarshalJSON() ([]byte, error) {
	f := float64(n)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return strconv.AppendQuote(nil, strconv.FormatFloat(f, 'g', -1, 64)), nil
	}
	return strconv.AppendFloat(nil, f, 'g', -1, 64), nil
}

func (n *number) UnmarshalJSON(b []byte) error {
	s := string(b)
	switch s {
	case `"NaN"`, `"+Inf"`, `"-Inf"`:
		s = strings.Trim(s, `"`)
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return fmt.Errorf("%s is no number", s)
	}
	*n = number(f)
	return nil
}

func numbers(fs []float64) []number {
	var out []number
	for _, f := range fs {
		out = append(out, number(f))
	}
	return out
}

func floats(ns []number) []float64 {
	var out []float64
	for _, n := range ns {
		out = append(out, float64(n))
	}
	return out
}

// The file as JSON. Times are seconds.
type jsonFile struct {
	Schema     int         `json:"starpush_perf"`
	Codelet    string      `json:"codelet"`
	Kernel     string      `json:"kernel,omitempty"`
	Machine    string      `json:"machine"`
	Kind       string      `json:"kind"`
	SizeUnit   string      `json:"size_unit"`
	Params     []string    `json:"params,omitempty"`
	Terms      [][]number  `json:"terms,omitempty"`
	Generation int64       `json:"generation"`
	Groups     []jsonGroup `json:"groups"`
}

type jsonGroup struct {
	Arch    string      `json:"arch"`
	Impl    int         `json:"impl"`
	Variant string      `json:"variant,omitempty"`
	Workers int         `json:"workers,omitempty"`
	Fit     *jsonFit    `json:"fit,omitempty"` // for readers of the file; computed anew when it is loaded
	Entries []jsonEntry `json:"entries"`
}

type jsonFit struct {
	A        number   `json:"a"`
	B        number   `json:"b"`
	C        number   `json:"c"`
	Coef     []number `json:"coef,omitempty"`
	RelError number   `json:"rel_error"`
}

type jsonEntry struct {
	Footprint string   `json:"footprint"`
	What      string   `json:"what"`
	Size      number   `json:"size"`
	Params    []number `json:"params,omitempty"`
	Last      int64    `json:"last"`
	jsonMoments
	Recent []number `json:"recent,omitempty"` // seconds
}

type jsonMoments struct {
	N    int64  `json:"n"`
	Mean number `json:"mean"`
	M2   number `json:"m2"`
	Min  number `json:"min"`
	Max  number `json:"max"`
}

func (m Moments) json() jsonMoments {
	return jsonMoments{m.N, number(m.Mean), number(m.M2), number(m.Min), number(m.Max)}
}

func (j jsonMoments) moments() Moments {
	return Moments{j.N, float64(j.Mean), float64(j.M2), float64(j.Min), float64(j.Max)}
}

// encode writes f as JSON.
func (f *File) encode(w io.Writer) error {
	j := jsonFile{Schema: Schema, Codelet: f.Codelet, Kernel: f.Kernel, Machine: f.Machine, Kind: f.Kind.String(),
		SizeUnit: f.SizeUnit, Params: f.ParamNames, Generation: f.Generation, Groups: []jsonGroup{}}
	for _, t := range f.Terms {
		j.Terms = append(j.Terms, numbers(t))
	}
	for _, g := range f.Groups {
		jg := jsonGroup{Arch: g.Arch, Impl: g.Impl, Variant: g.Variant, Workers: g.Workers, Entries: []jsonEntry{}}
		if f.Kind != History && f.Kind.measured() {
			c := f.Fit(g)
			jg.Fit = &jsonFit{number(c.A), number(c.B), number(c.C), numbers(c.Coef), number(c.RelError)}
		}
		for _, e := range g.Entries {
			je := jsonEntry{Footprint: e.Footprint.String(), What: e.What, Size: number(e.Size), Params: numbers(e.Params),
				Last: e.Last, jsonMoments: e.Moments.json(), Recent: numbers(e.Recent)}
			jg.Entries = append(jg.Entries, je)
		}
		j.Groups = append(j.Groups, jg)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	return enc.Encode(j)
}

// decode reads what encode wrote. Errors wrap ErrCorrupt or ErrNewer.
func decode(data []byte) (*File, error) {
	var head struct {
		Schema *int `json:"starpush_perf"`
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&head); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if dec.More() {
		return nil, fmt.Errorf("%w: something follows the object", ErrCorrupt)
	}
	switch {
	case head.Schema == nil || *head.Schema < 1:
		return nil, fmt.Errorf("%w: it has no version", ErrCorrupt)
	case *head.Schema > Schema:
		return nil, fmt.Errorf("%w: it has version %d, and this one reads up to %d", ErrNewer, *head.Schema, Schema)
	}
	var j jsonFile
	if err := json.Unmarshal(data, &j); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	k := slices.Index(kindNames[:], j.Kind)
	if k < 0 || j.Codelet == "" || len(j.Params) > MaxParams || len(j.Terms) > MaxTerms || len(j.Groups) > maxGroups {
		return nil, fmt.Errorf("%w: its kind is %q, its codelet %q, with %d parameters, %d terms and %d groups",
			ErrCorrupt, j.Kind, j.Codelet, len(j.Params), len(j.Terms), len(j.Groups))
	}
	f := &File{Key: Key{j.Codelet, j.Kernel}, Machine: j.Machine, Kind: Kind(k), SizeUnit: j.SizeUnit,
		ParamNames: j.Params, Generation: j.Generation}
	for _, t := range j.Terms {
		if len(t) != len(j.Params) {
			return nil, fmt.Errorf("%w: a term has %d exponents for %d parameters", ErrCorrupt, len(t), len(j.Params))
		}
		f.Terms = append(f.Terms, floats(t))
	}
	for _, jg := range j.Groups {
		g := &Group{Arch: jg.Arch, Impl: jg.Impl, Variant: jg.Variant, Workers: jg.Workers}
		if len(jg.Entries) > maxEntries || jg.Impl < 0 || jg.Workers < 0 {
			return nil, fmt.Errorf("%w: implementation %d on %s with %d workers has %d entries", ErrCorrupt, jg.Impl, jg.Arch, jg.Workers, len(jg.Entries))
		}
		for _, je := range jg.Entries {
			e, err := je.sized()
			if err != nil {
				return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
			}
			g.Entries = append(g.Entries, e)
		}
		f.Groups = append(f.Groups, g)
	}
	f.sort()
	return f, nil
}

func (je *jsonEntry) sized() (*Sized, error) {
	fp, err := strconv.ParseUint(je.Footprint, 16, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is no footprint", je.Footprint)
	}
	e := &Sized{Entry: Entry{Moments: je.moments(), Recent: floats(je.Recent)}, Footprint: Footprint(fp), What: je.What, Size: float64(je.Size),
		Params: floats(je.Params), Last: je.Last}
	if e.N < 0 || e.N > 1<<60 || len(e.Recent) > MaxRecent || int64(len(e.Recent)) > e.N || len(e.Params) > MaxParams {
		return nil, fmt.Errorf("footprint %s has %d measurements, %d recent ones, %d parameters", je.Footprint, e.N, len(e.Recent), len(e.Params))
	}
	for _, x := range e.Recent {
		if !usable(x) {
			return nil, fmt.Errorf("footprint %s has a measurement of %v seconds", je.Footprint, x)
		}
	}
	e.Entry.sort()
	return e, nil
}

// sort brings groups and entries in order.
func (f *File) sort() {
	slices.SortStableFunc(f.Groups, func(a, b *Group) int {
		return cmp.Or(cmp.Compare(a.Arch, b.Arch), cmp.Compare(a.Impl, b.Impl), cmp.Compare(a.Variant, b.Variant), cmp.Compare(a.Workers, b.Workers))
	})
	for _, g := range f.Groups {
		sortEntries(g.Entries)
	}
}

func sortEntries(es []*Sized) {
	slices.SortStableFunc(es, func(a, b *Sized) int {
		return cmp.Or(cmp.Compare(a.Size, b.Size), cmp.Compare(a.Footprint, b.Footprint))
	})
}

// Samples is the number of measurements in f.
func (f *File) Samples() (n int64) {
	for _, g := range f.Groups {
		n += g.Samples()
	}
	return n
}

// Samples is the number of measurements in g.
func (g *Group) Samples() (n int64) {
	for _, e := range g.Entries {
		n += e.Samples()
	}
	return n
}

// Last returns the time at which g last grew, in seconds since 1970.
func (g *Group) Last() (t int64) {
	for _, e := range g.Entries {
		t = max(t, e.Last)
	}
	return t
}

func (g *Group) key() groupKey { return groupKey{g.Arch, g.Impl, g.Variant, g.Workers} }

// group finds or makes a group; nil when there are too many.
func (f *File) group(k groupKey) *Group {
	for _, g := range f.Groups {
		if g.key() == k {
			return g
		}
	}
	if len(f.Groups) >= maxGroups {
		return nil
	}
	g := &Group{Arch: k.arch, Impl: k.impl, Variant: k.variant, Workers: k.workers}
	f.Groups = append(f.Groups, g)
	return g
}

// suit takes sizes and parameters from what was measured for a model that has others than
// m: no curve goes through points of two units.
func (f *File) suit(m *Model) {
	sizes, params := f.SizeUnit == m.sizeUnit(), slices.Equal(f.ParamNames, m.ParamNames)
	for _, g := range f.Groups {
		for _, e := range g.Entries {
			if !sizes {
				e.Size = 0
			}
			if !params {
				e.Params = nil
			}
		}
	}
}

// measure takes the size and the parameters of o if s has none.
func (s *Sized) measure(o *Sized) {
	if s.Size == 0 {
		s.Size = o.Size
	}
	if s.Params == nil {
		s.Params = o.Params
	}
}

// Merge adds what was measured in o to f. When there is no room the footprints
// that have not grown for longest go.
func (f *File) Merge(o *File) {
	for _, og := range o.Groups {
		g := f.group(og.key())
		if g == nil {
			continue
		}
		at := map[Footprint]*Sized{}
		for _, e := range g.Entries {
			at[e.Footprint] = e
		}
		for _, oe := range og.Entries {
			e := at[oe.Footprint]
			if e == nil {
				c := *oe
				c.Recent = slices.Clone(oe.Recent)
				e, at[oe.Footprint] = &c, &c
				g.Entries = append(g.Entries, e)
				continue
			}
			e.Merge(&oe.Entry)
			e.measure(oe)
			e.Last = max(e.Last, oe.Last)
		}
		if n := len(g.Entries) - maxEntries; n > 0 {
			sortByAge(g.Entries)
			g.Entries = slices.Delete(g.Entries, 0, n)
		}
	}
	f.sort()
}

// sortByAge orders entries by when they last grew, then by how often they did.
func sortByAge(es []*Sized) {
	slices.SortStableFunc(es, func(a, b *Sized) int {
		return cmp.Or(cmp.Compare(a.Last, b.Last), cmp.Compare(a.Samples(), b.Samples()))
	})
}

// Fit fits the curve that f's kind asks for through the entries of g.
func (f *File) Fit(g *Group) Fit { return fitEntries(f.Kind, g.Entries, f.Terms, len(f.ParamNames), 1) }

// maxPoints bounds the entries that a curve is fitted to.
const maxPoints = 256

// fitEntries fits a curve to entries with at least atLeast measurements.
func fitEntries(k Kind, entries []*Sized, terms [][]float64, params int, atLeast int64) Fit {
	var pts []point
	for _, e := range entries {
		if e.N < atLeast || !usable(e.Median()) {
			continue
		}
		if k == Multiple && len(e.Params) != params || k != Multiple && !usable(e.Size) {
			continue
		}
		pts = append(pts, point{e.Size, e.Params, e.Median(), e.N})
	}
	if len(pts) > maxPoints { // those that were measured most
		slices.SortStableFunc(pts, func(a, b point) int { return cmp.Compare(b.n, a.n) })
		pts = pts[:maxPoints]
	}
	return fit(k, pts, terms)
}
