package format

// Images: .png and .pgm. Grey is a matrix, rows x columns; colour is a block, rows x columns x
// 3 (red, green, blue) or 4 (with opacity, which the colours are not multiplied with).
// Elements are as in the file, 0 to 255 or to 65535.

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"io"
	"strconv"

	"github.com/starpush/starpush/datamgr/iface"
)

// mostSide bounds the sizes of images, which PNG does at the same number.
const mostSide = 1<<31 - 1

// checkImage says why data like d is no image.
func checkImage(d *iface.Desc) *Error {
	if d.Len() == 0 {
		return &Error{Want: "an image with pixels", Got: d.String()}
	}
	if d.Rank == 3 && d.Dim[2] != 3 && d.Dim[2] != 4 {
		return &Error{Want: "an image of rows x columns x 3 or 4", Got: d.String()}
	}
	if d.Dim[0] > mostSide || d.Dim[1] > mostSide {
		return &Error{Want: fmt.Sprintf("at most %d rows and columns", mostSide), Got: d.String()}
	}
	return nil
}

// imageShape is shape for an image with the given number of elements for each pixel.
func (in *Input) imageShape(rows, cols, channels int) *Error {
	what, dims := "an image in grey, ", []int{rows, cols}
	if channels > 1 {
		what, dims = "an image in colour, ", append(dims, channels)
	}
	e := in.shape(dims...)
	if e != nil {
		e.Got = what + e.Got
	}
	return e
}

// samples fills b with the elements that r gives, row by row, and names the pixel that b cannot hold.
func samples(r io.Reader, elem iface.Elem, b *iface.Buffer, cols, channels int) error {
	err := fillRaw(&raw{r: r, elem: elem, big: true}, b, false)
	var e *Error
	if errors.As(err, &e) && e.At && e.Err == nil {
		pixel := int(e.Byte) / int(elem.Size()) / channels
		return &Error{Want: e.Want, Got: fmt.Sprintf("%s in row %d, column %d of the image", e.Got, pixel/cols+1, pixel%cols+1)}
	}
	return err
}

// PNG.

const pngMagic = "\x89PNG\r\n\x1a\n"

// pngHead is what the chunks of a file say of its image.
type pngHead struct {
	rows, cols, channels int
	bits                 int // of an element as it is decoded: 8 or 16
}

func openPng(in *Input) error {
	size, err := in.regular()
	if err != nil {
		return err
	}
	file, err := io.ReadAll(io.LimitReader(in.file, size))
	if err != nil {
		return err
	}
	h, err := pngChunks(file)
	if err != nil {
		return err
	}
	if e := in.imageShape(h.rows, h.cols, h.channels); e != nil {
		return e
	}
	in.fill = func(b *iface.Buffer) error { return fillPng(file, h, b) }
	return nil
}

// pngChunks walks over the chunks of a file: they must be whole, and their pixels as many as
// the compressed bytes can hold.
func pngChunks(file []byte) (h pngHead, err error) {
	wrong := func(at int, want, got string) (pngHead, error) {
		return h, &Error{At: true, Byte: int64(at), Want: want, Got: got}
	}
	if !bytes.HasPrefix(file, []byte(pngMagic)) {
		if len(file) == 0 {
			return wrong(0, "a PNG image", "an empty file")
		}
		return wrong(0, "a PNG image", "something else")
	}
	at := len(pngMagic)
	packed, depth, kind, transparent := 0, 0, 0, false
	for first := true; ; first = false {
		if len(file)-at < 12 {
			return wrong(at, "a chunk, the last one IEND", "the end of the file")
		}
		n, name := int(binary.BigEndian.Uint32(file[at:])), string(file[at+4:at+8])
		if n > len(file)-at-12 {
			return wrong(at, fmt.Sprintf("a chunk of %d bytes", n), fmt.Sprintf("%d to the end of the file", len(file)-at-12))
		}
		body := file[at+8 : at+8+n]
		if sum := binary.BigEndian.Uint32(file[at+8+n:]); sum != crc32.ChecksumIEEE(file[at+4:at+8+n]) {
			return wrong(at+8+n, "the checksum of the chunk "+quote([]byte(name)), "another: the file is damaged")
		}
		if first != (name == "IHDR") {
			return wrong(at+4, "the chunk IHDR first, and once", quote([]byte(name)))
		}
		switch name {
		case "IHDR":
			if n != 13 {
				return wrong(at, "13 bytes of IHDR", fmt.Sprint(n))
			}
			cols, rows := binary.BigEndian.Uint32(body), binary.BigEndian.Uint32(body[4:])
			if rows == 0 || cols == 0 || rows > mostSide || cols > mostSide {
				return wrong(at+8, fmt.Sprintf("sizes from 1 to %d", mostSide), fmt.Sprintf("%d x %d", rows, cols))
			}
			h.rows, h.cols, depth, kind = int(rows), int(cols), int(body[8]), int(body[9])
		case "IDAT":
			packed += n
		case "tRNS":
			transparent = true
		}
		at += 12 + n
		if name == "IEND" {
			break
		}
	}
	if at < len(file) {
		return wrong(at, "the end of the file", "more bytes")
	}
	samples := map[int]int{0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[kind]
	line := (h.cols*max(1, samples)*depth + 7) / 8
	if line > 0 && h.rows > (packed+1)*mostDeflated/line {
		return wrong(len(pngMagic)+8, fmt.Sprintf("an image of at most %d bytes, which %d compressed ones can hold", (packed+1)*mostDeflated, packed), fmt.Sprintf("size %d x %d", h.rows, h.cols))
	}
	h.channels = 4
	switch {
	case kind == 0 && !transparent:
		h.channels = 1
	case (kind == 2 || kind == 3) && !transparent:
		h.channels = 3
	}
	h.bits = 8
	if depth == 16 {
		h.bits = 16
	}
	return h, nil
}

func fillPng(file []byte, h pngHead, b *iface.Buffer) error {
	r := bytes.NewReader(file)
	img, err := png.Decode(r)
	if err != nil {
		at := int64(len(file) - r.Len())
		var format png.FormatError
		var other png.UnsupportedError
		switch {
		case errors.As(err, &format):
			err = errors.New("a damaged image: " + string(format))
		case errors.As(err, &other):
			err = errors.New("an image of a form that is not read: " + string(other))
		case endOfFile(err):
			err = errors.New("a damaged image: its compressed data ends early")
		}
		return &Error{At: true, Byte: at, Err: err}
	}
	if s := img.Bounds().Size(); s.X != h.cols || s.Y != h.rows {
		return &Error{Want: fmt.Sprintf("an image of size %d x %d", h.rows, h.cols), Got: fmt.Sprintf("%d x %d", s.Y, s.X)}
	}
	elem := iface.U8
	if h.bits == 16 {
		elem = iface.U16
	}
	p, err := newPixels(img, h)
	if err != nil {
		return err
	}
	return samples(p, elem, b, h.cols, h.channels)
}

// pixels reads the elements of a decoded image, big-endian, a row at a time.
type pixels struct {
	h      pngHead
	pix    []byte // of the decoded image
	stride int
	has    int              // elements for each pixel there; the first channels of them are wanted
	colour [256]color.NRGBA // of a palette
	mapped bool             // pix are numbers of it
	y      int
	row    []byte // what is left of it
	buf    []byte
}

func newPixels(img image.Image, h pngHead) (*pixels, error) {
	p := &pixels{h: h}
	bits := 8
	switch m := img.(type) {
	case *image.Gray:
		p.pix, p.stride, p.has = m.Pix, m.Stride, 1
	case *image.Gray16:
		p.pix, p.stride, p.has, bits = m.Pix, m.Stride, 1, 16
	case *image.RGBA: // without opacity
		p.pix, p.stride, p.has = m.Pix, m.Stride, 4
	case *image.NRGBA:
		p.pix, p.stride, p.has = m.Pix, m.Stride, 4
	case *image.RGBA64:
		p.pix, p.stride, p.has, bits = m.Pix, m.Stride, 4, 16
	case *image.NRGBA64:
		p.pix, p.stride, p.has, bits = m.Pix, m.Stride, 4, 16
	case *image.Paletted:
		p.pix, p.stride, p.has, p.mapped = m.Pix, m.Stride, 4, true
		for i := range min(len(m.Palette), len(p.colour)) {
			p.colour[i] = color.NRGBAModel.Convert(m.Palette[i]).(color.NRGBA)
		}
	}
	if p.has < h.channels || bits != h.bits {
		return nil, errors.New("an image whose chunks disagree about its colours")
	}
	return p, nil
}

// Read implements io.Reader.
func (p *pixels) Read(b []byte) (int, error) {
	if len(p.row) == 0 {
		if p.y == p.h.rows {
			return 0, io.EOF
		}
		p.next()
	}
	n := copy(b, p.row)
	p.row = p.row[n:]
	return n, nil
}

// next takes the next row.
func (p *pixels) next() {
	size := p.h.bits / 8
	from := p.pix[p.y*p.stride:]
	p.y++
	if !p.mapped && p.has == p.h.channels {
		p.row = from[:p.h.cols*p.has*size]
		return
	}
	p.buf = p.buf[:0]
	for x := range p.h.cols {
		if p.mapped {
			c := p.colour[from[x]]
			p.buf = append(p.buf, []byte{c.R, c.G, c.B, c.A}[:p.h.channels]...)
		} else {
			p.buf = append(p.buf, from[x*p.has*size:][:p.h.channels*size]...)
		}
	}
	p.row = p.buf
}

func writePng(w *bufio.Writer, b *iface.Buffer) error {
	if b.Elem == iface.U8 && b.Rank == 2 {
		mem, ld := iface.Strided[uint8](b)
		return png.Encode(w, &image.Gray{Pix: mem, Stride: ld, Rect: image.Rect(0, 0, b.Dim[1], b.Dim[0])})
	}
	return png.Encode(w, &picture{b})
}

// picture is data as an image that is encoded.
type picture struct{ b *iface.Buffer }

// ColorModel says how many bits an element has, and whether there is colour.
func (p *picture) ColorModel() color.Model {
	switch {
	case p.b.Rank == 2:
		return color.Gray16Model
	case p.b.Elem == iface.U8:
		return color.NRGBAModel
	}
	return color.NRGBA64Model
}

// Bounds returns the sizes.
func (p *picture) Bounds() image.Rectangle { return image.Rect(0, 0, p.b.Dim[1], p.b.Dim[0]) }

// Opaque reports whether a pixel has three elements: pixels with four keep them, even if
// all are opaque.
func (p *picture) Opaque() bool { return p.b.Rank == 2 || p.b.Dim[2] == 3 }

// At returns a pixel.
func (p *picture) At(x, y int) color.Color {
	switch {
	case p.b.Rank == 2:
		return color.Gray16{Y: iface.Line[uint16](p.b, y)[x]}
	case p.b.Elem == iface.U8:
		c := iface.Line[uint8](p.b, y*p.b.Dim[1]+x)
		if len(c) == 3 {
			return color.NRGBA{R: c[0], G: c[1], B: c[2], A: 255}
		}
		return color.NRGBA{R: c[0], G: c[1], B: c[2], A: c[3]}
	}
	c := iface.Line[uint16](p.b, y*p.b.Dim[1]+x)
	if len(c) == 3 {
		return color.NRGBA64{R: c[0], G: c[1], B: c[2], A: 65535}
	}
	return color.NRGBA64{R: c[0], G: c[1], B: c[2], A: c[3]}
}

// PGM, https://netpbm.sourceforge.net/doc/pgm.html: P5 with binary elements, P2 with text.

// pgm is what the head of a file says.
type pgm struct {
	t                *text
	plain            bool
	rows, cols, most int
}

func openPgm(in *Input) error {
	p := &pgm{t: newText(in.file)}
	if err := p.head(); err != nil {
		return err
	}
	if e := in.imageShape(p.rows, p.cols, 1); e != nil {
		e.Line = p.t.line
		return e
	}
	n := int64(p.rows) * int64(p.cols)
	at := p.t.offset()
	if p.plain {
		if _, size := in.source(at, 2*n); size < 2*n-1 {
			return &Error{Line: p.t.line, Want: fmt.Sprintf("%d elements, size %d x %d", n, p.rows, p.cols), Got: fmt.Sprintf("%d bytes, which cannot hold them", max(0, size))}
		}
		in.fill = func(b *iface.Buffer) error { return p.fillPlain(b, in.want.Elem) }
		return nil
	}
	elem := iface.U8
	if p.most > 255 {
		elem = iface.U16
	}
	want := n * int64(elem.Size())
	file, size := in.source(at, want)
	if size != want {
		return &Error{At: true, Byte: at, Want: fmt.Sprintf("%d bytes, size %d x %d of %v", want, p.rows, p.cols, elem), Got: fmt.Sprint(size)}
	}
	r := io.MultiReader(bytes.NewReader(p.t.buf[p.t.pos:p.t.end]), file)
	if p.most != 255 && p.most != 65535 {
		r = &bounded{r: r, size: int(elem.Size()), most: p.most, at: at}
	}
	in.fill = func(b *iface.Buffer) error {
		return fillRaw(&raw{r: r, elem: elem, big: true, at: at}, b, false)
	}
	return nil
}

// head reads up to the blank behind the largest value.
func (p *pgm) head() error {
	t := p.t
	if _, ok := t.peek(); !ok && t.failed() == nil {
		return t.wrong("P2 or P5, a grey image", "an empty file")
	}
	switch w := t.token('#'); string(w) {
	case "P2":
		p.plain = true
	case "P5":
	case "P1", "P3", "P4", "P6", "P7":
		return t.wrong("P2 or P5, a grey image", quote(w)+", another kind of image: convert it to .png")
	default:
		return t.wrong("P2 or P5, a grey image", quote(w))
	}
	for _, f := range []struct {
		to   *int
		what string
		most int
	}{{&p.cols, "the number of columns", mostSide}, {&p.rows, "the number of rows", mostSide}, {&p.most, "the largest value", 65535}} {
		for {
			t.blanks()
			if c, ok := t.peek(); ok && c == '#' {
				t.skipLine()
			} else if !t.newline() {
				break
			}
		}
		want := f.what + ", from 1 to " + strconv.Itoa(f.most)
		w := t.token('#')
		if len(w) == 0 {
			return t.wrong(want, t.here())
		}
		n, ok := parseIndex(w)
		if !ok || n < 1 || n > f.most {
			return t.wrong(want, quote(w))
		}
		*f.to = n
	}
	if c, ok := t.peek(); ok && (c == '\n' || c == ' ' || c == '\t' || c == '\r') {
		if !t.newline() {
			t.pos++
		}
		return nil
	}
	return t.wrong("a blank or the end of the line behind the largest value", t.here())
}

func (p *pgm) fillPlain(b *iface.Buffer, elem iface.Elem) error {
	t := p.t
	c := newCells(b, p.cols == 1)
	for i := range p.rows {
		for j := range p.cols {
			for t.blanks(); t.newline(); t.blanks() {
			}
			w := t.token('\n')
			if len(w) == 0 {
				return t.wrong(fmt.Sprintf("the element of row %d, column %d", i+1, j+1), t.here())
			}
			n, ok := parseIndex(w)
			if !ok || n > p.most {
				return t.wrong(fmt.Sprintf("an element from 0 to %d", p.most), quote(w))
			}
			if !c.set(i, j, num{i: int64(n)}) {
				return t.wrong(holds(elem), quote(w))
			}
		}
	}
	for t.blanks(); t.newline(); t.blanks() {
	}
	if _, ok := t.peek(); ok {
		return t.wrong("the end of the file", t.here())
	}
	return t.failed()
}

// bounded finds elements above the largest value.
type bounded struct {
	r          io.Reader
	size, most int
	at         int64
	part       []byte // of an element that is not whole yet
}

func (p *bounded) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	for _, c := range b[:n] {
		p.part = append(p.part, c)
		if len(p.part) < p.size {
			continue
		}
		v := int(p.part[0])
		if p.size == 2 {
			v = v<<8 | int(p.part[1])
		}
		p.part = p.part[:0]
		if v > p.most {
			return 0, &Error{At: true, Byte: p.at, Want: fmt.Sprintf("an element from 0 to %d", p.most), Got: fmt.Sprint(v)}
		}
		p.at += int64(p.size)
	}
	return n, err
}

func writePgm(w *bufio.Writer, b *iface.Buffer) error {
	most := 255
	if b.Elem == iface.U16 {
		most = 65535
	}
	if _, err := fmt.Fprintf(w, "P5\n%d %d\n%d\n", b.Dim[1], b.Dim[0], most); err != nil {
		return err
	}
	if b.Elem == iface.U8 {
		return writeRaw(w, b)
	}
	for i := range b.Dim[0] {
		for _, x := range iface.Line[uint16](b, i) {
			if _, err := w.Write([]byte{byte(x >> 8), byte(x)}); err != nil {
				return err
			}
		}
	}
	return nil
}
