package format

// Raw elements, little-endian, row by row, nothing else. The caller
// that reads the file gives the sizes.

import (
	"fmt"

	"github.com/starpush/starpush/datamgr/iface"
)

// binNeeds says what is missing where a .bin file shall become want.
func binNeeds(want *Want) error {
	if want.Dims == nil && want.Kind != iface.Variable {
		return &Error{Want: "sizes for the " + want.Kind.String(), Got: "none, and a .bin file does not hold them"}
	}
	return nil
}

func openBin(in *Input) error {
	if err := binNeeds(&in.want); err != nil {
		return err
	}
	if e := in.shape(in.want.Dims...); e != nil {
		return e
	}
	d := in.want.desc(in.Dims)
	want := d.Bytes()
	r, size := in.source(0, want)
	if size != want {
		return &Error{At: true, Byte: min(size, want), Want: fmt.Sprintf("%d bytes, a %v", want, &d), Got: fmt.Sprint(size)}
	}
	f := &raw{r: r, elem: in.want.Elem}
	in.inRows, in.plain = true, !bigHost
	in.fill = func(b *iface.Buffer) error { return in.fillRows(f, b, false) }
	return nil
}
