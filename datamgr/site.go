package datamgr

// Where a program did something.

import "fmt"

// Site is a place in a program, such as one insert statement. It is plain data
// that the data manager and the engine carry around and hand back in errors.
// A site is made once, shared by everything done there, and never changed.
type Site struct {
	File      string
	Line, Col int      // from 1; 0 when unknown
	VarNames  []string // names of the values in Origin.Vars
	Data      any      // whatever the owner of the program wants back
}

// String writes the site as "file:line:col"; "" for nil.
func (s *Site) String() string {
	switch {
	case s == nil:
		return ""
	case s.Line == 0:
		return s.File
	case s.Col == 0:
		return fmt.Sprintf("%s:%d", s.File, s.Line)
	}
	return fmt.Sprintf("%s:%d:%d", s.File, s.Line, s.Col)
}
