package format

// MatrixMarket, https://math.nist.gov/MatrixMarket/formats.html: coordinate and
// array files; real, integer, complex and pattern; general, symmetric, skew-symmetric,
// hermitian.
//
// Entries that a coordinate file has more than once are added, in their
// order; a sum that the element type cannot hold is an error. A symmetric
// file has entries on and below the diagonal only, as the format says: one above
// would be counted twice by readers that mirror it.

import (
	"bytes"
	"fmt"
	"math"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
)

// mtx is what the head of a file says.
type mtx struct {
	t               *text
	array, pattern  bool
	complex         bool // values are two numbers
	symmetric, skew bool
	hermitian       bool // symmetric, too: the mirrored entries are conjugate
	rows, cols, nnz int
	column          bool // a vector is the only column
	elem            iface.Elem
	sizeLine        int
	size            int64 // bytes of the file; 0: not known
}

func openMtx(in *Input) error {
	m := &mtx{t: newText(in.file), elem: in.want.Elem}
	if err := m.head(); err != nil {
		return err
	}
	if e := in.shape(m.rows, m.cols); e != nil {
		e.Line = m.sizeLine
		return e
	}
	m.column = m.cols == 1
	in.fill = m.fill
	return nil
}

// head reads the banner, the comments and the line of sizes.
func (m *mtx) head() error {
	t := m.t
	var words [5]string
	if _, ok := t.peek(); !ok && t.failed() == nil {
		return t.wrong("%%MatrixMarket", "an empty file")
	}
	if w := t.token('\n'); string(bytes.ToLower(w)) != "%%matrixmarket" {
		return t.wrong("%%MatrixMarket", quote(w))
	}
	for i := 1; i < 5; i++ {
		t.blanks()
		if words[i] = strings.ToLower(string(t.token('\n'))); len(words[i]) > 40 {
			words[i] = words[i][:40]
		}
	}
	if words[1] != "matrix" {
		return t.wrong("`matrix`", quote([]byte(words[1])))
	}
	switch words[2] {
	case "coordinate":
	case "array":
		m.array = true
	default:
		return t.wrong("`coordinate` or `array`", quote([]byte(words[2])))
	}
	switch words[3] {
	case "real", "double", "integer":
	case "pattern":
		m.pattern = true
		if m.array {
			return t.wrong("`real` or `integer` for an array", "`pattern`")
		}
	case "complex":
		if m.complex = true; m.elem.IsComplex() {
			break
		}
		return t.wrong(fmt.Sprintf("`real`, `integer` or `pattern`, as elements are of type %v", m.elem), "`complex`")
	default:
		return t.wrong("`real`, `integer` or `pattern`", quote([]byte(words[3])))
	}
	switch words[4] {
	case "general":
	case "symmetric":
		m.symmetric = true
	case "skew-symmetric":
		m.skew = true
		if m.pattern {
			return t.wrong("`general` or `symmetric` for a pattern", "`skew-symmetric`")
		}
	case "hermitian":
		if !m.complex {
			return t.wrong("`hermitian` with `complex` only", "`"+words[3]+"`")
		}
		m.symmetric, m.hermitian = true, true
	default:
		return t.wrong("`general`, `symmetric` or `skew-symmetric`", quote([]byte(words[4])))
	}
	if t.blanks(); !t.newline() {
		return t.wrong("the end of the line", t.here())
	}
	m.between()
	m.sizeLine = t.line
	form, n := "the sizes `rows columns entries`", []*int{&m.rows, &m.cols, &m.nnz}
	if m.array {
		form, n = "the sizes `rows columns`", n[:2]
	}
	for i, p := range n {
		if i > 0 {
			t.blanks()
		}
		var ok bool
		if w := t.token('\n'); len(w) == 0 {
			return t.wrong(form, t.here())
		} else if *p, ok = parseIndex(w); !ok {
			return t.wrong(form, quote(w))
		}
	}
	if err := m.lineEnd(form); err != nil {
		return err
	}
	if (m.symmetric || m.skew) && m.rows != m.cols {
		return &Error{Line: m.sizeLine, Want: "as many rows as columns in a symmetric matrix", Got: fmt.Sprintf("%d x %d", m.rows, m.cols)}
	}
	return nil
}

// parseIndex reads a number without a sign that int can hold. A word that may be cut is
// none.
func parseIndex(w []byte) (int, bool) {
	n := 0
	if len(w) > maxToken {
		return 0, false
	}
	for _, c := range w {
		if c < '0' || c > '9' || n > (math.MaxInt-9)/10 {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, len(w) > 0
}

// between skips comments and empty lines, to the first word of a line.
func (m *mtx) between() {
	for {
		m.t.blanks()
		if c, ok := m.t.peek(); ok && c == '%' {
			m.t.skipLine()
		} else if !m.t.newline() {
			return
		}
	}
}

// lineEnd returns an error unless the rest of the line is blank.
func (m *mtx) lineEnd(form string) error {
	m.t.blanks()
	if m.t.newline() {
		return nil
	}
	if _, ok := m.t.peek(); !ok {
		return m.t.failed()
	}
	return m.t.wrong(form+" and then the end of the line", m.t.here())
}

func (m *mtx) fill(b *iface.Buffer) error { return m.read(newCells(b, m.column)) }

// read reads all entries or elements into c.
func (m *mtx) read(c cells) error {
	read := m.coordinates
	if m.array {
		read = m.columns
	}
	if err := read(c); err != nil {
		return err
	}
	m.between()
	if _, ok := m.t.peek(); ok {
		return m.t.wrong("the end of the file", m.t.here())
	}
	return m.t.failed()
}

func (m *mtx) coordinates(c cells) error {
	t := m.t
	c.zero()
	form := "an entry `row column value`"
	if m.complex {
		form = "an entry `row column real imaginary`"
	} else if m.pattern {
		form = "an entry `row column`"
	}
	next := 0 // the entry at which plain lines are looked for
	for k := 0; k < m.nnz; k++ {
		if k == next {
			k += m.plainLines(c)
			if next = k + betweenBlocks; k == m.nnz {
				break
			}
		}
		i, j, v, w, err := m.entry(k, form)
		if err != nil {
			return err
		}
		switch {
		case m.symmetric && j > i:
			return t.wrong("an entry on or below the diagonal of a symmetric matrix", fmt.Sprintf("row %d, column %d", i, j))
		case m.skew && j >= i:
			return t.wrong("an entry below the diagonal of a skew-symmetric matrix", fmt.Sprintf("row %d, column %d", i, j))
		}
		ok := c.add(i-1, j-1, v)
		if ok && i != j && m.symmetric {
			ok = c.add(j-1, i-1, m.mirrored(v))
		} else if ok && m.skew {
			ok = c.add(j-1, i-1, v.negate())
		}
		if !ok {
			return t.wrong(holds(m.elem), m.describe(c, v, w))
		}
		if err := m.lineEnd(form); err != nil {
			return err
		}
	}
	return nil
}

// entry reads entry k, which has the given form, without the end of its line.
func (m *mtx) entry(k int, form string) (i, j int, v num, w []byte, err error) {
	t := m.t
	m.between()
	if w = t.token('\n'); len(w) == 0 {
		return 0, 0, v, nil, t.wrong(fmt.Sprintf("%d entries", m.nnz), fmt.Sprint(k))
	}
	i, ok := parseIndex(w)
	if !ok {
		return 0, 0, v, nil, t.wrong(form, quote(w))
	}
	if i < 1 || i > m.rows {
		return 0, 0, v, nil, t.wrong(fmt.Sprintf("a row from 1 to %d", m.rows), quote(w))
	}
	t.blanks()
	if w = t.token('\n'); len(w) == 0 {
		return 0, 0, v, nil, t.wrong(form, t.here())
	}
	if j, ok = parseIndex(w); !ok {
		return 0, 0, v, nil, t.wrong(form, quote(w))
	}
	if j < 1 || j > m.cols {
		return 0, 0, v, nil, t.wrong(fmt.Sprintf("a column from 1 to %d", m.cols), quote(w))
	}
	if m.pattern {
		return i, j, num{i: 1}, w, nil
	}
	t.blanks()
	if w = t.token('\n'); len(w) == 0 {
		return 0, 0, v, nil, t.wrong(form, t.here())
	}
	v, err = m.value(w, form)
	return i, j, v, w, err
}

// value reads a value that begins with the word w, in an entry of the given form.
func (m *mtx) value(w []byte, form string) (num, error) {
	v, ok := parseReal(m.elem.Part(), w)
	if !ok {
		return v, m.t.wrong("a number", quote(w))
	}
	if !m.complex {
		return v, nil
	}
	m.t.blanks()
	if w = m.t.token('\n'); len(w) == 0 {
		return v, m.t.wrong(form, m.t.here())
	}
	im, ok := parseReal(m.elem.Part(), w)
	if !ok {
		return v, m.t.wrong("a number", quote(w))
	}
	return num{form: complexNum, f: v.float(), im: im.float()}, nil
}

// entries returns how many entries a file in coordinate form has, or 0 if that is not known: no more than
// its bytes are enough for, whatever it says.
func (m *mtx) entries() int64 {
	const line = 4 // the bytes of "1 1\n"
	n := min(int64(m.nnz), m.size/line)
	if m.symmetric || m.skew {
		n *= 2 // one entry on each side of the diagonal
	}
	return n
}

// mirrored returns the value of an entry on the other side of the diagonal of a symmetric
// matrix.
func (m *mtx) mirrored(v num) num {
	if m.hermitian {
		return v.conjugate()
	}
	return v
}

// describe writes the value at fault; with a pattern or a sum it is no word.
func (m *mtx) describe(c cells, v num, w []byte) string {
	switch {
	case m.pattern:
		return "too many equal entries"
	case c.holds(v) && (!m.skew || c.holds(v.negate())):
		return "entries of one place that add up to more"
	}
	return quote(w)
}

// columns reads an array column by column. A symmetric matrix has only the part of each
// column from the diagonal down.
func (m *mtx) columns(c cells) error {
	t := m.t
	if m.rows == 0 { // there may be any number of columns
		return nil
	}
	if m.skew {
		c.zero()
	}
	for j := range m.cols {
		from := 0
		if m.symmetric {
			from = j
		} else if m.skew {
			from = j + 1
		}
		for i := from; i < m.rows; i++ {
			m.between()
			w := t.token('\n')
			if len(w) == 0 {
				return t.wrong(fmt.Sprintf("the element of row %d, column %d", i+1, j+1), t.here())
			}
			v, err := m.value(w, "an element `real imaginary`")
			if err != nil {
				return err
			}
			ok := c.set(i, j, v)
			if ok && i != j && m.symmetric {
				ok = c.set(j, i, m.mirrored(v))
			} else if ok && m.skew {
				ok = c.set(j, i, v.negate())
			}
			if !ok {
				return t.wrong(holds(m.elem), quote(w))
			}
			if err := m.lineEnd("one element"); err != nil {
				return err
			}
		}
	}
	return nil
}
