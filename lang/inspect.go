package lang

// What a prompt asks a session about without running anything.

import (
	"errors"

	"github.com/starpush/starpush/lang/diag"
	"github.com/starpush/starpush/lang/interp"
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

// Presence is what a memory node has of some data: Valid, Arriving and Allocated
// are bytes, Parts counts what is valid there of a view.
type Presence = interp.Presence

// Where says where the bytes of a handle or view of the session are now, node by
// node, and in how many parts the view, or the default view of the handle, has cut
// it; 0: there is none.
func (s *Session) Where(name string) (nodes []Presence, parts int, err error) {
	if s.m == nil {
		return nil, 0, s.err
	}
	if s.closed {
		return nil, 0, errors.New("lang: the session is closed")
	}
	return s.m.Where(name)
}
