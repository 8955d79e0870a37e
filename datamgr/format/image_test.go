package format

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"slices"
	"strings"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
)

func u8s(n int) []uint8 {
	x := make([]uint8, n)
	for i := range x {
		x[i] = uint8(40 + 13*i)
	}
	return x
}

func u16s(n int) []uint16 {
	x := make([]uint16, n)
	for i := range x {
		x[i] = uint16(40 + 9973*i)
	}
	return x
}

// TestImages: images in grey and in colour come back as they were saved, in every form that
// has room for them, and other programs see the same pixels.
func TestImages(t *testing.T) {
	fsys := newFS()
	for _, c := range []struct {
		name string
		b    *iface.Buffer
		want any
	}{
		{"grey8.png", buffer(u8s(12), iface.U8, 4, 3, 4), u8s(12)},
		{"grey16.png", buffer(u16s(12), iface.U16, 4, 3, 4), u16s(12)},
		{"rgb8.png", buffer(u8s(18), iface.U8, 0, 2, 3, 3), u8s(18)},
		{"rgba8.png", buffer(u8s(24), iface.U8, 0, 2, 3, 4), u8s(24)},
		{"rgb16.png", buffer(u16s(18), iface.U16, 0, 2, 3, 3), u16s(18)},
		{"rgba16.png", buffer(u16s(24), iface.U16, 0, 2, 3, 4), u16s(24)},
		{"opaque.png", buffer([]uint8{1, 2, 3, 255}, iface.U8, 0, 1, 1, 4), []uint8{1, 2, 3, 255}},
		{"grey8.pgm", buffer(u8s(12), iface.U8, 4, 3, 4), u8s(12)},
		{"grey16.pgm", buffer(u16s(12), iface.U16, 4, 3, 4), u16s(12)},
		{"gaps.png", buffer([]uint8{1, 2, 99, 3, 4}, iface.U8, 3, 2, 2), []uint8{1, 2, 3, 4}},
		{"gaps.pgm", buffer([]uint16{1, 2, 99, 3, 4}, iface.U16, 3, 2, 2), []uint16{1, 2, 3, 4}},
	} {
		if err := Save(fsys, c.name, c.b); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		switch want := c.want.(type) {
		case []uint8:
			loaded(t, fsys, c.name, c.b.Kind, c.b.Elem, want, c.b.Shape()...)
			if c.b.Kind == iface.Matrix {
				loaded(t, fsys, c.name, c.b.Kind, iface.U16, widen[uint8, uint16](want), c.b.Shape()...)
			}
		case []uint16:
			loaded(t, fsys, c.name, c.b.Kind, c.b.Elem, want, c.b.Shape()...)
			loaded(t, fsys, c.name, c.b.Kind, iface.F32, widen[uint16, float32](want), c.b.Shape()...)
		}
	}
	img, err := png.Decode(bytes.NewReader(fsys.MapFS["rgb8.png"].Data))
	x := u8s(18)
	if want := (color.RGBA{x[15], x[16], x[17], 255}); err != nil || img.At(2, 1) != want {
		t.Errorf("rgb8.png as another program sees it: %v, want %v, %v", img.At(2, 1), want, err)
	}
}

func widen[T, U iface.Real](x []T) []U {
	y := make([]U, len(x))
	for i := range x {
		y[i] = U(x[i])
	}
	return y
}

// TestImagesOfOthers: forms that only other programs write.
func TestImagesOfOthers(t *testing.T) {
	palette := color.Palette{color.NRGBA{1, 2, 3, 255}, color.NRGBA{4, 5, 6, 255}}
	glass := color.Palette{color.NRGBA{1, 2, 3, 255}, color.NRGBA{4, 5, 6, 7}}
	mapped := func(p color.Palette) string {
		var b bytes.Buffer
		if err := png.Encode(&b, &image.Paletted{Pix: []byte{0, 1, 1, 0}, Stride: 2, Rect: image.Rect(0, 0, 2, 2), Palette: p}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	fsys := newFS(
		"palette.png", mapped(palette),
		"glass.png", mapped(glass),
		"plain.pgm", "P2 # grey\n# a comment\n3 2\n15\n0 1 2\n\n15 4\n5",
		"deep.pgm", "P2\n1 2\n65535\n65535 256\n",
		"one.pgm", "P5\n2 1\n200\n\x00\xc8",
	)
	loaded(t, fsys, "palette.png", iface.Block, iface.U8, []uint8{1, 2, 3, 4, 5, 6, 4, 5, 6, 1, 2, 3}, 2, 2, 3)
	loaded(t, fsys, "glass.png", iface.Block, iface.U8, []uint8{1, 2, 3, 255, 4, 5, 6, 7, 4, 5, 6, 7, 1, 2, 3, 255}, 2, 2, 4)
	loaded(t, fsys, "plain.pgm", iface.Matrix, iface.U8, []uint8{0, 1, 2, 15, 4, 5}, 2, 3)
	loaded(t, fsys, "plain.pgm", iface.Matrix, iface.F64, []float64{0, 1, 2, 15, 4, 5}, 2, 3)
	loaded(t, fsys, "deep.pgm", iface.Vector, iface.U16, []uint16{65535, 256}, 2)
	loaded(t, fsys, "one.pgm", iface.Matrix, iface.U8, []uint8{0, 200}, 1, 2)
}

func TestImageErrors(t *testing.T) {
	fsys := newFS()
	if err := Save(fsys, "grey.png", buffer(u8s(12), iface.U8, 4, 3, 4)); err != nil {
		t.Fatal(err)
	}
	if err := Save(fsys, "grey16.png", buffer([]uint16{1, 2, 3, 300}, iface.U16, 2, 2, 2)); err != nil {
		t.Fatal(err)
	}
	if err := Save(fsys, "rgb.png", buffer(u8s(18), iface.U8, 0, 2, 3, 3)); err != nil {
		t.Fatal(err)
	}
	good := string(fsys.MapFS["grey.png"].Data)
	huge := []byte(good)
	binary.BigEndian.PutUint32(huge[16:], 1_000_000)
	binary.BigEndian.PutUint32(huge[20:], 1_000_000)
	for name, data := range map[string]string{
		"huge.png":  string(checksummed(huge)),
		"cut.png":   good[:len(good)-5],
		"head.png":  good[:20],
		"more.png":  good + "x",
		"hurt.png":  good[:45] + "\x00" + good[46:],
		"text.png":  "P5 1 1 255\nx",
		"empty.png": "",
		"huge.pgm":  "P5 1000000 1000000 255\nabc",
		"huge2.pgm": "P2 1000000 1000000 255\n1 2 3",
		"cut.pgm":   "P5 2 2 255\nabc",
		"more.pgm":  "P5 2 2 255\nabcde",
		"over.pgm":  "P5 2 2 100\n\x01\x02\x65\x03",
		"over2.pgm": "P2 2 2 100\n1 2\n101 4\n",
		"cut2.pgm":  "P2 2 2 100\n1 2\n        3\n",
		"more2.pgm": "P2 2 2 100\n1 2 3 4\n5\n",
		"word.pgm":  "P2 2 2 100\n1 2 x 4\n",
		"rgb.pgm":   "P6 1 1 255\nabc",
		"zero.pgm":  "P5 0 1 255\n",
		"deep.pgm":  "P5 1 1 65536\nab",
		"head.pgm":  "P5\n# x",
		"glued.pgm": "P5 1 1 255#\na",
		"empty.pgm": "",
	} {
		fsys.MapFS[name] = newFS(name, data).MapFS[name]
	}
	for _, c := range []struct {
		name string
		kind iface.Kind
		elem iface.Elem
		dims []int
		text string
	}{
		{"rgb.png", iface.Matrix, iface.F64, nil, "rgb.png: expected matrix[f64], found an image in colour, size 2 x 3 x 3"},
		{"grey.png", iface.Block, iface.F64, nil, "grey.png: expected block[f64], found an image in grey, size 3 x 4"},
		{"grey.png", iface.Matrix, iface.F64, []int{4, 3}, "grey.png: expected matrix[f64] 4 x 3, found an image in grey, size 3 x 4"},
		{"grey16.png", iface.Matrix, iface.I8, nil, "grey16.png: expected an integer that i8 can hold, found 300 in row 2, column 2 of the image"},
		{"huge.png", iface.Matrix, iface.F64, nil, "huge.png, byte 16: expected an image of at most "},
		{"cut.png", iface.Matrix, iface.F64, nil, "cut.png, byte "},
		{"head.png", iface.Matrix, iface.F64, nil, "head.png, byte 8: expected a chunk of 13 bytes, found 0 to the end of the file"},
		{"more.png", iface.Matrix, iface.F64, nil, "more.png, byte "},
		{"hurt.png", iface.Matrix, iface.F64, nil, "hurt.png, byte "},
		{"text.png", iface.Matrix, iface.F64, nil, "text.png, byte 0: expected a PNG image, found something else"},
		{"empty.png", iface.Matrix, iface.F64, nil, "empty.png, byte 0: expected a PNG image, found an empty file"},
		{"huge.pgm", iface.Matrix, iface.F64, nil, "huge.pgm, byte 23: expected 1000000000000 bytes, size 1000000 x 1000000 of u8, found 3"},
		{"huge2.pgm", iface.Matrix, iface.F64, nil, "huge2.pgm:2: expected 1000000000000 elements, size 1000000 x 1000000, found 5 bytes, which cannot hold them"},
		{"cut.pgm", iface.Matrix, iface.F64, nil, "cut.pgm, byte 11: expected 4 bytes, size 2 x 2 of u8, found 3"},
		{"more.pgm", iface.Matrix, iface.F64, nil, "more.pgm, byte 11: expected 4 bytes, size 2 x 2 of u8, found 5"},
		{"over.pgm", iface.Matrix, iface.F64, nil, "over.pgm, byte 13: expected an element from 0 to 100, found 101"},
		{"over2.pgm", iface.Matrix, iface.F64, nil, "over2.pgm:3: expected an element from 0 to 100, found \"101\""},
		{"cut2.pgm", iface.Matrix, iface.F64, nil, "cut2.pgm:4: expected the element of row 2, column 2, found the end of the file"},
		{"more2.pgm", iface.Matrix, iface.F64, nil, "more2.pgm:3: expected the end of the file, found \"5\""},
		{"word.pgm", iface.Matrix, iface.F64, nil, "word.pgm:2: expected an element from 0 to 100, found \"x\""},
		{"rgb.pgm", iface.Matrix, iface.F64, nil, "rgb.pgm:1: expected P2 or P5, a grey image, found \"P6\", another kind of image: convert it to .png"},
		{"zero.pgm", iface.Matrix, iface.F64, nil, "zero.pgm:1: expected the number of columns, from 1 to 2147483647, found \"0\""},
		{"deep.pgm", iface.Matrix, iface.F64, nil, "deep.pgm:1: expected the largest value, from 1 to 65535, found \"65536\""},
		{"head.pgm", iface.Matrix, iface.F64, nil, "head.pgm:2: expected the number of columns, from 1 to 2147483647, found the end of the file"},
		{"glued.pgm", iface.Matrix, iface.F64, nil, "glued.pgm:1: expected a blank or the end of the line behind the largest value, found \"#\""},
		{"empty.pgm", iface.Matrix, iface.F64, nil, "empty.pgm:1: expected P2 or P5, a grey image, found an empty file"},
		{"grey.pgm", iface.Block, iface.F64, nil, "grey.pgm: a `.pgm` file is grey and holds no block; an image in colour is loaded from `.png`"},
	} {
		if strings.HasSuffix(c.text, " ") { // the rest depends on the encoder
			_, _, err := load[float64](fsys, c.name, c.kind, c.elem)
			if err == nil || !strings.HasPrefix(err.Error(), c.text) {
				t.Errorf("%s: %v, want %s…", c.name, err, c.text)
			}
			continue
		}
		refused(t, fsys, c.name, c.kind, c.elem, c.dims, c.text)
	}
	for _, c := range []struct {
		name string
		b    *iface.Buffer
		text string
	}{
		{"x.png", buffer([]float64{1}, iface.F64, 1, 1, 1), "x.png: a `.png` file has elements of u8 or u16, and these are f64; scale and round the elements into data of u8 or u16 first"},
		{"x.png", buffer(u8s(2), iface.U8, 0, 2), "x.png: a vector is no image; an image is a matrix, or a block of rows x columns x 3 or 4"},
		{"x.png", buffer(u8s(2), iface.U8, 0, 1, 1, 2), "x.png: expected an image of rows x columns x 3 or 4, found block[u8] 1 x 1 x 2"},
		{"x.png", buffer([]uint8{}, iface.U8, 0, 0, 3), "x.png: expected an image with pixels, found matrix[u8] 0 x 3"},
		{"x.pgm", buffer(u8s(3), iface.U8, 0, 1, 1, 3), "x.pgm: a `.pgm` file is grey and holds no block; an image in colour is saved in `.png`"},
	} {
		before := len(fsys.MapFS)
		if err := Save(fsys, c.name, c.b); err == nil || err.Error() != c.text {
			t.Errorf("%v, want %s", err, c.text)
		}
		if len(fsys.MapFS) != before {
			t.Errorf("%s was left behind", c.name)
		}
	}
}

// TestImagesCutAnywhere: an image that ends early at any byte is an error, and no panic.
func TestImagesCutAnywhere(t *testing.T) {
	fsys := newFS()
	for _, name := range []string{"x.png", "x.pgm"} {
		if err := Save(fsys, name, buffer(u16s(12), iface.U16, 4, 3, 4)); err != nil {
			t.Fatal(err)
		}
		data := slices.Clone(fsys.MapFS[name].Data)
		for n := range data {
			fsys.MapFS[name].Data = data[:n]
			if _, _, err := load[uint16](fsys, name, iface.Matrix, iface.U16); err == nil {
				t.Errorf("%s was loaded from the first %d of %d bytes", name, n, len(data))
			}
		}
	}
}
