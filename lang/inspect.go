package lang

// What a prompt asks a session about without running anything.

import (
	"errors"

	"github.com/starpush/starpush/lang/diag"
)

// TypeOf returns the type of an expression, which is not evaluated.
func (s *Session) TypeOf(src string) (typ string, err error) {
	source := diag.NewSource("<type>", src)
	defer func() {
		if r := recover(); r != nil {
			d := internal(source, r)
			err = &d
		}
	}()
	switch {
	case s.closed:
		return "", errors.New("lang: the session is closed")
	case s.err != nil:
		return "", s.err
	}
	t, ds := s.checker.TypeOf(source)
	switch {
	case ds.Err() != nil:
		return "", ds
	case t == nil:
		return "", errors.New("this is no expression, so it has no type")
	}
	return t.String(), nil
}

// Lost names the data of the session whose value was lost because a task failed
// or was cancelled: "x", or "x[3]" where other parts of x are valid.
func (s *Session) Lost() []string {
	if s.m == nil || s.closed {
		return nil
	}
	return s.m.Lost()
}
