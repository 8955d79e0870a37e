package cli

// --data and --save: files as the data of externs, and data as files.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"unsafe"

	"github.com/starpush/starpush/datamgr/format"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/lang"
	"github.com/starpush/starpush/lang/diag"
)

// bindData reads the files of --data for the externs of a program.
func bindData(prog *lang.Program, flags []string) ([]lang.Option, error) {
	paths, err := parseBindings("--data", flags)
	if err != nil {
		return nil, err
	}
	var opts []lang.Option
	var names []string
	for _, x := range prog.Externs() {
		if x.Codelet {
			continue
		}
		names = append(names, x.Name)
		path, ok := paths[x.Name]
		if !ok {
			return nil, lang.Diagnostics{{Code: "E0904", Message: fmt.Sprintf("extern `%s` has no data", x.Name),
				Help: []string{fmt.Sprintf("give it a file: `--data %s=FILE`, with %s", x.Name, x.Type)}}}
		}
		d, err := loadData(path, x.Type)
		if err != nil {
			return nil, usagef("--data %s: %v", x.Name, err)
		}
		opts = append(opts, lang.Bind(x.Name, d))
	}
	unknown := make([]string, 0, len(paths))
	for name := range paths {
		if !slices.Contains(names, name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return opts, nil
	}
	sort.Strings(unknown)
	help := ""
	if near, ok := diag.Nearest(unknown[0], names); ok {
		help = "; did you mean `" + near + "`?"
	}
	return nil, usagef("--data: the script has no extern `%s`%s", unknown[0], help)
}

// loadData reads a file into memory for an extern of the given type, such as
// "vector[f32]".
func loadData(path, typ string) (*lang.Data, error) {
	kind, elem, ok := dataType(typ)
	if !ok {
		return nil, fmt.Errorf("data of type %s cannot come from a file", typ)
	}
	fi, err := os.Stat(path)
	if err != nil {
		return nil, errors.New(readError(path, err))
	}
	want := format.Want{Kind: kind, Elem: elem}
	if strings.EqualFold(filepath.Ext(path), ".bin") { // raw elements: the file has no sizes
		switch kind {
		case iface.Variable:
			want.Dims = []int{}
		case iface.Vector:
			want.Dims = []int{int(fi.Size() / int64(elem.Size()))}
		default:
			return nil, fmt.Errorf("%s: a .bin file does not say how many rows it has; use .npy, .mtx or .csv", path)
		}
	}
	in, err := format.Open(osFiles{}, path, want)
	if err != nil {
		return nil, err
	}
	return loaders[elem](in, kind, elem)
}

// dataType takes the type of an extern apart.
func dataType(typ string) (iface.Kind, iface.Elem, bool) {
	name, rest, _ := strings.Cut(typ, "[")
	elem, ok := iface.ElemByName(strings.TrimSuffix(rest, "]"))
	for _, k := range []iface.Kind{iface.Variable, iface.Vector, iface.Matrix} {
		if ok && k.String() == name && loaders[elem] != nil {
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
	}
	return lang.MatrixOf(s[:n], in.Dims[0], in.Dims[1], 0)
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
		if !slices.Contains(format.Suffixes, strings.ToLower(filepath.Ext(path))) {
			return nil, usagef("--save %s: the name `%s` must end in %s", name, path, strings.Join(format.Suffixes, ", "))
		}
		out = append(out, save{name, path})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].name < out[j].name })
	return out, nil
}

// saveAll writes the data that --save names, once the run has ended.
func saveAll(ctx context.Context, inst *lang.Instance, saves []save) error {
	for _, s := range saves {
		h, err := inst.Handle(s.name)
		if err != nil {
			return usagef("--save %s: %s", s.name, strings.TrimPrefix(err.Error(), "lang: "))
		}
		if err := saveOne(ctx, h, s.path); err != nil {
			return fmt.Errorf("--save %s: %w", s.name, err)
		}
	}
	return nil
}

func saveOne(ctx context.Context, h *lang.Handle, path string) error {
	acc, err := h.Acquire(ctx, lang.R)
	if err != nil {
		return err
	}
	err = format.Save(osFiles{}, path, acc.Buffer())
	return errors.Join(err, acc.Release())
}
