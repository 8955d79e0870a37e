package cl

// Reductions: parts by work-groups, then a number by one work-item.

import (
	"github.com/starpush/starpush/accel/opencl"
	"github.com/starpush/starpush/datamgr/iface"
)

// reduction is one codelet on one operand.
type reduction struct {
	s       *opencl.Stream
	codelet string
	x       *iface.Buffer
	sheet
	defines []string
	part    int // bytes of a part
	groups  int
}

func reduce(s *opencl.Stream, codelet string, x *iface.Buffer, part int, defines ...string) *reduction {
	if x.Elem.IsFloat() {
		defines = append(defines, "FLOATS")
	}
	return &reduction{s: s, codelet: codelet, x: x, sheet: flat(x), defines: defines, part: part}
}

const most = 256 // work-groups, and work-items of one

func (r *reduction) find(name string) (*opencl.Kernel, error) {
	return find(r.s, r.codelet, reduceText, name, r.x.Elem, r.defines...)
}

// begin launches the kernel that makes parts; more are its arguments between
// the operand and the parts. local is the bytes of local memory that it needs
// for each work-item, twice (0: the size of a part, once).
func (r *reduction) begin(name string, more []any, locals ...int) error {
	f, err := r.find(name)
	if err != nil {
		return err
	}
	n := r.rows * r.cols
	w := power(min(most, f.WorkGroup()))
	r.groups = max(1, min(most, n/(8*w)))
	args := append([]any{int64(n), int64(r.cols), buf(r.x), r.step(r.x)}, more...)
	args = append(args, opencl.Scratch(r.part*most))
	for _, l := range locals {
		args = append(args, opencl.Local(l*w))
	}
	return r.s.Launch(f, []int{r.groups * w}, []int{w}, args...)
}

// end launches the kernel that puts parts together.
func (r *reduction) end(name string, args ...any) error {
	f, err := r.find(name)
	if err != nil {
		return err
	}
	args = append([]any{int64(r.groups)}, args...)
	return r.s.Launch(f, []int{1}, []int{1}, append(args, opencl.Scratch(r.part*most))...)
}

// total runs a reduction whose parts are single numbers.
func (r *reduction) total(begin string, more []any, end string, acc *iface.Buffer) error {
	if err := r.begin(begin, more, r.part); err != nil {
		return err
	}
	return r.end(end, buf(acc))
}

// holder is the type in which elements are added up, and its size.
func holder(s *opencl.Stream, e iface.Elem) (string, int) {
	switch {
	case e.IsFloat() && (e == iface.F64 || s.Device().Info().Doubles):
		return "ACC=double", 8
	case e.IsFloat():
		return "ACC=float", 4
	}
	return "ACC=ulong", 8
}

// sums runs a kernel that adds or multiplies.
func sums(s *opencl.Stream, codelet, begin, end string, x, acc *iface.Buffer, more ...any) error {
	if x.Len() == 0 {
		return nil
	}
	acct, size := holder(s, x.Elem)
	return reduce(s, codelet, x, size, "SUMS", acct).total(begin, more, end, acc)
}

func sum(s *opencl.Stream, k Operands) error {
	return sums(s, "sum", "sum", "sum_end", k.Buffer(0), k.Buffer(1))
}

func prod(s *opencl.Stream, k Operands) error {
	return sums(s, "prod", "prod", "prod_end", k.Buffer(0), k.Buffer(1))
}

// dot(x, y, acc)
func dot(s *opencl.Stream, k Operands) error {
	return sums(s, "dot", "products", "sum_end", k.Buffer(0), k.Buffer(2), buf(k.Buffer(1)))
}

func asum(s *opencl.Stream, k Operands) error {
	return sums(s, "asum", "asum", "sum_end", k.Buffer(0), k.Buffer(1))
}

func nrm2sq(s *opencl.Stream, k Operands) error {
	return sums(s, "nrm2sq", "products", "sum_end", k.Buffer(0), k.Buffer(1), buf(k.Buffer(0)))
}

// nrm2(x, out)
func nrm2(s *opencl.Stream, k Operands) error {
	x, out := k.Buffer(0), k.Buffer(1)
	if x.Len() == 0 {
		return scaled(s, "nrm2", out, iface.Float(0))
	}
	size := int(x.Elem.Size())
	r := reduce(s, "nrm2", x, 2*size, "NORM", "ACC="+types[x.Elem])
	if err := r.begin("nrm2", nil, 2*size); err != nil {
		return err
	}
	return r.end("nrm2_end", buf(out))
}

func ordered(s *opencl.Stream, codelet, begin, end string, k Operands) error {
	x := k.Buffer(0)
	if x.Len() == 0 {
		return nil
	}
	return reduce(s, codelet, x, int(x.Elem.Size()), "ORDERED", "ACC="+types[x.Elem]).total(begin, nil, end, k.Buffer(1))
}

func smallest(s *opencl.Stream, k Operands) error { return ordered(s, "min", "min_", "min_end", k) }
func largest(s *opencl.Stream, k Operands) error  { return ordered(s, "max", "max_", "max_end", k) }

// place finds the largest element, or that of the largest magnitude.
func place(s *opencl.Stream, codelet string, magnitude int32, k Operands) error {
	x := k.Buffer(0)
	size := int(x.Elem.Size())
	r := reduce(s, codelet, x, 8+size, "ORDERED", "ACC="+types[x.Elem])
	if err := r.begin("argmax", []any{magnitude}, size, 8); err != nil {
		return err
	}
	base, step := x.Number()
	cols, down, right := x.Len(), 0, step[0]
	if x.Rank == 2 {
		cols, down, right = x.Dim[1], step[0], step[1]
	}
	return r.end("argmax_end", int64(cols), buf(k.Buffer(1)), int64(base), int64(down), int64(right))
}

func argmax(s *opencl.Stream, k Operands) error { return place(s, "argmax", 0, k) }
func iamax(s *opencl.Stream, k Operands) error  { return place(s, "iamax", 1, k) }

// counted finds a kernel for what is counted in.
func counted(s *opencl.Stream, codelet, name string, e iface.Elem) (*opencl.Kernel, error) {
	return find(s, codelet, reduceText, name, e, "COUNTED", "ACC=ulong")
}

// count(x, value, acc)
func count(s *opencl.Stream, k Operands) error {
	x, acc := k.Buffer(0), k.Buffer(1)
	if x.Len() == 0 {
		return nil
	}
	r := reduce(s, "count", x, 8, "COUNTS", "ACC=ulong")
	if err := r.begin("count", []any{value(x.Elem, k.Arg(0))}, r.part); err != nil {
		return err
	}
	f, err := counted(s, "count", "count_end", acc.Elem)
	if err != nil {
		return err
	}
	return s.Launch(f, []int{1}, []int{1}, int64(r.groups), buf(acc), opencl.Scratch(r.part*most))
}

// histogram(x, lo, hi, bins)
func histogram(s *opencl.Stream, k Operands) error {
	x, bins := k.Buffer(0), k.Buffer(1)
	if x.Len() == 0 {
		return nil
	}
	if !s.Device().Info().Doubles {
		return &NoDoublesError{s.Device().Name(), "histogram"}
	}
	r := reduce(s, "histogram", x, 4, "COUNTS", "ACC=ulong")
	counts, nb := opencl.Scratch(4*bins.Dim[0]), int64(bins.Dim[0])
	begin, err := counted(s, "histogram", "histogram_begin", bins.Elem)
	if err != nil {
		return err
	}
	if err := line(s, begin, bins.Dim[0], counts, nb); err != nil {
		return err
	}
	each, err := r.find("histogram")
	if err != nil {
		return err
	}
	n := r.rows * r.cols
	err = line(s, each, min(n, most*most), int64(n), int64(r.cols), buf(x), r.step(x), k.Arg(0).Float(), k.Arg(1).Float(), nb, counts)
	if err != nil {
		return err
	}
	end, err := counted(s, "histogram", "histogram_end", bins.Elem)
	if err != nil {
		return err
	}
	return line(s, end, bins.Dim[0], buf(bins), nb, counts)
}
