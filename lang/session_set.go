package lang

// What a prompt changes of a session while it goes on.

import "errors"

// SetElide says from how many elements on a vector or a list that an entry gives as its
// value, or Show gives whole, is shown by its ends; matrices in proportion. 0 means as print does,
// which it does not change.
func (s *Session) SetElide(n int) {
	s.elide = max(0, n)
	if s.m != nil {
		s.m.SetElide(s.elide)
	}
}

// SetDigits is [Digits] from now on.
func (s *Session) SetDigits(n int) {
	s.opts = append(s.opts[:len(s.opts):len(s.opts)], Digits(n)) // for Reset
	if s.m != nil {
		s.m.SetDigits(n)
	}
}

// SetDeterministic switches [Deterministic] for what is inserted from now on. The session
// must have no data; its tasks are waited for: failures that no entry has reported are the
// error, and nothing is switched then. Numbers of tasks, and Stats, begin anew.
func (s *Session) SetDeterministic(on bool) error {
	if err := s.between("SetDeterministic"); err != nil {
		return err
	}
	switch {
	case s.closed:
		return errors.New("lang: the session is closed")
	case s.err != nil:
		return s.err
	}
	if err := s.m.SetDeterministic(on); err != nil {
		return err
	}
	s.opts = append(s.opts[:len(s.opts):len(s.opts)], func(c *runConfig) { c.Deterministic = on }) // for Reset
	return nil
}
