package interp

// load and save, and the text of handles.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr/format"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/check"
	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/syntax"
	"github.com/starpush/starpush/lang/types"
)

// FileSystem is the file system of load and save; see lang.FileSystem.
type FileSystem interface {
	fs.FS
	Create(name string) (io.WriteCloser, error)
}

// fileName checks that files are allowed and cleans a name.
func (m *Machine) fileName(name string, at position, what string) string {
	if m.cfg.Files == nil {
		d := m.diagnostic("R0107", at, fmt.Sprintf("%s needs files, and the host allows none", what))
		d.Help = []string{"the embedding program decides: lang.Config.Files"}
		m.raise(d)
	}
	if name == "" {
		d := m.diagnostic("R0107", at, "the name of the file is empty")
		d.Help = []string{"it says the format, too, and ends in " + suffixes()}
		m.raise(d)
	}
	return format.Clean(name)
}

// folders is a FileSystem that knows its folders.
type folders interface {
	HasFolder(name string) bool
}

// suffixes lists the endings of files of data: ".npy, .mtx, .csv or .bin".
func suffixes() string {
	last := len(format.Suffixes) - 1
	return strings.Join(format.Suffixes[:last], ", ") + " or " + format.Suffixes[last]
}

// refuse raises why the format that name says cannot hold data of a kind and element type.
func (m *Machine) refuse(name string, kind iface.Kind, elem iface.Elem, save bool, at position) {
	why, instead := format.Refusal(name, kind, elem, save)
	if why == "" {
		return
	}
	verb := "load"
	if save {
		verb = "save"
	}
	d := m.diagnostic("R0107", at, fmt.Sprintf("cannot %s `%s`: %s", verb, name, why))
	d.Help = []string{instead}
	m.raise(d)
}

// canSave raises what shows, before anything is written, that name cannot be: an ending
// that is no format, or none for the data, or a folder that does not exist.
func (m *Machine) canSave(name string, kind iface.Kind, elem iface.Elem, at position) {
	if !slices.Contains(format.Suffixes, format.Suffix(name)) {
		m.badFile(&format.Error{File: name, Want: "a name that ends in " + suffixes(), Got: fmt.Sprintf("%q", name)}, at, "cannot save", name)
	}
	m.refuse(name, kind, elem, true, at)
	fsys, ok := m.cfg.Files.(folders)
	file, _ := format.Split(name)
	if dir := path.Dir(file); ok && dir != "." && !fsys.HasFolder(dir) {
		d := m.diagnostic("E0902", at, fmt.Sprintf("cannot save `%s`: there is no folder `%s`", diag.OneLine(name), diag.OneLine(dir)))
		d.Help = []string{fmt.Sprintf("make it first, as by `mkdir -p %s`, or save elsewhere", dir)}
		d.Cause = &fs.PathError{Op: "save", Path: name, Err: fs.ErrNotExist}
		m.raise(d)
	}
}

// badFile raises what was wrong with a file.
func (m *Machine) badFile(err error, at position, what, name string) {
	if m.ctx.Err() != nil && (errors.Is(err, m.ctx.Err()) || errors.Is(err, context.Cause(m.ctx))) {
		m.raiseEnded(at)
	}
	code, text := "R0107", ": "+firstLine(err.Error())
	var pe *fs.PathError
	if errors.As(err, &pe) { // the name as the script gives it, and the reason
		text = fmt.Sprintf(" `%s`: %v", diag.OneLine(name), pe.Err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		code = "E0902"
	}
	d := m.diagnostic(code, at, what+text)
	if near, ok := m.nearFile(name); ok && code == "E0902" && diag.OneLine(near) == near {
		d.Help = []string{fmt.Sprintf("did you mean `%s`?", near)}
	}
	d.Cause = err
	m.raise(d)
}

// nearFile finds a file whose name is near, in the same folder.
func (m *Machine) nearFile(name string) (near string, ok bool) {
	name, _ = format.Split(name)
	dir := path.Dir(name)
	var entries []fs.DirEntry
	err := protect(func() (err error) { entries, err = fs.ReadDir(m.cfg.Files, dir); return err })
	if err != nil {
		return "", false
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	if near, ok = diag.Nearest(path.Base(name), names); ok {
		near = path.Join(dir, near)
	}
	return near, ok
}

// loadSource compiles load = "file".
func (c *compiler) loadSource(x syntax.Expr) func(f *frame, spec *engine.DataSpec) func(*iface.Buffer) error {
	name, at := c.ref(x), c.positionOf(x)
	return func(f *frame, spec *engine.DataSpec) func(*iface.Buffer) error {
		s, _ := name(f).(string)
		return f.m.load(s, at, spec)
	}
}

// load opens the file that data described by spec is read from, and notes its sizes.
func (m *Machine) load(s string, at position, spec *engine.DataSpec) func(*iface.Buffer) error {
	s = m.fileName(s, at, "load")
	m.poll(at)
	m.refuse(s, spec.Kind, spec.Elem, false, at)
	if m.replays() && !spec.ReadOnly { // the checkpoint has the value
		m.loggedJSON(at, recordLoad, &spec.Dims, nil)
		return nil
	}
	want := format.Want{Kind: spec.Kind, Elem: spec.Elem}
	if len(spec.Dims) > 0 {
		want.Dims = spec.Dims
	} else if spec.Kind == iface.Variable && format.Suffix(s) == ".bin" {
		want.Dims = []int{} // the file does not say that it has no sizes
	}
	if m.plan != nil {
		m.plan.loads[s] = true
		if dims, ok := m.cfg.FileSizes[s]; ok {
			if err := sizesFit(s, &want, dims); err != nil {
				m.badFile(err, at, "cannot load", s)
			}
			spec.Dims = dims
			return func(*iface.Buffer) error { return nil } // a value, which plans do not know
		}
		if f, ok := m.plan.saved[savedKey(s)]; ok { // the run will have the file by now
			dims, err := format.Saved(s, f.name, f.desc, want)
			if err != nil {
				m.badFile(err, at, "cannot load", s)
			}
			spec.Dims = dims
			return func(*iface.Buffer) error { return nil }
		}
	}
	if m.may.data != unlimited {
		want.Most = max(1, (m.may.data-m.used.data)/int64(want.Elem.Size()))
	}
	var in *format.Input
	err := protect(func() (err error) { in, err = format.Open(format.Within(m.ctx, m.cfg.Files), s, want); return err })
	if errors.Is(err, format.ErrMost) {
		m.exceeded("data", at)
	}
	if err != nil {
		m.badFile(err, at, "cannot load", s)
	}
	m.input = in
	spec.Dims = in.Dims
	if !spec.ReadOnly {
		m.loggedJSON(at, recordLoad, &spec.Dims, func() {})
	}
	spec.InParts = in.InRows()
	spec.Source = func() accel.Source {
		if src := in.Source(); src != nil {
			return &lazyFile{src, spec.Name, s, at}
		}
		return nil
	}
	if m.plan != nil { // sizes are all that it needs
		in.Close()
	}
	return func(b *iface.Buffer) error {
		err := protect(func() error { return in.Fill(b) })
		if err == nil {
			return nil
		}
		return m.catch(func() { m.badFile(err, at, "cannot load", s) })
	}
}

// lazyFile is a file whose elements are read when tasks need them.
type lazyFile struct {
	*format.Source
	data string // the name of the data
	name string // of the file, with its part
	at   position
}

// ReadAt adds to an error of the file which statement loads it.
func (f *lazyFile) ReadAt(b []byte, off int64) (int, error) {
	n, err := f.Source.ReadAt(b, off)
	return n, f.located(err)
}

// Changed adds to an error of the file which statement loads it.
func (f *lazyFile) Changed() error { return f.located(f.Source.Changed()) }

func (f *lazyFile) located(err error) error {
	if err == nil {
		return nil
	}
	s := f.at.span()
	return fmt.Errorf("%w; `%s`, registered at %s:%d, reads the file when tasks need its elements: leave it as it is during the run, or replace it by a new file",
		err, f.data, s.File, s.Start.Line)
}

// savedFile is what a save writes: the name, with the part of the file, and the data.
type savedFile struct {
	name string
	desc iface.Desc
}

// savedKey is what the names of data that one save writes have in common: the file, and of an
// archive the array too.
func savedKey(name string) string {
	if format.Suffix(name) == ".npz" {
		return name
	}
	file, _ := format.Split(name)
	return file
}

// sizesFit says why sizes do not stand for a file that shall become want.
func sizesFit(name string, want *format.Want, dims []int) error {
	fits := len(dims) == want.Kind.Rank() && (want.Dims == nil || slices.Equal(want.Dims, dims))
	for _, n := range dims {
		fits = fits && n >= 0
	}
	if fits {
		return nil
	}
	if len(dims) == 0 {
		return &format.Error{File: name, Want: want.String(), Got: "no size"}
	}
	text := strings.ReplaceAll(strings.Trim(fmt.Sprint(dims), "[]"), " ", " x ")
	return &format.Error{File: name, Want: want.String(), Got: "sizes " + text}
}

// saveHere is save for this rank.
func (m *Machine) saveHere(v any, name string, at, nameAt position) {
	name = m.fileName(name, nameAt, "save")
	kind, elem := iface.NoKind, iface.NoElem
	switch x := v.(type) {
	case *Handle:
		if kind, elem = x.h.Type(); x.isSparse() {
			kind = iface.Matrix // of blocks, too
		}
	case *Array:
		kind, elem = x.buf.Kind, x.buf.Elem
	}
	structs := false
	if h, ok := v.(*Handle); ok {
		structs = h.isSparse() && h.sparse.Format.Fields
	}
	if !structs {
		m.canSave(name, kind, elem, nameAt)
	}
	var err error
	switch x := v.(type) {
	case *Handle:
		if structs {
			m.saveStructs(x, name, at, nameAt)
			return
		}
		if x.isSparse() {
			m.saveSparse(x, name, at, nameAt)
			return
		}
		if m.plan == nil && format.InRows(name) && m.largerThanMemory(x) {
			err = m.saveRows(x, name, at)
			break
		}
		acc := m.hold(x, iface.R, at)
		err = m.write(name, acc.Buffer())
		if rerr := acc.Release(); err == nil {
			err = rerr
		}
	case *Array:
		x.needHeld(m, at)
		err = m.write(name, &x.buf)
	default:
		m.fail("E0705", at, "save writes registered data")
	}
	if err != nil {
		m.badFile(err, nameAt, "cannot save", name)
	}
}

// largerThanMemory reports whether main memory has no room for all of h.
func (m *Machine) largerThanMemory(h *Handle) bool {
	d := h.h.Desc()
	_, bounded := m.rt.DiskNode()
	return bounded && d.Bytes() > m.rt.Nodes()[0].Capacity
}

// saveRows writes data for which main memory has no room, some rows at a time.
func (m *Machine) saveRows(h *Handle, name string, at position) error {
	acc := m.holdOrder(h, at)
	defer acc.Release()
	var file *format.Rows
	var bad error // about the file
	err := acc.Rows(func(b *iface.Buffer) error {
		bad = protect(func() (err error) {
			if file == nil {
				if file, err = format.CreateRows(format.Within(m.ctx, m.cfg.Files), name, h.h.Desc()); err != nil {
					return err
				}
			}
			return file.Write(b)
		})
		return bad
	})
	if err == nil {
		return protect(file.Close)
	}
	if file != nil {
		_ = protect(func() error { file.Abort(); return nil })
	}
	if bad == nil {
		m.raiseEngine(err, at, h)
	}
	return bad
}

// saveSparse writes a sparse matrix to a file.
func (m *Machine) saveSparse(h *Handle, name string, at, nameAt position) {
	s, val, release := m.readSparse(h, at)
	defer release()
	if m.plan != nil {
		m.plan.saved[savedKey(name)] = savedFile{name, iface.Desc{Kind: iface.Matrix, Elem: h.typ.Elem, Rank: 2, Dim: [iface.MaxRank]int{s.Rows, s.Cols}}}
		return
	}
	err := protect(func() error { return format.SaveSparse(format.Within(m.ctx, m.cfg.Files), name, s, val) })
	if err != nil {
		m.badFile(err, nameAt, "cannot save", name)
	}
}

// readSparse acquires the arrays of a sparse matrix in mode R. A plan does not know their elements.
func (m *Machine) readSparse(h *Handle, at position) (s *iface.SparseStructure, val *iface.Buffer, release func()) {
	out := h.sparse.SparseStructure
	var held []*engine.Access
	release = func() {
		for _, a := range held {
			_ = a.Release() // nothing was written
		}
	}
	for i, d := range h.data() {
		acc := m.hold(d, iface.R, at)
		held = append(held, acc)
		if m.plan != nil {
			continue
		}
		switch h.sparse.Format.Arrays[i].Name {
		case "row":
			out.Row = iface.Slice[int32](acc.Buffer())
		case "col":
			out.Col = iface.Slice[int32](acc.Buffer())
		case "val":
			val = acc.Buffer()
		}
	}
	return &out, val, release
}

func (m *Machine) write(name string, b *iface.Buffer) error {
	if m.plan != nil {
		m.plan.saved[savedKey(name)] = savedFile{name, b.Desc}
		return nil
	}
	return protect(func() error { return format.Save(format.Within(m.ctx, m.cfg.Files), name, b) })
}

// ---- the text of handles ----------------------------------------------------------------

// handleText acquires h in mode R and writes it; elements that nothing has written
// show as "?".
func (m *Machine) handleText(h *Handle, at position) string {
	m.alive(h, at)
	if m.checkpoints != nil && m.checkpoints.unlogged == 0 {
		return m.loggedText(h, at)
	}
	if h.isSparse() && h.sparse.Format.Fields {
		return m.structsText(h, at)
	}
	if h.isSparse() {
		return m.sparseText(h, at)
	}
	d := h.h.Desc()
	if d.Kind == iface.Void { // it has no value but an order: print waits for its tasks, and reports their failure
		acc := m.hold(h, iface.R, at)
		defer acc.Release()
		return "void"
	}
	b, known, release := m.elements(h, at)
	defer release()
	if m.plan != nil {
		return plannedText(h.typ.String(), &d)
	}
	return m.bufferText(h.typ.String(), b, known)
}

// sparseText writes a sparse matrix: its sizes, and a line for each of the rows, columns, entries or blocks
// that are shown.
func (m *Machine) sparseText(h *Handle, at position) string {
	k := h.sparse
	f := k.Format
	title := h.typ.String() + " " + k.sizesText() + ":"
	val, known, release := m.elements(k.values(), at)
	defer release()
	if m.plan != nil {
		return title + " not known in a plan"
	}
	var places [][]int32 // of the arrays between ptr and the values
	for i, a := range f.Arrays[:f.Values()] {
		if a.Name != "ptr" {
			acc := m.hold(&k.arrays[i], iface.R, at)
			defer acc.Release()
			places = append(places, iface.Slice[int32](acc.Buffer()))
		}
	}
	_, most := m.shown()
	value := func(v int, at index) string {
		if known != nil && !known(at) {
			return unwrittenElement
		}
		return m.elemText(val.Elem, readElem(val.Elem, val.At(v)))
	}
	text := func(entry int) string { // "1.5", or "[1.0 0.0; 0.0 2.0]" of a block
		if !f.Blocks {
			return value(entry, index{entry})
		}
		var rows []string
		each(k.R, most, func(i int) {
			var row []string
			each(k.C, most, func(j int) {
				row = append(row, value((entry*k.R+i)*k.C+j, index{entry, i, j}))
			}, func() { row = append(row, elision) })
			rows = append(rows, strings.Join(row, " "))
		}, func() { rows = append(rows, elision) })
		return "[" + strings.Join(rows, "; ") + "]"
	}
	var out strings.Builder
	out.WriteString(title)
	if f.Axis < 0 {
		each(len(places[0]), most, func(e int) { fmt.Fprintf(&out, "\n  %d, %d: %s", places[0][e], places[1][e], text(e)) },
			func() { out.WriteString("\n  " + elision) })
		return out.String()
	}
	scale := 1
	if f.Axis == 0 {
		scale = k.R
	}
	each(k.Lines(), most, func(i int) {
		fmt.Fprintf(&out, "\n  %d:", k.origin+i*scale)
		lo, hi := int(k.Ptr[i]-k.Ptr[0]), int(k.Ptr[i+1]-k.Ptr[0])
		each(hi-lo, most, func(e int) { fmt.Fprintf(&out, "  %d: %s", int(places[0][lo+e])*k.C, text(lo+e)) },
			func() { out.WriteString("  " + elision) })
	}, func() { out.WriteString("\n  " + elision) })
	return out.String()
}

// elements acquires h in mode R, whether all of it has a value or not. known says which elements
// have one; nil: all.
func (m *Machine) elements(h *Handle, at position) (b *iface.Buffer, known func(index) bool, release func()) {
	if r := h.h.Reduction(); m.hasValue(h) || r != nil && r.Combine == nil { // a lazy initialiser runs before the first read
		acc := m.hold(h, iface.R, at)
		return acc.Buffer(), nil, func() { acc.Release() }
	}
	m.showsUnwritten(h)
	if h.h.Fragments() == 1 { // all or nothing
		return &iface.Buffer{Desc: h.h.Desc()}, func(index) bool { return false }, func() {}
	}
	acc, err := m.acquireData(h, iface.R, engine.AcquireOptions{Site: m.siteFor(at), Partial: true})
	if err != nil {
		m.raiseEngine(err, at, h)
	}
	return acc.Buffer(), func(lo index) bool {
		hi := lo
		for k := range hi {
			hi[k]++
		}
		return h.h.InitialisedPart(lo, hi)
	}, func() { acc.Release() }
}

// showsUnwritten notes that a "?" is shown of h, for the session.
func (m *Machine) showsUnwritten(h *Handle) {
	if name := h.Name(); m.prog.open && len(m.unwritten) < 4 && !slices.Contains(m.unwritten, name) {
		m.unwritten = append(m.unwritten, name)
	}
}

// Checks of saves before a script runs.

// saveChecks is what a run does first about the saves at the top level of its script whose
// names are known then: what cannot be saved is said before the work. Known are texts,
// params, and what top-level lets that nothing changes make of them; so are the
// conditions around saves that are made of those.
type saveChecks struct {
	c    *compiler
	unit *check.Unit
	lets map[*types.Object]syntax.Expr // values of lets that nothing assigns to; nil: not looked at
	size int                           // nodes of the expression that is looked at
}

// maxKnown bounds the nodes of an expression, with the values of lets in it: each let may
// double what the one before made.
const maxKnown = 1000

// of returns the check of a statement; nil: there is nothing to look at first.
func (k *saveChecks) of(s syntax.Stmt) stmt {
	switch s := s.(type) {
	case *syntax.ExprStmt:
		return k.save(s)
	case *syntax.If:
		return k.branches(s)
	}
	return nil
}

func (k *saveChecks) save(s *syntax.ExprStmt) stmt {
	call, ok := s.X.(*syntax.Call)
	if !ok || call.Callee == nil || call.Callee.Kind != types.BuiltinFunc || call.Callee.Name != "save" || len(call.Args) != 2 {
		return nil
	}
	name := call.Args[1].Value
	known, ok := k.known(name)
	if !ok {
		return nil
	}
	kind, elem := iface.NoKind, iface.NoElem
	if data := call.Args[0].Value.Type(); data != nil {
		kind, elem = data.Data(), data.Elem
	}
	file, at := k.c.ref(known), k.c.positionOf(name)
	return func(f *frame) ctl {
		if s, ok := file(f).(string); ok && f.m.cfg.Files != nil {
			f.m.canSave(f.m.fileName(s, at, "save"), kind, elem, at)
		}
		return next
	}
}

// branches is of for an if: the branch that is taken, where the conditions are known.
func (k *saveChecks) branches(s *syntax.If) stmt {
	type branch struct {
		cond boolFn // nil: else
		body []stmt
	}
	var all []branch
	saves := false
	add := func(cond boolFn, b *syntax.Block) {
		var body []stmt
		if b != nil {
			for _, s := range b.Stmts {
				if first := k.of(s); first != nil {
					body = append(body, first)
				}
			}
		}
		saves = saves || len(body) > 0
		all = append(all, branch{cond, body})
	}
	for in := s; in != nil; {
		cond, ok := k.known(in.Cond)
		if !ok {
			break
		}
		add(k.c.bool(cond), in.Then)
		switch other := in.Else.(type) {
		case *syntax.If:
			in = other
		case *syntax.Block:
			add(nil, other)
			in = nil
		default:
			in = nil
		}
	}
	if !saves {
		return nil
	}
	return func(f *frame) ctl {
		for _, b := range all {
			if b.cond == nil || b.cond(f) {
				for _, s := range b.body {
					s(f)
				}
				break
			}
		}
		return next
	}
}

// known returns e as it can be computed before the script runs: with the values of lets in
// the place of their names. Operations that can fail are left to the run.
func (k *saveChecks) known(e syntax.Expr) (syntax.Expr, bool) {
	k.size = 0
	return k.resolve(e)
}

func (k *saveChecks) resolve(e syntax.Expr) (syntax.Expr, bool) {
	if k.size++; k.size > maxKnown {
		return nil, false
	}
	switch e := e.(type) {
	case *syntax.StringLit, *syntax.BoolLit, *syntax.IntLit, *syntax.FloatLit, *syntax.ImagLit:
		return e, true
	case *syntax.Ident:
		if e.Obj != nil && e.Obj.Kind == types.ParamObject {
			return e, true
		}
		value := k.constants()[e.Obj]
		if value == nil || value.Type() == nil || e.Type() == nil || value.Type().Kind != e.Type().Kind {
			return nil, false
		}
		return k.resolve(value)
	case *syntax.Paren:
		return k.resolve(e.X)
	case *syntax.Unary:
		x, ok := k.resolve(e.X)
		with := *e
		with.X = x
		return &with, ok && e.Op == "not"
	case *syntax.Binary:
		x, okX := k.resolve(e.X)
		y, okY := k.resolve(e.Y)
		with := *e
		with.X, with.Y = x, y
		text := e.Type() != nil && e.Type().Kind == types.String
		return &with, okX && okY && (text || e.Op == "and" || e.Op == "or" || comparisons[e.Op])
	case *syntax.FString:
		with := *e
		with.Parts = slices.Clone(e.Parts)
		for i, p := range e.Parts {
			if p.X == nil {
				continue
			}
			x, ok := k.resolve(p.X)
			if !ok {
				return nil, false
			}
			with.Parts[i].X = x
		}
		return &with, true
	}
	return nil, false
}

var comparisons = map[string]bool{"==": true, "!=": true, "<": true, "<=": true, ">": true, ">=": true}

// constants are the values of top-level lets that nothing assigns to.
func (k *saveChecks) constants() map[*types.Object]syntax.Expr {
	if k.lets != nil {
		return k.lets
	}
	k.lets = map[*types.Object]syntax.Expr{}
	for _, s := range k.unit.File.Stmts {
		if let, ok := s.(*syntax.Let); ok && let.Name != nil && let.Name.Obj != nil {
			k.lets[let.Name.Obj] = let.Value
		}
	}
	syntax.Walk(k.unit.File, func(n syntax.Node, _ []syntax.Node) {
		if a, ok := n.(*syntax.Assign); ok {
			if id, ok := a.Target.(*syntax.Ident); ok {
				delete(k.lets, id.Obj)
			}
		}
	})
	return k.lets
}

// Structs: an array for each field.

// structFile returns the clean name of a file of structs of type t.
func (m *Machine) structFile(name string, t *types.Type, at position, verb string) string {
	name = m.fileName(name, at, verb)
	file, part := format.Split(name)
	if s := format.Suffix(name); part != "" || s != ".csv" && s != ".npz" {
		m.failHelp("R0107", at, "", fmt.Sprintf("write the name of a `.csv` file, with a column for each field of `%s`, or of a `.npz` file, with an array for each", t.Struct.Name),
			"cannot %s `%s`: it is no file of structs", verb, name)
	}
	return file
}

// saveStructs writes the structs h to a file.
func (m *Machine) saveStructs(h *Handle, name string, at, nameAt position) {
	name = m.structFile(name, h.typ, nameAt, "save")
	fields := h.typ.Fields().Arrays
	var bufs []*iface.Buffer
	var titles []string
	for i := range fields {
		acc := m.hold(&h.sparse.arrays[i], iface.R, at)
		defer acc.Release()
		bufs, titles = append(bufs, acc.Buffer()), append(titles, fields[i].Name)
	}
	var err error
	switch {
	case m.plan != nil:
		for i, b := range bufs {
			column := name + ":" + titles[i]
			m.plan.saved[savedKey(column)] = savedFile{column, b.Desc}
		}
	case format.Suffix(name) == ".csv":
		err = protect(func() error { return format.SaveColumns(format.Within(m.ctx, m.cfg.Files), name, titles, bufs) })
	default:
		for i, b := range bufs {
			if err == nil {
				err = m.write(name+":"+titles[i], b)
			}
		}
	}
	if err != nil {
		m.badFile(err, nameAt, "cannot save", name)
	}
}

// structsText writes structs: a line for each element that is shown.
func (m *Machine) structsText(h *Handle, at position) string {
	k := h.sparse
	title := fmt.Sprintf("%v %d:", h.typ, k.Rows)
	values := make([]func(i int) string, len(k.arrays))
	for a := range k.arrays {
		b, known, release := m.elements(&k.arrays[a], at)
		defer release()
		values[a] = func(i int) string {
			if known != nil && !known(index{i}) {
				return unwrittenElement
			}
			return m.elemText(b.Elem, readElem(b.Elem, b.At(i)))
		}
	}
	if m.plan != nil {
		return title + " not known in a plan"
	}
	var out strings.Builder
	out.WriteString(title)
	_, most := m.shown()
	each(k.Rows, most, func(i int) {
		fmt.Fprintf(&out, "\n  %d: {", k.origin+i)
		for a, v := range values {
			if a > 0 {
				out.WriteString(", ")
			}
			out.WriteString(k.Format.Arrays[a].Name + ": " + v(i))
		}
		out.WriteString("}")
	}, func() { out.WriteString("\n  " + elision) })
	return out.String()
}

// loggedText is handleText. A print has no effect on the script, so its text is left out of the log.
func (m *Machine) loggedText(h *Handle, at position) string {
	c := m.checkpoints
	if !m.showing {
		return string(m.logged(at, recordText, func() []byte { return []byte(m.handleText(h, at)) }))
	}
	if c.from != nil {
		return ""
	}
	c.unlogged++
	defer func() { c.unlogged-- }()
	return m.handleText(h, at)
}
