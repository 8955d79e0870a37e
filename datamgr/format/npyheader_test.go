package format

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/starpush/starpush/datamgr/iface"
)

// npyHeaderFile is a file of version 1 with this header and these elements.
func npyHeaderFile(header string, elems any) string {
	var b bytes.Buffer
	b.WriteString("\x93NUMPY\x01\x00")
	binary.Write(&b, binary.LittleEndian, uint16(len(header)))
	b.WriteString(header)
	if elems != nil {
		binary.Write(&b, binary.LittleEndian, elems)
	}
	return b.String()
}

// TestNpyHeader: what the format allows is read, whatever wrote it.
func TestNpyHeader(t *testing.T) {
	six := []float64{1, 2, 3, 4, 5, 6}
	for _, header := range []string{
		"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }\n",
		"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)}\n",
		"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)}", // NumPy does not insist on the newline
		"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3,)}\n",
		"{'descr':'<f8','fortran_order':False,'shape':(2,3)}   \n",
		"{'shape': (2, 3), 'fortran_order': False, 'descr': '<f8'}\n",
		"{'fortran_order': False, 'shape': (2, 3), 'descr': '<f8', }\n",
		`{"descr": "<f8", "fortran_order": False, "shape": (2, 3)}` + "\n",
		" { 'descr' : '<f8' ,\t'fortran_order' : False ,\n 'shape' : ( 2 , 3 ) , }  \n",
		"{'descr': '<f8', 'fortran_order': False, 'shape': (2L, 3L), }\n", // Python 2
	} {
		fsys := newFS("x.npy", npyHeaderFile(header, six))
		loaded(t, fsys, "x.npy", iface.Matrix, iface.F64, six, 2, 3)
	}
	fsys := newFS(
		"v.npy", npyHeaderFile("{'descr': '<f8', 'fortran_order': False, 'shape': (6,)}\n", six),
		"s.npy", npyHeaderFile("{'descr': '<f8', 'fortran_order': False, 'shape': ()}\n", six[:1]),
		"f.npy", npyHeaderFile("{'shape': (2, 3), 'fortran_order': True, 'descr': '<f8'}\n", []float64{1, 4, 2, 5, 3, 6}),
	)
	loaded(t, fsys, "v.npy", iface.Vector, iface.F64, six, 6)
	loaded(t, fsys, "s.npy", iface.Variable, iface.F64, six[:1])
	loaded(t, fsys, "f.npy", iface.Matrix, iface.F64, six, 2, 3)
}

// TestNpyHeaderRefused: what is no such header is refused where it goes wrong.
func TestNpyHeaderRefused(t *testing.T) {
	const start = "{'descr': '<f8', 'fortran_order': False, 'shape': " // 50 bytes behind the 10 of the beginning
	for header, want := range map[string]string{
		"":     `byte 10: expected a header {'descr': …, 'fortran_order': …, 'shape': …}, found ""`,
		"{\n":  "byte 12: expected a key in quotes, found the end of the header",
		"[1]":  `byte 10: expected a header {'descr': …, 'fortran_order': …, 'shape': …}, found "[1]"`,
		"{,}":  `byte 11: expected a key in quotes, found ",}"`,
		"{1:2": `byte 11: expected a key in quotes, found "1:2"`,
		"{'descr': '<f8', 'fortran_order': False}":           `byte 10: expected a header {'descr': …, 'fortran_order': …, 'shape': …}, found "{'descr': '<f8', 'fortran_order': False}"`,
		"{'descr': '<f8', 'descr': '<f8'}":                   `byte 27: expected each key once, found "'descr': '<f8'}"`,
		"{'descr' '<f8'}":                                    "byte 19: expected `:` behind the key, found \"'<f8'}\"",
		"{'descr': '<f8' 'shape': (1,)}":                     "byte 26: expected `,` or `}`, found \"'shape': (1,)}\"",
		"{'descr': '<f8\\x41'}":                              `byte 20: expected one type for all elements, such as '<f8', found "'<f8\\x41'}"`,
		"{'descr': '<f8":                                     `byte 20: expected one type for all elements, such as '<f8', found "'<f8"`,
		"{'descr': [('a', '<f8')]}":                          `byte 20: expected one type for all elements, such as '<f8', found "[('a', '<f8')]}"`,
		"{'fortran_order': 1}":                               `byte 28: expected True or False, found "1}"`,
		"{'fortran_order': Falsehood}":                       "byte 33: expected `,` or `}`, found \"hood}\"",
		start + "6}":                                         `byte 60: expected sizes such as (2, 3), found "6}"`,
		start + "[6]}":                                       `byte 60: expected sizes such as (2, 3), found "[6]}"`,
		start + "(6)}":                                       `byte 60: expected sizes such as (3,), with a comma when there is one, found "(6)}"`,
		start + "(2, (3,))}":                                 `byte 64: expected a size, a whole number, found "(3,))}"`,
		start + "(2 3)}":                                     "byte 63: expected `,` or `)`, found \"3)}\"",
		start + "(,)}":                                       `byte 61: expected a size, a whole number, found ",)}"`,
		start + "(2.5,)}":                                    "byte 62: expected `,` or `)`, found \".5,)}\"",
		start + "(-,)}":                                      `byte 61: expected a size, a whole number, found "-,)}"`,
		start + "(-6,)}":                                     "byte 10: expected sizes of 0 or more, found -6 elements",
		start + "(99999999999999999999,)}":                   `byte 61: expected data that memory can hold, found "99999999999999999999,)}"`,
		start + "(4611686018427387904, 4)}":                  "byte 10: expected data that memory can hold, found size 4611686018427387904 x 4",
		start + "(" + strings.Repeat("1,", maxRank+1) + ")}": `byte 189: expected at most 64 sizes, found "1,)}"`,
		start + "(2, 3":                                      "byte 65: expected `,` or `)`, found the end of the header",
		start + "(6,)} x":                                    `byte 66: expected nothing but blanks behind the header, found "x"`,
		"{'descr': '<f8', 'fortran_order': False, 'shape': (6,), 'names': None}\n": `byte 66: expected the keys 'descr', 'fortran_order' and 'shape', found "'names': None}"`,
	} {
		fsys := newFS("x.npy", npyHeaderFile(header, nil))
		refused(t, fsys, "x.npy", iface.Vector, iface.F64, nil, "x.npy, "+want)
	}
}
