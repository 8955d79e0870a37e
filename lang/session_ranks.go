package lang

// Sessions on several ranks. The session of rank 0 leads: before it does something that changes names or data, or reads data, it
// sends an order, and the sessions of the other ranks do the same. Orders and their answers have a Comm of their own, so
// they arrive also when the job of the ranks has failed; then all ranks begin another one, with another Comm.

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/starpush/starpush/engine/cluster"
	"github.com/starpush/starpush/lang/interp"
)

// sessionRanks is the part of a session in those of several ranks.
type sessionRanks struct {
	base   cluster.Duplicator
	orders cluster.Comm
	err    error // why no orders can be sent any more
}

// operation is what rank 0 orders.
type operation uint8

const (
	evalOp operation = iota
	loadOp
	waitOp
	resetOp
	deterministicOp
	digitsOp
	elideOp
	showOp
	showPartOp
	planOp
	lostOp
	rejoinOp
	closeOp
)

// order is a call of a method of the session, with its arguments.
type order struct {
	Op        operation
	Name, Src string
	Params    []interp.NamedValue
	On        bool
	Lo, Hi    int
	Spans     [][2]int
}

// answer is what another rank says of an order that it has carried out.
type answer struct {
	Err    string // of the operation; "" for none
	Failed string // why the ranks can do nothing more together; "" if they can
	Lost   []string
}

// Tags of the messages.
const (
	orderTag = iota
	answerTag
)

// ErrFollows is the error of methods of a session of another rank than 0, which does what that one does: see Session.Follow.
var ErrFollows = errors.New("lang: the session of this rank does what that of rank 0 does; call Follow")

// RanksLostError says that an entry left the ranks of a session unable to go on together: it was interrupted, or refused by one of them. The
// data of the session is gone; functions, codelets and other names are there.
type RanksLostError struct {
	Err   error    // of the entry; nil if it had ended on rank 0 already
	Text  string   // why
	Names []string // that held data
}

func (e *RanksLostError) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return e.Text
}

// Unwrap returns Err.
func (e *RanksLostError) Unwrap() error { return e.Err }

// errNoDup is returned for a Comm that makes no others.
var errNoDup = errors.New("lang: a session on several ranks needs messages of its own: Ranks must get a Comm that is a cluster.Duplicator, as those of cluster.OverMPI and cluster.Local are")

// joinRanks makes the session one of several, if cfg has a Comm, and gives cfg the Comm of its job.
func (s *Session) joinRanks(cfg *interp.Config) error {
	if cfg.Ranks == nil {
		return nil
	}
	if cfg.Ranks.Size() == 1 {
		cfg.Ranks = nil
		return nil
	}
	if s.ranks == nil {
		base, ok := cfg.Ranks.(cluster.Duplicator)
		if !ok {
			return errNoDup
		}
		orders, err := base.Dup(context.Background())
		if err != nil {
			return err
		}
		s.ranks = &sessionRanks{base: base, orders: orders}
	}
	end, err := s.ranks.base.Dup(context.Background())
	cfg.Ranks = end
	return err
}

// follows reports whether s is a session of another rank than 0.
func (s *Session) follows() bool { return s.ranks != nil && s.ranks.orders.Rank() > 0 }

// together calls fn, and has all other ranks carry out o, which does the same. With ranks that can do nothing more together
// afterwards it makes them begin anew.
func (s *Session) together(ctx context.Context, o *order, fn func() error) error {
	switch {
	case s.ranks == nil:
		return fn()
	case s.follows():
		return ErrFollows
	case s.ranks.err != nil:
		return s.ranks.err
	case s.err != nil || s.m == nil: // the others have not begun to follow
		return s.err
	case s.closed:
		return errors.New("lang: the session is closed")
	}
	if err := s.ranks.send(o); err != nil {
		return err
	}
	done := make(chan error, 1) // gets what fn returned
	answers := s.ranks.watch(done, s.m.GiveUp)
	err := fn()
	if err != nil && s.m != nil && (ctx.Err() != nil || s.m.RanksErr() != nil) { // the others have no such context, or wait for what this rank has refused
		s.m.GiveUp(err)
	}
	done <- err
	all := <-answers
	switch {
	case s.ranks.err != nil:
		return errors.Join(err, s.ranks.err)
	case o.Op == closeOp:
		return err
	case o.Op == lostOp:
		for _, a := range all {
			s.lostOnRanks = append(s.lostOnRanks, a.Lost...)
		}
		slices.Sort(s.lostOnRanks)
		s.lostOnRanks = slices.Compact(s.lostOnRanks)
	}
	why := s.disagreement(err, all)
	if why == "" {
		return err
	}
	lost := &RanksLostError{Err: err, Text: why}
	if failed := s.ranks.send(&order{Op: rejoinOp, Src: why}); failed != nil {
		return errors.Join(err, failed)
	}
	lost.Names, s.ranks.err = s.rejoin(why)
	for _, a := range s.ranks.await() {
		if a.Failed != "" && s.ranks.err == nil {
			s.ranks.err = errors.New(a.Failed)
		}
	}
	if s.ranks.err != nil {
		return errors.Join(err, s.ranks.err)
	}
	return lost
}

// disagreement says why the ranks cannot go on as they are after an entry that ended with err here, "" if they can.
func (s *Session) disagreement(err error, all []answer) string {
	if s.m == nil { // a Reset that failed
		return s.err.Error()
	}
	if own := s.m.RanksErr(); own != nil {
		return own.Error()
	}
	for i, a := range all {
		switch {
		case a.Failed != "":
			return a.Failed
		case a.Err != "" && err == nil:
			return fmt.Sprintf("rank %d: %s", 1+i, a.Err)
		case a.Err == "" && err != nil:
			return err.Error()
		}
	}
	return ""
}

// rejoin makes this rank begin anew with the others: its data is gone. why is the reason on one of them.
func (s *Session) rejoin(why string) (names []string, err error) {
	if s.m == nil {
		return nil, s.err
	}
	s.m.GiveUp(errors.New(why))
	end, err := s.ranks.base.Dup(context.Background())
	if err != nil {
		return nil, err
	}
	names, ended, err := s.m.Rejoin(end)
	for _, n := range names {
		s.checker.Forget(n)
	}
	s.did.end(ended)
	names = slices.DeleteFunc(names, func(n string) bool { return n == "_" })
	slices.Sort(names)
	return names, err
}

// Follow does what the session of rank 0 does, on another rank, until that one is closed, and closes this one. Other methods that
// change or read data return ErrFollows here. An error means that rank 0 cannot be heard any more; then the program calls Close.
func (s *Session) Follow(ctx context.Context) error {
	if !s.follows() {
		return errors.New("lang: Follow is for sessions with the option Ranks, on other ranks than 0")
	}
	if s.err != nil {
		return s.err
	}
	for {
		o, err := s.ranks.receive(ctx)
		if err == nil {
			err = s.ranks.answer(s.carryOut(o))
		}
		if err != nil { // Close ends the session
			s.ranks.err = err
			return err
		}
		if o.Op == closeOp {
			return nil
		}
	}
}

// carryOut does what rank 0 does.
func (s *Session) carryOut(o *order) (a answer) {
	ctx := context.Background()
	var err error
	switch o.Op {
	case evalOp:
		s.entries++
		_, err = s.eval(ctx, fmt.Sprintf("<entry %d>", s.entries), o.Src)
	case loadOp:
		_, err = s.load(ctx, o.Name, o.Src, o.Params, nil)
	case waitOp:
		err = s.wait(ctx)
	case resetOp:
		err = s.reset(o.On)
	case deterministicOp:
		err = s.setDeterministic(o.On)
	case digitsOp:
		s.setDigits(o.Lo)
	case elideOp:
		s.setElide(o.Lo)
	case showOp:
		_, err = s.m.Show(ctx, o.Name, o.Lo, o.Hi)
	case showPartOp:
		_, err = s.m.ShowPart(ctx, o.Name, o.Spans)
	case planOp:
		_, err = s.planEntry(ctx, o.Src)
	case lostOp:
		a.Lost = s.m.Lost()
	case rejoinOp:
		if _, err := s.rejoin(o.Src); err != nil {
			a.Failed = err.Error()
		}
		return a
	case closeOp:
		s.closed = true
		_ = s.m.Close()
		return a
	}
	if err != nil {
		a.Err = err.Error()
	}
	if s.m == nil {
		a.Failed = s.err.Error()
		return a
	}
	if lost := s.m.RanksErr(); lost != nil {
		a.Failed = lost.Error()
		s.m.GiveUp(lost) // one that has refused a task has not said so
	}
	return a
}

// Messages.

// send sends an order to all ranks.
func (r *sessionRanks) send(o *order) error {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(o); err != nil {
		return fmt.Errorf("lang: this cannot be sent to the other ranks: %w", err)
	}
	for to := 1; to < r.orders.Size(); to++ {
		if err := r.say(to, orderTag, b.Bytes()); err != nil {
			r.err = err
			return err
		}
	}
	return nil
}

// meetTime is how long a rank may take longer than one whose entry has failed, as it does on all.
const meetTime = 3 * time.Second

// watch collects the answers of all ranks to an order, while rank 0 carries it out, too: done gets the error of that. If it fails on one rank, and another
// one still waits for that after meetTime, it calls giveUp.
func (r *sessionRanks) watch(done <-chan error, giveUp func(error)) <-chan []answer {
	out := make(chan []answer, 1)
	go func() {
		answers := make(chan []answer, 1)
		failed := make(chan string, 1)
		go func() { answers <- r.collect(failed) }()
		var late <-chan time.Time
		var why error
		noteFailure := func(err error) {
			if late == nil {
				late, why = time.After(meetTime), err
			}
		}
		var all []answer
		for here, there := true, true; here || there; {
			select {
			case err := <-done:
				if here, done = false, nil; err != nil {
					noteFailure(err)
				}
			case all = <-answers:
				there = false
			case text := <-failed:
				noteFailure(errors.New(text))
			case <-late:
				giveUp(why)
			}
		}
		out <- all
	}()
	return out
}

// await returns the answers of all ranks.
func (r *sessionRanks) await() []answer { return r.collect(nil) }

// collect returns the answers of all ranks, and sends to failed what has failed on one of them, unless that is full.
func (r *sessionRanks) collect(failed chan<- string) []answer {
	all := make([]answer, r.orders.Size()-1)
	errs := make([]error, len(all))
	var group sync.WaitGroup
	for i := range all {
		group.Go(func() {
			b, err := r.hear(context.Background(), 1+i, answerTag)
			if err == nil {
				err = gob.NewDecoder(bytes.NewReader(b)).Decode(&all[i])
			}
			text := all[i].Err
			if errs[i] = err; err != nil {
				text = err.Error()
			}
			if text != "" {
				select {
				case failed <- text:
				default:
				}
			}
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		r.err = err
	}
	return all
}

// receive returns the next order of rank 0.
func (r *sessionRanks) receive(ctx context.Context) (*order, error) {
	b, err := r.hear(ctx, 0, orderTag)
	if err != nil {
		return nil, err
	}
	o := &order{}
	return o, gob.NewDecoder(bytes.NewReader(b)).Decode(o)
}

func (r *sessionRanks) answer(a answer) error {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(a); err != nil {
		return err
	}
	return r.say(0, answerTag, b.Bytes())
}

// say sends bytes: their number, and then the bytes.
func (r *sessionRanks) say(to, tag int, b []byte) error {
	done := make(chan error, 2)
	r.orders.Send(to, tag, binary.LittleEndian.AppendUint64(nil, uint64(len(b))), func(err error) { done <- err })
	r.orders.Send(to, tag, b, func(err error) { done <- err })
	return errors.Join(<-done, <-done)
}

// hear receives what say sends.
func (r *sessionRanks) hear(ctx context.Context, from, tag int) ([]byte, error) {
	size := make([]byte, 8)
	if err := r.receiveInto(ctx, from, tag, size); err != nil {
		return nil, err
	}
	b := make([]byte, binary.LittleEndian.Uint64(size))
	return b, r.receiveInto(ctx, from, tag, b)
}

func (r *sessionRanks) receiveInto(ctx context.Context, from, tag int, b []byte) error {
	done := make(chan error, 1)
	r.orders.Recv(from, tag, b, func(n int, err error) {
		if err == nil && n != len(b) {
			err = fmt.Errorf("lang: rank %d sent %d bytes, and %d were expected", from, n, len(b))
		}
		done <- err
	})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
