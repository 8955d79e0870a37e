package format

// Numbers in columns: a line is a row, all rows are of one length. Fields are separated by
// commas, by semicolons or by tabs, as the first line shows, and may be in double quotes.
// The first line may have the titles of the columns. Blanks around fields, empty lines,
// a byte order mark and CR LF are accepted; comments are not.

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/starpush/starpush/datamgr/iface"
)

// csvFile reads rows.
type csvFile struct {
	t       *text
	sep     byte
	want    *Want
	elems   list
	titles  []string // of the columns; nil: the file has none
	cols    int      // fields of a row
	chosen  []int    // the columns that are read, in the order of the elements; nil: all
	at      []int    // where column i goes, from 1; 0: nowhere; nil: all are read
	row     []num    // the chosen numbers
	scratch []byte   // of a quoted field
}

func openCsv(in *Input) error {
	c := &csvFile{t: newText(in.file), want: &in.want, elems: newList(in.want.Elem)}
	t := c.t
	if b, ok := t.peek(); ok && b == 0xEF { // a byte order mark
		if w := t.token(','); len(w) >= 3 && w[1] == 0xBB && w[2] == 0xBF {
			t.pos += 3 - len(w) // back to what follows it
		} else {
			return t.wrong("a number", quote(w))
		}
	}
	for t.blanks(); t.newline(); t.blanks() {
	}
	line, whole := t.ahead()
	c.sep = separator(line)
	rows, width := 0, 0
	if len(line) > 0 {
		if err := c.first(line, whole); err != nil {
			return err
		}
		if in.part != "" && !whole {
			return t.wrong(fmt.Sprintf("a first line of at most %d bytes, where columns are chosen", len(t.buf)), "a longer one")
		}
		columns, err := chosenColumns(in.part, c.titles, c.cols)
		if err != nil {
			return &Error{Line: t.line, Want: err.Want, Got: err.Got}
		}
		if width = c.cols; in.part != "" {
			c.choose(columns)
			width = len(columns)
		}
		if c.titles != nil {
			t.pos += len(line)
			t.line += bytes.Count(line, []byte("\n"))
			t.newline()
		}
	} else if in.part != "" && t.failed() == nil {
		return &Error{Want: "the columns " + in.part, Got: "an empty file"}
	}
	for {
		c.blanks()
		if t.newline() {
			continue
		}
		if _, ok := t.peek(); !ok {
			break
		}
		n, err := c.numbers()
		if err != nil {
			return err
		}
		if rows == 0 && c.cols == 0 {
			c.cols, width = n, n
		}
		if n != c.cols {
			t.line-- // the row ended there
			if c.titles != nil {
				return t.wrong(fmt.Sprintf("%d fields in a row, as there are titles", c.cols), fmt.Sprint(n))
			}
			return t.wrong(fmt.Sprintf("%d numbers in a row, as in the first", c.cols), fmt.Sprint(n))
		}
		rows++
	}
	if err := t.failed(); err != nil {
		return err
	}
	if rows == 0 && in.want.Kind == iface.Matrix && in.want.Dims != nil && c.titles == nil {
		width = in.want.Dims[1] // an empty file fits any matrix without rows
	}
	if e := in.shape(rows, width); e != nil {
		// A file without rows is an empty vector, too.
		if rows > 0 || in.want.Kind != iface.Vector || in.shape(0) != nil {
			return e
		}
	}
	in.fill = func(b *iface.Buffer) error { c.elems.copyTo(b); return nil }
	return nil
}

// separator finds what separates the fields of a line: a semicolon, if there is one outside
// quotes, else a comma, else a tab.
func separator(line []byte) byte {
	quoted, tab, comma := false, false, false
	for _, b := range line {
		switch {
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == ';':
			return ';'
		case b == '\t':
			tab = true
		case b == ',':
			comma = true
		}
	}
	if tab && !comma && len(bytes.Fields(line)) > 1 {
		return '\t'
	}
	return ','
}

// nextField takes the first field off a line: without the blanks around it, and without its
// quotes. A field whose quotes do not end is taken as it is.
func nextField(line []byte, sep byte) (field []byte, quoted bool, rest []byte, more bool) {
	blank := " \r"
	if sep != '\t' {
		blank += "\t"
	}
	line = bytes.TrimLeft(line, blank)
	if len(line) > 0 && line[0] == '"' {
		for i := 1; i < len(line); i++ {
			if line[i] != '"' {
				continue
			}
			if i+1 < len(line) && line[i+1] == '"' {
				i++
				continue
			}
			after := bytes.TrimLeft(line[i+1:], blank)
			if len(after) == 0 {
				return bytes.ReplaceAll(line[1:i], []byte(`""`), []byte(`"`)), true, nil, false
			} else if after[0] == sep {
				return bytes.ReplaceAll(line[1:i], []byte(`""`), []byte(`"`)), true, after[1:], true
			}
			break
		}
	}
	end := bytes.IndexByte(line, sep)
	if end < 0 {
		return bytes.TrimRight(line, blank), false, nil, false
	}
	return bytes.TrimRight(line[:end], blank), false, line[end+1:], true
}

// splitTitles reads the names of columns between commas, as they are in the name of
// a file; nil: there are none.
func splitTitles(text string) []string {
	if text == "" {
		return nil
	}
	var titles []string
	for rest, more := []byte(text), true; more; {
		var w []byte
		w, _, rest, more = nextField(rest, ',')
		titles = append(titles, string(w))
	}
	return titles
}

// absent are words for values that are missing, which are no titles.
var absent = map[string]bool{"na": true, "n/a": true, "null": true, "none": true, "nil": true, "missing": true, "true": true, "false": true}

// first looks at the first line: how many fields it has, and whether they are titles. They
// are when one of them begins like a word, and none is a number.
func (c *csvFile) first(line []byte, whole bool) error {
	var number, word []byte
	titles, others := 0, 0
	for rest, more := line, true; more; c.cols++ {
		var w []byte
		var quoted bool
		if w, quoted, rest, more = nextField(rest, c.sep); len(w) == 0 {
			continue
		}
		_, isNumber := parseFor(c.want.Elem, w)
		switch {
		case isNumber && !quoted:
			number = w
		case isNumber:
		case !quoted && (strings.IndexByte("0123456789+-.\"", w[0]) >= 0 || absent[strings.ToLower(string(w))]):
			others++
		default:
			word = w
			titles++
		}
	}
	if titles == 0 {
		if !whole {
			c.cols = 0 // the row will show it
		}
		return nil
	}
	if number != nil {
		return c.t.wrong("titles alone or numbers alone in the first line, with quotes around titles that are numbers", quote(word)+" and "+quote(number))
	}
	if others > 0 {
		return nil // the row shows what is wrong
	}
	if !whole {
		return c.t.wrong(fmt.Sprintf("a line of titles of at most %d bytes", len(c.t.buf)), "a longer one")
	}
	for rest, more := line, true; more; {
		var w []byte
		w, _, rest, more = nextField(rest, c.sep)
		c.titles = append(c.titles, string(w))
	}
	return nil
}

// chosenColumns finds the columns that part names, of a file with the given titles, or with
// none and cols columns: these have numbers from 1.
func chosenColumns(part string, titles []string, cols int) ([]int, *Error) {
	var columns []int
	seen := map[int]bool{}
	for _, name := range splitTitles(part) {
		at := -1
		if titles == nil {
			n, ok := parseIndex([]byte(name))
			if !ok || n < 1 || n > cols {
				return nil, &Error{Want: fmt.Sprintf("a column from 1 to %d, as there is no line of titles", cols), Got: quote([]byte(name))}
			}
			at = n - 1
		}
		for i, t := range titles {
			if t != name {
				continue
			}
			if at >= 0 {
				return nil, &Error{Want: "one column " + quote([]byte(name)), Got: fmt.Sprintf("columns %d and %d", at+1, i+1)}
			}
			at = i
		}
		if at < 0 {
			return nil, &Error{Want: "a column " + quote([]byte(name)), Got: "the columns " + shortList(titles)}
		}
		if seen[at] {
			return nil, &Error{Want: "each column once", Got: quote([]byte(name)) + " twice"}
		}
		seen[at] = true
		columns = append(columns, at)
	}
	return columns, nil
}

// shortList writes names for a message.
func shortList(names []string) string {
	var b strings.Builder
	for i, n := range names {
		if i == 8 {
			fmt.Fprintf(&b, " and %d more", len(names)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quote([]byte(n)))
	}
	return b.String()
}

// choose has only the given columns read.
func (c *csvFile) choose(columns []int) {
	c.chosen = columns
	c.at = make([]int, c.cols)
	for k, i := range columns {
		c.at[i] = k + 1
	}
	c.row = make([]num, len(columns))
}

// blanks skips spaces, and tabs where they separate nothing.
func (c *csvFile) blanks() {
	for {
		b, ok := c.t.peek()
		if !ok || b != ' ' && b != '\r' && (b != '\t' || c.sep == '\t') {
			return
		}
		c.t.pos++
	}
}

// field takes a field, valid until the next call. One that is too long is cut.
func (c *csvFile) field() ([]byte, error) {
	t := c.t
	c.blanks()
	b, ok := t.peek()
	if !ok || b != '"' {
		w := t.until(c.sep)
		n := len(w)
		for n > 0 && (w[n-1] == ' ' || w[n-1] == '\t' || w[n-1] == '\r') {
			n--
		}
		return w[:n], nil
	}
	t.pos++
	c.scratch = c.scratch[:0]
	for line := t.line; ; t.pos++ {
		if b, ok = t.peek(); !ok {
			if err := t.failed(); err != nil {
				return nil, err
			}
			return nil, &Error{Line: line, Want: "a `\"` that ends the field", Got: "the end of the file"}
		}
		if b == '"' {
			t.pos++
			if b, ok = t.peek(); !ok || b != '"' {
				c.blanks()
				return c.scratch, nil
			}
		}
		if b == '\n' {
			t.line++
		}
		if len(c.scratch) <= maxToken {
			c.scratch = append(c.scratch, b)
		}
	}
}

// column names column i, from 0, in messages.
func (c *csvFile) column(i int) string {
	if i < len(c.titles) && c.titles[i] != "" {
		return fmt.Sprintf("column %d (%s)", i+1, shortTitle(c.titles[i]))
	}
	return fmt.Sprintf("column %d", i+1)
}

func shortTitle(s string) string {
	if strings.ContainsAny(s, "\n\r\"()") || len(s) > 30 {
		return quote([]byte(s))
	}
	return s
}

// numbers reads one line and returns how many fields it has.
func (c *csvFile) numbers() (int, error) {
	t := c.t
	for i := 0; ; i++ {
		if c.at == nil || i < len(c.at) && c.at[i] > 0 {
			if err := c.number(i); err != nil {
				return 0, err
			}
		} else if err := c.skip(); err != nil {
			return 0, err
		}
		end := t.newline()
		b, ok := byte('\n'), true
		if !end {
			b, ok = t.peek()
		}
		if !ok {
			t.line++ // as if the last line ended like the others
			end = true
		}
		if end {
			return i + 1, c.pushRow(i + 1)
		}
		if b != c.sep {
			return 0, t.wrong("a comma or the end of the line", t.here())
		}
		t.pos++
	}
}

// number reads a field that is wanted, of column i.
func (c *csvFile) number(i int) error {
	w, err := c.field()
	if err != nil {
		return err
	}
	v, ok := parseFor(c.want.Elem, w)
	switch {
	case len(w) == 0:
		return c.t.wrong("a number in "+c.column(i), "nothing")
	case !ok && c.sep != ',' && bytes.IndexByte(w, ',') >= 0:
		return c.t.wrong("a number with a point, not a comma, in "+c.column(i), quote(w))
	case !ok && bytes.IndexByte(bytes.TrimLeft(w, " "), ' ') > 0 && c.cols == 1:
		return c.t.wrong("a comma or the end of the line behind a number", quote(w))
	case !ok:
		return c.t.wrong("a number in "+c.column(i), quote(w))
	}
	if c.at != nil {
		c.row[c.at[i]-1] = v
		if !c.elems.holds(v) {
			return c.t.wrong(holds(c.want.Elem)+" in "+c.column(i), quote(w))
		}
		return nil
	}
	if !c.elems.push(v) {
		return c.t.wrong(holds(c.want.Elem)+" in "+c.column(i), quote(w))
	}
	return c.full()
}

// skip passes over a field that is not wanted, of any length.
func (c *csvFile) skip() error {
	w, err := c.field()
	for err == nil && len(w) > maxToken {
		w = c.t.until(c.sep)
	}
	return err
}

// pushRow takes the chosen numbers of a row with n fields.
func (c *csvFile) pushRow(n int) error {
	if c.at == nil || n != c.cols {
		return nil
	}
	for _, v := range c.row {
		c.elems.push(v)
	}
	return c.full()
}

func (c *csvFile) full() error {
	if c.want.Most > 0 && c.elems.len() > c.want.Most {
		return ErrMost
	}
	return nil
}
