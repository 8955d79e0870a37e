package format

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Error says what is wrong with a file: where, what was expected and what was
// found. Err holds errors of the file system.
type Error struct {
	File string
	Line int   // in text files, from 1; 0: none
	Byte int64 // in binary files, offset from 0; used when At is set
	At   bool  // Byte means something
	Want string
	Got  string
	Err  error
}

// Error returns one sentence: "a.mtx:12: expected 3 numbers, found 2".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	switch {
	case e.Line > 0:
		fmt.Fprintf(&b, ":%d", e.Line)
	case e.At:
		fmt.Fprintf(&b, ", byte %d", e.Byte)
	}
	b.WriteString(": ")
	if e.Want != "" {
		fmt.Fprintf(&b, "expected %s, found %s", e.Want, e.Got)
		if e.Err != nil {
			b.WriteString(": ")
		}
	}
	if e.Err != nil {
		b.WriteString(e.cause())
	}
	return b.String()
}

// cause words Err. Errors of the file system repeat the operation and the name,
// which the sentence has already.
func (e *Error) cause() string {
	if pe, ok := e.Err.(*fs.PathError); ok {
		return pe.Err.Error()
	}
	return e.Err.Error()
}

// Unwrap returns the error of the file system, if that is what went wrong.
func (e *Error) Unwrap() error { return e.Err }

func badSuffix(name string) error {
	return &Error{File: name, Want: "a name that ends in " + strings.Join(Suffixes[:len(Suffixes)-1], ", ") + " or " + Suffixes[len(Suffixes)-1], Got: quote([]byte(name))}
}

// cannotHold is the error of data that the format of a file cannot hold; see Refusal.
func cannotHold(name, why, instead string) error {
	return &Error{File: name, Err: errors.New(why + "; " + instead)}
}

// quote writes a piece of a file for a message, shortened.
func quote(p []byte) string {
	const most = 40
	if len(p) > most {
		return fmt.Sprintf("%q…", p[:most])
	}
	return fmt.Sprintf("%q", p)
}
