package format

// The header of a .npy file is a dictionary as Python writes it: three keys in any
// order, strings in either quotes, a comma behind the last entry or none. npyio goes
// by the order and the commas that NumPy itself writes; this goes by the format.

import (
	"bytes"
	"fmt"
	"strconv"
)

// npyDescription is what a header says.
type npyDescription struct {
	Type    string
	Fortran bool
	Shape   []int
}

// maxRank is how many sizes an array of NumPy may have.
const maxRank = 64

// headerText scans a header; at counts from the beginning of text, which begins at
// byte start of the file.
type headerText struct {
	text  []byte
	at    int
	start int
}

// npyDescr reads what head, from the magic number on, says; the dictionary begins at
// byte start.
func npyDescr(head []byte, start int) (npyDescription, error) {
	h := &headerText{text: head[start:], start: start}
	d, err := h.dictionary()
	if err != nil {
		return npyDescription{}, err
	}
	if h.skip(); h.at < len(h.text) {
		return npyDescription{}, h.wrong("nothing but blanks behind the header")
	}
	return d, nil
}

func (h *headerText) dictionary() (d npyDescription, err error) {
	if !h.take('{') {
		return d, h.incomplete()
	}
	seen := map[string]bool{}
	for !h.take('}') {
		before := h.at
		key, err := h.quoted("a key in quotes")
		if err != nil {
			return d, err
		}
		if seen[key] {
			h.at = before
			return d, h.wrong("each key once")
		}
		seen[key] = true
		if !h.take(':') {
			return d, h.wrong("`:` behind the key")
		}
		switch key {
		case "descr":
			d.Type, err = h.quoted("one type for all elements, such as '<f8'")
		case "fortran_order":
			d.Fortran, err = h.truth()
		case "shape":
			d.Shape, err = h.sizes()
		default:
			h.at = before
			err = h.wrong("the keys 'descr', 'fortran_order' and 'shape'")
		}
		if err != nil {
			return d, err
		}
		if !h.take(',') && h.peek() != '}' {
			return d, h.wrong("`,` or `}`")
		}
	}
	if len(seen) != 3 {
		return d, h.incomplete()
	}
	return d, nil
}

// quoted reads a string without escapes: neither keys nor types of elements need any.
func (h *headerText) quoted(want string) (string, error) {
	q := h.peek()
	if q != '\'' && q != '"' {
		return "", h.wrong(want)
	}
	n := bytes.IndexByte(h.text[h.at+1:], q)
	if n < 0 || bytes.ContainsAny(h.text[h.at+1:h.at+1+n], "\\\n") {
		return "", h.wrong(want)
	}
	s := string(h.text[h.at+1 : h.at+1+n])
	h.at += n + 2
	return s, nil
}

func (h *headerText) truth() (bool, error) {
	h.skip()
	switch {
	case h.word("True"):
		return true, nil
	case h.word("False"):
		return false, nil
	}
	return false, h.wrong("True or False")
}

func (h *headerText) word(w string) bool {
	if !bytes.HasPrefix(h.text[h.at:], []byte(w)) {
		return false
	}
	h.at += len(w)
	return true
}

// sizes reads "()", "(3,)", "(2, 3)" or "(2, 3,)". "(3)" is no tuple in Python.
func (h *headerText) sizes() ([]int, error) {
	before := h.at
	if !h.take('(') {
		return nil, h.wrong("sizes such as (2, 3)")
	}
	dims, comma := []int{}, true
	for !h.take(')') {
		if len(dims) == maxRank {
			return nil, h.wrong(fmt.Sprintf("at most %d sizes", maxRank))
		}
		if !comma {
			return nil, h.wrong("`,` or `)`")
		}
		n, err := h.integer()
		if err != nil {
			return nil, err
		}
		dims = append(dims, n)
		comma = h.take(',')
	}
	if len(dims) == 1 && !comma {
		h.at = before
		return nil, h.wrong("sizes such as (3,), with a comma when there is one")
	}
	return dims, nil
}

// integer reads a whole number; behind one of Python 2 there may be an L. Numbers
// below 0 are refused with the whole shape, so that the message shows all of it.
func (h *headerText) integer() (int, error) {
	h.skip()
	end := h.at
	if end < len(h.text) && h.text[end] == '-' {
		end++
	}
	digits := end
	for end < len(h.text) && '0' <= h.text[end] && h.text[end] <= '9' {
		end++
	}
	if end == digits {
		return 0, h.wrong("a size, a whole number")
	}
	n, err := strconv.Atoi(string(h.text[h.at:end]))
	if err != nil {
		return 0, h.wrong("data that memory can hold")
	}
	if end < len(h.text) && h.text[end] == 'L' {
		end++
	}
	h.at = end
	return n, nil
}

// peek returns the next byte that is no blank; 0 at the end.
func (h *headerText) peek() byte {
	if h.skip(); h.at < len(h.text) {
		return h.text[h.at]
	}
	return 0
}

func (h *headerText) take(c byte) bool {
	if h.peek() != c {
		return false
	}
	h.at++
	return true
}

func (h *headerText) skip() {
	for h.at < len(h.text) && bytes.IndexByte([]byte(" \t\r\n"), h.text[h.at]) >= 0 {
		h.at++
	}
}

// wrong reports that what comes next is not what is wanted.
func (h *headerText) wrong(want string) error {
	h.skip()
	got := "the end of the header"
	if rest := bytes.TrimSpace(h.text[h.at:]); len(rest) > 0 {
		got = quote(rest)
	}
	return &Error{At: true, Byte: int64(h.start + h.at), Want: want, Got: got}
}

// incomplete reports that the whole is not such a dictionary, or lacks a key.
func (h *headerText) incomplete() error {
	return &Error{At: true, Byte: int64(h.start), Want: "a header {'descr': …, 'fortran_order': …, 'shape': …}", Got: quote(bytes.TrimSpace(h.text))}
}
