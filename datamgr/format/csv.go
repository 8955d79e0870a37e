package format

// Comma-separated numbers: a line is a row, all rows are of one length. Blanks
// around numbers, empty lines, a byte order mark and CR LF are accepted;
// quotes, comments and titles are not, as they are no numbers.

import (
	"fmt"

	"github.com/starpush/starpush/datamgr/iface"
)

func openCsv(in *Input) error {
	t := newText(in.file)
	elems := newList(in.want.Elem)
	if c, ok := t.peek(); ok && c == 0xEF { // a byte order mark
		if w := t.token(','); len(w) >= 3 && w[1] == 0xBB && w[2] == 0xBF {
			t.pos += 3 - len(w) // back to what follows it
		} else {
			return t.wrong("a number", quote(w))
		}
	}
	rows, cols := 0, 0
	for {
		t.blanks()
		if t.newline() {
			continue
		}
		if _, ok := t.peek(); !ok {
			break
		}
		n, err := csvRow(t, elems, &in.want)
		if err != nil {
			return err
		}
		if rows > 0 && n != cols {
			t.line-- // the row ended there
			return t.wrong(fmt.Sprintf("%d numbers in a row, as in the first", cols), fmt.Sprint(n))
		}
		rows, cols = rows+1, n
	}
	if err := t.failed(); err != nil {
		return err
	}
	if rows == 0 && in.want.Kind == iface.Matrix && in.want.Dims != nil {
		cols = in.want.Dims[1] // an empty file fits any matrix without rows
	}
	if e := in.shape(rows, cols); e != nil {
		// A file without rows is an empty vector, too.
		if rows > 0 || in.want.Kind != iface.Vector || in.shape(0) != nil {
			return e
		}
	}
	in.fill = func(b *iface.Buffer) error { elems.copyTo(b); return nil }
	return nil
}

// title reports whether w begins like a word or a text in quotes.
func title(w []byte) bool {
	c := w[0] | 0x20
	return c >= 'a' && c <= 'z' || w[0] == '"' || w[0] == '_'
}

// csvRow reads one line and returns how many numbers it has.
func csvRow(t *text, elems list, want *Want) (int, error) {
	for n := 1; ; n++ {
		t.blanks()
		w := t.token(',')
		v, ok := parseFor(want.Elem, w)
		if !ok {
			if len(w) == 0 {
				return 0, t.wrong(fmt.Sprintf("number %d of the row", n), "nothing")
			}
			if n == 1 && t.line == 1 && title(w) {
				return 0, t.wrong("numbers alone, without a line of titles", quote(w))
			}
			return 0, t.wrong(fmt.Sprintf("number %d of the row", n), quote(w))
		}
		if !elems.push(v) {
			return 0, t.wrong(holds(want.Elem), quote(w))
		}
		if want.Most > 0 && elems.len() > want.Most {
			return 0, ErrMost
		}
		t.blanks()
		if t.newline() {
			return n, nil
		}
		c, ok := t.peek()
		if !ok {
			t.line++ // as if the last line ended like the others
			return n, nil
		}
		if c != ',' {
			return 0, t.wrong("a comma or the end of the line", t.here())
		}
		t.pos++
	}
}
