package cli

// Files: scripts, modules, and data that flags bind and save.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/accel/cpu"
	"github.com/starpush/starpush/datamgr/format"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/lang/diag"
)

// Files of scripts: data below load and save, modules below import. Unlike a
// host program, the command lets a script reach what the user can reach.

// osFiles are the files of the operating system; paths count from the working folder.
type osFiles struct{}

// Open opens a file for reading.
func (o osFiles) Open(name string) (fs.File, error) { return o.OpenContext(context.Background(), name) }

// OpenContext is Open that waits for the writer of a pipe until ctx ends.
func (osFiles) OpenContext(ctx context.Context, name string) (fs.File, error) {
	f, err := openFile(ctx, name)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func openFile(ctx context.Context, name string) (*os.File, error) {
	if isPipe(name) {
		return format.OpenPipe(ctx, os.OpenFile, name, os.O_RDONLY)
	}
	return os.Open(name)
}

func isPipe(name string) bool {
	fi, err := os.Stat(name)
	return err == nil && fi.Mode()&fs.ModeNamedPipe != 0
}

// Stat says what a file is.
func (osFiles) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

// HasFolder reports whether name is a folder.
func (osFiles) HasFolder(name string) bool {
	fi, err := os.Stat(name)
	return err == nil && fi.IsDir()
}

// Create starts a new version of a file, written beside it. A file that is not regular,
// such as /dev/null or a pipe, is written in place.
func (o osFiles) Create(name string) (io.WriteCloser, error) {
	return o.CreateContext(context.Background(), name)
}

// CreateContext is Create that waits for the reader of a pipe until ctx ends.
func (osFiles) CreateContext(ctx context.Context, name string) (io.WriteCloser, error) {
	if isPipe(name) {
		return format.OpenPipe(ctx, os.OpenFile, name, os.O_WRONLY)
	}
	if fi, err := os.Stat(name); err == nil && !fi.Mode().IsRegular() {
		return os.OpenFile(name, os.O_WRONLY, 0)
	}
	at := name
	if target, err := filepath.EvalSymlinks(name); err == nil {
		at = target // the link stays
	}
	dir, base := filepath.Split(at)
	f, err := lang.Dir(filepath.Clean(dir)).Create(base)
	if err != nil {
		return nil, named("create", name, err)
	}
	return f, nil
}

// OpenTemporary opens a file that another process has from Create, and has not closed.
func (osFiles) OpenTemporary(name string) (format.SharedFile, error) {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// named makes an error speak of the file that was asked for.
func named(op, name string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// writeFile writes a whole file, without a context: files that are no pipes.
func writeFile(name string, data []byte) error {
	return writeFileWithin(context.Background(), name, data)
}

// writeFileWithin writes a whole file by way of Create. A pipe is waited for until ctx ends,
// and written after that only if it has a reader; other files do not wait.
func writeFileWithin(ctx context.Context, name string, data []byte) error {
	create := osFiles{}.Create
	switch {
	case isPipe(name) && ctx.Err() != nil:
		create = impatientFiles{}.Create
	case isPipe(name):
		create = format.Within(ctx, osFiles{}).Create
	}
	return writeBy(create, name, data)
}

// writeFileNow writes a whole file. A pipe must have a reader, which is waited for until ctx ends.
func writeFileNow(ctx context.Context, name string, data []byte) error {
	create := osFiles{}.Create
	if isPipe(name) {
		create = format.Within(ctx, impatientFiles{}).Create
	}
	return writeBy(create, name, data)
}

// impatientFiles are osFiles that do not wait for the reader of a pipe.
type impatientFiles struct{ osFiles }

// Create is osFiles.Create, with the error ENXIO for a pipe without a reader.
func (f impatientFiles) Create(name string) (io.WriteCloser, error) {
	if isPipe(name) {
		return os.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	}
	return f.osFiles.Create(name)
}

// CreateContext is Create.
func (f impatientFiles) CreateContext(_ context.Context, name string) (io.WriteCloser, error) {
	return f.Create(name)
}

func writeBy(create func(name string) (io.WriteCloser, error), name string, data []byte) error {
	w, err := create(name)
	switch {
	case errors.Is(err, syscall.ENXIO):
		return named("open", name, errors.New("it is a pipe that has no reader; start one first"))
	case err != nil:
		return err
	}
	if _, err := w.Write(data); err != nil {
		if v, ok := w.(interface{ Abort() }); ok {
			v.Abort()
		} else {
			w.Close()
		}
		return named("write", name, err)
	}
	return w.Close()
}

// osLoader finds modules; paths count from the importing file.
type osLoader struct {
	read *readFiles
	max  int64 // bytes of a module; 0: as many as scripts may have
}

// Load implements lang.Loader.
func (l osLoader) Load(ctx context.Context, path, from string) (string, []byte, error) {
	name := importPath(path, from)
	if l.read != nil {
		l.read.note(name)
	}
	src, err := readSource(ctx, name, l.max)
	return name, src, err
}

// Near lists the scripts in the folder where path was looked for, without the one that
// imports it.
func (osLoader) Near(path, from string) []string {
	found, err := filepath.Glob(filepath.Join(filepath.Dir(importPath(path, from)), "*.spu"))
	if err != nil {
		return nil
	}
	found = slices.DeleteFunc(found, func(f string) bool { return f == filepath.Clean(from) })
	for i, f := range found {
		found[i] = filepath.ToSlash(filepath.Join(filepath.Dir(filepath.FromSlash(path)), filepath.Base(f)))
	}
	return found
}

func importPath(path, from string) string {
	path = filepath.FromSlash(path)
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(from), path)
}

// Scripts as they come from files and from standard input, and what is said of files
// that are no scripts.

// A longError says that a source is longer than the limit.
type longError struct{ max int64 }

func (e *longError) Error() string {
	return fmt.Sprintf("the script has more bytes, and the limit is %d (E0107); --limits source=N sets another", e.max)
}

// maxSource returns the largest size of a script in bytes. Mistakes in --limits are
// reported when the script is compiled.
func (a *app) maxSource() int64 {
	limits, err := a.limits()
	if err != nil {
		limits = lang.Limits{}
	}
	return limits.MaxSource()
}

// readAll reads at most max bytes, 0 for as many as scripts may have: a device or a pipe may never end.
func readAll(r io.Reader, max int64) ([]byte, error) {
	if max <= 0 {
		max = lang.Limits{}.MaxSource()
	}
	src, err := io.ReadAll(io.LimitReader(r, max+1))
	if err == nil && int64(len(src)) > max {
		return nil, &longError{max}
	}
	return src, err
}

// readSource reads a script or a module.
func readSource(ctx context.Context, name string, max int64) ([]byte, error) {
	f, err := format.Within(ctx, osFiles{}).Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, max)
}

// reading returns the context in which scripts, modules and data are read before a run. It
// ends after the time of --timeout, if that is not 0: the writer of a pipe may never come.
func reading(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, timeout, &exitError{code: exitLimit, err: errors.New("not read within --timeout")})
}

// A standardInput reads a file whose reads have no deadline. Read waits until the file is
// readable or ctx ends.
type standardInput struct {
	ctx context.Context
	f   *os.File
}

// Read implements io.Reader.
func (in standardInput) Read(b []byte) (int, error) {
	for {
		switch ok, err := readable(in.ctx, in.f, 50*time.Millisecond); {
		case err != nil:
			return 0, err
		case ok:
			return in.f.Read(b)
		}
	}
}

// stdinName is what messages call a script from standard input.
const stdinName = "stdin"

// readScript reads a script until ctx ends; "-" is standard input, read in full.
func (a *app) readScript(ctx context.Context, name string) (shown string, src []byte, err error) {
	shown = name
	if name == "-" {
		shown = stdinName
		in := a.in
		if f, ok := in.(*os.File); ok {
			in = standardInput{ctx, f}
		}
		src, err = readAll(in, a.maxSource())
	} else {
		src, err = a.readFile(ctx, name, a.maxSource())
	}
	var long *longError
	switch {
	case err != nil && ctx.Err() != nil:
		return "", nil, readEnd(ctx, shown)
	case errors.As(err, &long):
		return "", nil, &exitError{code: exitInvalid, err: fmt.Errorf("%s: %w", shown, err)}
	case err != nil && name == "-":
		return "", nil, usagef("reading standard input: %v", err)
	case err != nil:
		return "", nil, usagef("%s", readError(name, err))
	}
	if what := noText(src); what != "" {
		return "", nil, usagef("%s is no script: %s", shown, what)
	}
	return shown, src, nil
}

// readEnd returns the error of a command that stopped reading a file at the end of ctx.
func readEnd(ctx context.Context, file string) error {
	end := context.Cause(ctx)
	if errors.As(end, new(*signalError)) { // sayCancelling has reported it
		return status(codeOf(ctx, end, false))
	}
	return &exitError{code: codeOf(ctx, end, false), err: fmt.Errorf("%s: %w", file, end)}
}

// noText returns the kind of a file that is no text in UTF-8, as far as its beginning
// shows, and "" for text. The compiler reports faults inside a text, with the line.
func noText(src []byte) string {
	switch head := src[:min(len(src), 4096)]; {
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return "it is text in UTF-16; save it as UTF-8"
	case bytes.IndexByte(head, 0) >= 0:
		return "it holds no text, but bytes such as 0"
	}
	return ""
}

// readError says why a file could not be read, with a name that is near.
func readError(name string, err error) string {
	if name == "" {
		return "the name of the script is empty"
	}
	shown := diag.OneLine(name)
	text := fmt.Sprintf("%s: %v", shown, cause(err))
	if fi, statErr := os.Stat(name); statErr == nil && fi.IsDir() {
		return shown + " is a folder" + scriptsIn(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		text = shown + ": no such file"
		if near, ok := nearScript(name); ok {
			text += "; did you mean `" + near + "`?"
		}
	}
	return text
}

// folderError says why what lies in a folder, or a file, could not be listed.
func folderError(name string, err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("%s: no such file or folder", name)
	}
	return fmt.Sprintf("%s: %v", name, cause(err))
}

// scriptsIn says which scripts a folder has, as the end of a sentence.
func scriptsIn(folder string) string {
	beside := strings.TrimRight(folder, string(os.PathSeparator)) + ".spu"
	if _, err := os.Stat(beside); err == nil {
		return "; did you mean `" + beside + "`?"
	}
	names := scriptsOf(folder)
	switch {
	case len(names) == 0:
		return ", and no script is in it"
	case len(names) == 1:
		return "; did you mean `" + names[0] + "`?"
	}
	return fmt.Sprintf("; %d scripts are in it, such as `%s`", len(names), names[0])
}

// scriptsOf lists the scripts in a folder, with their path.
func scriptsOf(folder string) (names []string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if !e.IsDir() && strings.HasSuffix(e.Name(), ".spu") {
			names = append(names, filepath.Join(folder, e.Name()))
		}
	}
	return names
}

// nearScript finds the script that is meant by the name of no file: without its
// suffix, or misspelt.
func nearScript(name string) (string, bool) {
	if fi, err := os.Stat(name + ".spu"); err == nil && !fi.IsDir() {
		return name + ".spu", true
	}
	if strings.TrimSpace(name) == "" {
		return "", false
	}
	names := scriptsOf(filepath.Dir(name))
	clean := filepath.Clean(name)
	if near, ok := diag.Nearest(clean, names); ok {
		return near, true
	}
	if filepath.Ext(name) == "" {
		if near, ok := diag.Nearest(clean+".spu", names); ok {
			return near, true
		}
	}
	return "", false
}

// --data and --save: files as the data of externs, and data as files.

// bindData reads the files of --data for the externs of a program until ctx ends: together they may have
// the bytes that --limits grants data. For a plan sizes do, and files that the script loads may
// have some, too.
func (a *app) bindData(ctx context.Context, prog *lang.Program, flags []string, plan bool) ([]lang.Option, error) {
	l, err := a.limits()
	if err != nil {
		return nil, err
	}
	left := l.DataBytes
	if left == 0 {
		left = math.MaxInt64
	}
	paths, names, err := dataPaths(prog, flags)
	if err != nil {
		return nil, err
	}
	var opts []lang.Option
	for _, x := range prog.Externs() {
		if x.Codelet {
			continue
		}
		path, ok := paths[x.Name]
		kind, elem, known := dataType(x.Type)
		if f := isSparse(x.Type); f != nil {
			kind, elem, known = dataType("matrix" + strings.TrimPrefix(x.Type, f.Name)) // for its sizes
		}
		switch {
		case !ok && plan && known && kind == iface.Variable:
			continue // it needs no sizes
		case !ok:
			d := lang.Diagnostic{Code: "E0904", Message: fmt.Sprintf("extern `%s` has no data", x.Name),
				Help: []string{fmt.Sprintf("give it a file: `--data %s=FILE`, with %s", x.Name, x.Type)}}
			if plan && known {
				d.Help = append(d.Help, fmt.Sprintf("or its size, which is all that a plan needs: `--data %s=%s`", x.Name, sizeExample(kind)))
			}
			return nil, lang.Diagnostics{d}
		}
		if dims, ok := parseSizes(path); ok && plan && known && !isFile(path) {
			if len(dims) != kind.Rank() {
				return nil, usagef("--data %s=%s: %s has %s, as in %s=%s", x.Name, path, x.Type,
					map[iface.Kind]string{iface.Variable: "no size", iface.Vector: "one size", iface.Matrix: "rows and columns", iface.Block: "three sizes"}[kind]+tensorSizes(kind), x.Name, sizeExample(kind))
			}
			opts = append(opts, lang.Bind(x.Name, sized[elem](dims...)))
			continue
		}
		if isSparse(x.Type) != nil { // the interpreter reads it
			opts = append(opts, lang.BindFile(x.Name, path))
			continue
		}
		d, bytes, err := loadData(ctx, path, x.Type, left)
		switch {
		case errors.Is(err, format.ErrMost):
			return nil, usagef("--data %s: %s is more than `--limits data=%d` grants", x.Name, path, l.DataBytes)
		case err != nil && ctx.Err() != nil:
			return nil, readEnd(ctx, fmt.Sprintf("--data %s: %s", x.Name, path))
		case err != nil:
			return nil, usagef("--data %s: %v", x.Name, err)
		}
		left -= bytes
		opts = append(opts, lang.Bind(x.Name, d))
	}
	for name, text := range paths {
		switch dims, ok := parseSizes(text); {
		case slices.Contains(names, name):
		case !plan:
			return nil, usagef("--data %s=%s: sizes of files are for plans; a run reads the file", name, text)
		case !ok:
			return nil, usagef("--data %s=%s: a file that the script loads has sizes here, such as 1000 or 100x50", name, text)
		default:
			opts = append(opts, lang.FileSizes(name, dims...))
		}
	}
	return opts, nil
}

// isSparse returns the format of a type such as "csr[f64]", or nil.
func isSparse(t string) *iface.SparseFormat {
	kind, _, _ := strings.Cut(t, "[")
	return iface.Sparse(kind)
}

// dataPaths reads --data: files, or sizes, by the names of externs. names are those of
// the program.
func dataPaths(prog *lang.Program, flags []string) (paths map[string]string, names []string, err error) {
	if paths, err = parseBindings("--data", flags); err != nil {
		return nil, nil, err
	}
	for _, x := range prog.Externs() {
		if !x.Codelet {
			names = append(names, x.Name)
		}
	}
	unknown := make([]string, 0, len(paths))
	for name := range paths {
		if !slices.Contains(names, name) && !slices.Contains(format.Suffixes, format.Suffix(name)) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 { // before an extern without data, which may be what was meant
		sort.Strings(unknown)
		return nil, nil, usagef("--data: the script has no extern `%s`%s", unknown[0], diag.Instead(unknown[0], names))
	}
	return paths, names, nil
}

// bindFiles names the files of --data for the externs of a program that runs at the prompt,
// where they are read.
func bindFiles(prog *lang.Program, flags []string) ([]lang.Option, error) {
	paths, _, err := dataPaths(prog, flags)
	if err != nil {
		return nil, err
	}
	var opts []lang.Option
	for _, x := range prog.Externs() {
		path, ok := paths[x.Name]
		if !ok {
			continue
		}
		kind, elem, ok := dataType(x.Type)
		if isSparse(x.Type) != nil {
			opts = append(opts, lang.BindFile(x.Name, path))
			continue
		}
		if !ok {
			return nil, usagef("--data %s: data of type %s cannot come from a file", x.Name, x.Type)
		}
		fi, err := statData(path)
		if err != nil {
			return nil, usagef("--data %s: %s", x.Name, dataError(path, err))
		}
		want, err := wanted(path, fi, kind, elem)
		if err != nil {
			return nil, usagef("--data %s: %v", x.Name, err)
		}
		opts = append(opts, lang.BindFile(x.Name, path, want.Dims...))
	}
	for name, text := range paths {
		if slices.Contains(format.Suffixes, format.Suffix(name)) {
			return nil, usagef("--data %s=%s: sizes of files are for plans; a run reads the file", name, text)
		}
	}
	return opts, nil
}

// parseSizes reads "1000" or "16Kix8": sizes, not negative.
func parseSizes(text string) (dims []int, ok bool) {
	for word := range strings.SplitSeq(text, "x") {
		n, err := parseCount(word)
		if err != nil || n < 0 {
			return nil, false
		}
		dims = append(dims, int(n))
	}
	return dims, true
}

// dataError says why a data file could not be read, with a name that is near.
func dataError(path string, err error) string {
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("%s: %v", diag.OneLine(path), cause(err))
	}
	path, _ = format.Split(path)
	text := diag.OneLine(path) + ": no such file"
	folder, _ := filepath.Split(path)
	if near, ok := diag.Nearest(path, filesFrom(folder, format.Suffixes...)); ok {
		text += "; did you mean `" + near + "`?"
	}
	return text
}

// tensorSizes says how many sizes a tensor has, and nothing of other data.
func tensorSizes(kind iface.Kind) string {
	if !kind.IsTensor() {
		return ""
	}
	return fmt.Sprintf("%d sizes", kind.Rank())
}

func sizeExample(kind iface.Kind) string {
	if kind.IsTensor() {
		return strings.Repeat("2x", kind.Rank()-4) + "8x40x30x20"
	}
	return map[iface.Kind]string{iface.Vector: "1000", iface.Matrix: "100x50", iface.Block: "40x30x20"}[kind]
}

func isFile(path string) bool {
	_, err := statData(path)
	return err == nil
}

// statData is os.Stat of the file in which data is.
func statData(name string) (fs.FileInfo, error) {
	file, _ := format.Split(name)
	return os.Stat(file)
}

// wanted is what a file is to hold. One of raw elements has no sizes: as far as its length
// says them they are taken from that.
func wanted(path string, fi fs.FileInfo, kind iface.Kind, elem iface.Elem) (format.Want, error) {
	want := format.Want{Kind: kind, Elem: elem}
	if format.Suffix(path) == ".bin" { // raw elements: the file has no sizes
		switch kind {
		case iface.Variable:
			want.Dims = []int{}
		case iface.Vector:
			want.Dims = []int{int(fi.Size() / int64(elem.Size()))}
		case iface.Block, iface.Tensor, iface.Tensor5, iface.Tensor6, iface.Tensor7, iface.Tensor8:
			return want, fmt.Errorf("%s: a .bin file does not say what sizes the %v has; use .npy or .npz", path, kind)
		default:
			return want, fmt.Errorf("%s: a .bin file does not say how many rows it has; use .npy, .npz, .mtx or .csv", path)
		}
	}
	return want, nil
}

// loadData reads a file into memory for an extern of the given type, such as
// "vector[f32]", if it does not have more bytes than most: else the error is format.ErrMost.
func loadData(ctx context.Context, path, typ string, most int64) (d *lang.Data, bytes int64, err error) {
	kind, elem, ok := dataType(typ)
	if !ok {
		return nil, 0, fmt.Errorf("data of type %s cannot come from a file", typ)
	}
	fi, err := statData(path)
	if err != nil {
		return nil, 0, errors.New(dataError(path, err))
	}
	want, err := wanted(path, fi, kind, elem)
	if err != nil {
		return nil, 0, err
	}
	if most < math.MaxInt64 {
		want.Most = max(1, most/int64(elem.Size()))
	}
	in, err := format.Open(format.Within(ctx, osFiles{}), path, want)
	if err != nil {
		return nil, 0, err
	}
	defer in.Close()
	// A short file may claim any size; there is no way back from memory that cannot be had.
	bytes = int64(elem.Size())
	for _, d := range in.Dims {
		bytes *= int64(d)
	}
	if bytes > most {
		return nil, 0, format.ErrMost
	}
	if most := cpu.New(0).Memory().Capacity(); bytes > most {
		return nil, 0, fmt.Errorf("%s: %w", path, &accel.NoMemoryError{Node: "ram", Want: bytes, Capacity: most})
	}
	d, err = loaders[elem](in, kind, elem)
	return d, bytes, err
}

// dataType takes the type of an extern apart.
func dataType(typ string) (iface.Kind, iface.Elem, bool) {
	_, rest, _ := strings.Cut(typ, "[")
	name, _, _ := strings.Cut(strings.TrimSuffix(rest, "]"), ",")
	elem, ok := iface.ElemByName(name)
	for rank := range iface.MaxRank + 1 {
		if k := iface.KindOf(rank); ok && k.Type(name) == typ && loaders[elem] != nil {
			return k, elem, true
		}
	}
	return 0, 0, false
}

// loaders make memory of each element type and fill it.
var loaders = map[iface.Elem]func(*format.Input, iface.Kind, iface.Elem) (*lang.Data, error){
	iface.I8: load[int8], iface.I16: load[int16], iface.I32: load[int32], iface.I64: load[int64],
	iface.U8: load[uint8], iface.U16: load[uint16], iface.U32: load[uint32], iface.U64: load[uint64],
	iface.F32: load[float32], iface.F64: load[float64],
	iface.C64: load[complex64], iface.C128: load[complex128],
	iface.F16: load[iface.Float16], iface.BF16: load[iface.BFloat16], iface.B8: load[bool],
}

// sized stand for data of each element type in plans.
var sized = map[iface.Elem]func(...int) *lang.Data{
	iface.I8: lang.Sizes[int8], iface.I16: lang.Sizes[int16], iface.I32: lang.Sizes[int32], iface.I64: lang.Sizes[int64],
	iface.U8: lang.Sizes[uint8], iface.U16: lang.Sizes[uint16], iface.U32: lang.Sizes[uint32], iface.U64: lang.Sizes[uint64],
	iface.F32: lang.Sizes[float32], iface.F64: lang.Sizes[float64],
	iface.C64: lang.Sizes[complex64], iface.C128: lang.Sizes[complex128],
	iface.F16: lang.Sizes[iface.Float16], iface.BF16: lang.Sizes[iface.BFloat16], iface.B8: lang.Sizes[bool],
}

func load[T lang.Elem](in *format.Input, kind iface.Kind, elem iface.Elem) (*lang.Data, error) {
	n := 1
	for _, d := range in.Dims {
		n *= d
	}
	s := make([]T, max(n, 1)) // a home is never nil
	b := iface.Buffer{Desc: iface.Desc{Kind: kind, Elem: elem, Rank: int8(kind.Rank())}, Ptr: unsafe.Pointer(&s[0])}
	copy(b.Dim[:], in.Dims)
	stride := 1
	for k := int(b.Rank) - 1; k >= 0; k-- {
		b.Stride[k] = stride
		stride *= b.Dim[k]
	}
	if err := in.Fill(&b); err != nil {
		return nil, err
	}
	switch kind {
	case iface.Variable:
		return lang.VariableOf(&s[0]), nil
	case iface.Vector:
		return lang.VectorOf(s[:n]), nil
	case iface.Block:
		return lang.BlockOf(s[:n], in.Dims[0], in.Dims[1], in.Dims[2], 0, 0)
	case iface.Matrix:
		return lang.MatrixOf(s[:n], in.Dims[0], in.Dims[1], 0)
	}
	return lang.TensorNOf(s[:n], in.Dims, nil)
}

// A save is one --save flag.
type save struct{ name, path string }

// savesOf reads --save, sorted by name.
func savesOf(flags []string) ([]save, error) {
	paths, err := parseBindings("--save", flags)
	if err != nil {
		return nil, err
	}
	var out []save
	for name, path := range paths {
		if !slices.Contains(format.Suffixes, format.Suffix(path)) {
			return nil, usagef("--save %s: the name `%s` must end in %s", name, path, strings.Join(format.Suffixes, ", "))
		}
		if why, instead := format.Refusal(path, iface.NoKind, iface.NoElem, true); why != "" {
			return nil, usagef("--save %s: %s; %s", name, why, instead)
		}
		out = append(out, save{name, path})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].name < out[j].name })
	return out, nil
}

// checkSaves refuses a --save of a name that will be no registered data.
func checkSaves(prog *lang.Program, saves []save) error {
	if len(saves) == 0 {
		return nil
	}
	var data []string
	for _, n := range prog.Names() {
		if _, _, ok := dataType(n.Type); ok && (n.Kind == "handle" || n.Kind == "let") {
			data = append(data, n.Name)
		}
	}
	for _, s := range saves {
		if slices.Contains(data, s.name) {
			continue
		}
		for _, n := range prog.Names() {
			if n.Name == s.name {
				return usagef("--save %s: `%s` is %s, not registered data", s.name, n.Name, kindText(n))
			}
		}
		help := ""
		if near, ok := diag.Nearest(s.name, data); ok {
			help = "; did you mean `" + near + "`?"
		} else if len(data) > 0 {
			help = "; its data: " + strings.Join(data[:min(len(data), 12)], ", ")
		}
		return usagef("--save %s: the script registers no data of this name at its top level%s", s.name, help)
	}
	return nil
}

// kindText says what a name of a script is.
func kindText(n lang.NameInfo) string {
	switch {
	case n.Kind == "handle" || n.Kind == "let" && n.Type != "":
		return "of type " + n.Type
	case n.Kind == "array":
		return "an array"
	}
	return "a " + n.Kind
}

// saveAll writes the data that --save names, once the run has ended. It goes on after an
// error, which it says when another follows, and returns the last; a signal ends it. left
// are those that it did not come to.
func (a *app) saveAll(ctx context.Context, inst *lang.Instance, saves []save) (left []save, failed error) {
	for i, s := range saves {
		err := a.saveTo(ctx, inst, s)
		if err == nil {
			continue
		}
		if failed != nil {
			a.say(failed)
		}
		if failed = err; ctx.Err() != nil {
			return saves[i:], failed
		}
	}
	return nil, failed
}

// sayUnsaved names the files that --save did not write because the run ended early.
func (a *app) sayUnsaved(ctx context.Context, err error, saves []save) {
	if a.flags.quiet || a.json != nil || codeOf(ctx, err, true) == exitPipe {
		return
	}
	for _, s := range saves {
		old := ""
		if fi, err := statData(s.path); err == nil && fi.Mode().IsRegular() {
			old = "; the file that is there is an older one"
		}
		why := "the run failed"
		if ctx.Err() != nil {
			why = "the run was stopped"
		}
		fmt.Fprintf(a.con.err, "starpush: --save %s: %s was not written, because %s%s\n", s.name, s.path, why, old)
	}
}

func (a *app) saveTo(ctx context.Context, inst *lang.Instance, s save) error {
	h, err := inst.Handle(s.name)
	if err != nil {
		return usagef("--save %s: %s", s.name, strings.TrimPrefix(err.Error(), "lang: "))
	}
	if err := saveOne(ctx, h, s.path); err != nil {
		return fmt.Errorf("--save %s: %w", s.name, err)
	}
	if fi, err := statData(s.path); err == nil {
		a.wrote(s.path, fmt.Sprintf("`%s`, %s", s.name, bytesText(fi.Size())))
	}
	return nil
}

func saveOne(ctx context.Context, h *lang.Handle, path string) error {
	acc, err := h.Acquire(ctx, lang.R)
	if err != nil {
		return err
	}
	err = format.Save(format.Within(ctx, osFiles{}), path, acc.Buffer())
	return errors.Join(err, acc.Release())
}
