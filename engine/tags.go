package engine

// Tags: names for points in a graph that is built in any order.

import (
	"context"
	"fmt"
	"slices"

	"github.com/starpush/starpush/datamgr"
)

// NewTag makes a tag. The name is for messages.
func (j *Job) NewTag(name string) *Tag {
	t := &Tag{job: j, name: name, signal: make(chan struct{}), opened: true}
	t.starts = waitlist{job: j, tag: t, starts: true}
	t.waits = waitlist{job: j, tag: t}
	return t
}

// Name returns the name.
func (t *Tag) Name() string { return t.name }

func (t *Tag) errorf(format string, args ...any) *TagError {
	return &TagError{Tag: t, Message: fmt.Sprintf("tag %q ", t.name) + fmt.Sprintf(format, args...)}
}

// errNilTag returns the error of a call without a tag.
func errNilTag() error {
	return &TagError{Message: "the tag is nil; make one with Job.NewTag"}
}

// check reports that t is no tag of rt, if so.
func (t *Tag) check(_ datamgr.Submission, rt *Runtime) error {
	switch {
	case t == nil:
		return errNilTag()
	case t.job.rt != rt:
		return t.errorf("belongs to another runtime")
	case t.removed:
		return t.errorf("was removed; make a new one")
	}
	return nil
}

// DependsOn makes tasks that carry t wait until each of tags was notified. A
// tag that is notified already counts. Errors, after which nothing has changed:
// a *TagError when t depends on itself, or when a task that carries t was
// submitted before. A longer circle is no error: a notification by the program
// can start it. Until then, waits say that they are stuck in it.
func (t *Tag) DependsOn(tags ...*Tag) error {
	if t == nil {
		return errNilTag()
	}
	rt := t.job.rt
	sub := rt.reg.Lock()
	defer sub.Unlock()
	for _, d := range append([]*Tag{t}, tags...) {
		if err := d.check(sub, rt); err != nil {
			return err
		}
	}
	switch {
	case slices.Contains(tags, t):
		return t.errorf("cannot depend on itself: its tasks would never start")
	case t.carriers > 0:
		return t.errorf("is carried by a task that was submitted already; declare what a tag depends on before")
	}
	for _, d := range tags {
		if slices.ContainsFunc(t.before, func(e *tagEdge) bool { return e.from == d }) {
			continue
		}
		e := &tagEdge{from: d, to: t}
		if d.done {
			e.tokens, e.lost = 1, d.lost
		}
		t.before = append(t.before, e)
		d.behind = append(d.behind, e)
	}
	t.opened = len(t.before) == 0
	t.open(sub, nil) // no task waits for it yet
	return nil
}

// open opens t as often as all that it depends on was notified: its tasks start.
func (t *Tag) open(sub datamgr.Submission, h *releaser) {
	for len(t.before) > 0 && !slices.ContainsFunc(t.before, func(e *tagEdge) bool { return e.tokens == 0 }) {
		t.openLost = nil
		for _, e := range t.before {
			e.tokens--
			if e.lost != nil {
				t.openLost = e.lost
			}
		}
		t.opened = true
		if len(t.starts.waiting) == 0 {
			t.credit++
			continue
		}
		if t.openLost != nil {
			t.starts.lose(sub, t.openLost)
		}
		t.starts.empty(sub, h)
	}
}

// notify is one notification.
func (t *Tag) notify(sub datamgr.Submission, h *releaser, lost *failure) {
	if t.done {
		return
	}
	t.done, t.lost = true, lost
	close(t.signal)
	if lost != nil {
		t.waits.lose(sub, lost)
	}
	t.waits.empty(sub, h)
	for _, e := range t.behind {
		e.tokens++
		e.lost = lost
		e.to.open(sub, h)
	}
}

// restart makes the next notification count.
func (t *Tag) restart(_ datamgr.Submission) {
	if t.done {
		t.done, t.lost, t.signal = false, nil, make(chan struct{})
	}
}

// Notify says that the event has come. Only the first time counts, until the
// tag is restarted. In a Sequential runtime the tasks that become ready run
// inside Notify.
func (t *Tag) Notify() error {
	return t.change(func(sub datamgr.Submission, h *releaser) error { t.notify(sub, h, nil); return nil })
}

// NotifyRestart is Notify and Restart at once, also while tasks carry the tag:
// it starts a circle of repeating tasks.
func (t *Tag) NotifyRestart() error {
	return t.change(func(sub datamgr.Submission, h *releaser) error {
		t.notify(sub, h, nil)
		t.restart(sub)
		return nil
	})
}

// Restart makes the tag as if it had not been notified, for those that wait for
// it from now on, and makes its next tasks wait again for what it depends on,
// as far as that was restarted before. It is a *TagError while a task that
// carries the tag has not ended.
func (t *Tag) Restart() error {
	return t.change(func(sub datamgr.Submission, h *releaser) error {
		if t.carriers > 0 {
			return t.errorf("is carried by a task that has not ended; wait for that first")
		}
		t.restart(sub)
		t.opened, t.credit = len(t.before) == 0, 0
		for _, e := range t.before {
			if e.tokens == 0 && e.from.done {
				e.tokens, e.lost = 1, e.from.lost
			}
		}
		t.open(sub, h)
		return nil
	})
}

// Remove forgets the tag; tags that depended on it do so no longer, and using it again
// is a *TagError. So is Remove while the tag is in use: carried by a task that has not
// ended, waited for and not notified, or named by a repeating task that has not ended. A
// prepared task does not use a tag before its Submit.
func (t *Tag) Remove() error {
	return t.change(func(sub datamgr.Submission, h *releaser) error {
		switch {
		case t.carriers > 0:
			return t.errorf("is carried by a task that has not ended; wait for that first")
		case len(t.waits.waiting) > 0:
			return t.errorf("is waited for by a task; notify it first")
		case t.repeats > 0:
			return t.errorf("is named by a repeating task that has not ended; stop that and wait for it first")
		case !t.done && len(t.behind) > 0:
			return t.errorf("was not notified, and tag %q depends on it; remove that first", t.behind[0].to.name)
		}
		for _, e := range t.before {
			e.from.behind = slices.DeleteFunc(e.from.behind, func(o *tagEdge) bool { return o == e })
		}
		for _, e := range t.behind {
			e.to.before = slices.DeleteFunc(e.to.before, func(o *tagEdge) bool { return o == e })
			if len(e.to.before) == 0 {
				e.to.opened = true
				e.to.starts.empty(sub, h)
			} else {
				e.to.open(sub, h)
			}
		}
		t.before, t.behind, t.removed = nil, nil, true
		return nil
	})
}

// change calls fn under the submission lock, with a releaser for what it releases.
func (t *Tag) change(fn func(sub datamgr.Submission, h *releaser) error) error {
	if t == nil {
		return errNilTag()
	}
	rt := t.job.rt
	h := rt.borrowReleaser()
	sub := rt.reg.Lock()
	err := t.check(sub, rt)
	if err == nil {
		err = fn(sub, h)
	}
	sub.Unlock()
	rt.returnReleaser(h)
	return err
}

// Notified reports whether the tag was notified since it was restarted.
func (t *Tag) Notified() bool {
	sub := t.job.rt.reg.Lock()
	defer sub.Unlock()
	return t.done
}

// Wait returns when the tag is notified. It returns a *TagError if no submitted task
// carries the tag, or if the last such task was stopped (Task.Stop) before it ran again.
// Other errors are those of Job.Wait.
func (t *Tag) Wait(ctx context.Context) error {
	if t == nil {
		return errNilTag()
	}
	return t.job.WaitTags(ctx, t)
}

// WaitTags is Wait for several tags.
func (j *Job) WaitTags(ctx context.Context, tags ...*Tag) error {
	rt := j.rt
	var signals []chan struct{}
	sub := rt.reg.Lock()
	for _, t := range tags {
		if err := t.waitable(sub, rt); err != nil {
			sub.Unlock()
			return err
		}
		signals = append(signals, t.signal)
	}
	sub.Unlock()
	for i, s := range signals {
		t := tags[i]
		var never error // the last round of a task that carries it may be one that does not run
		if err := j.await(ctx, s, func(sub datamgr.Submission) bool {
			if s == t.signal {
				never = t.waitable(sub, rt)
			}
			return never != nil
		}, func(u *task) bool { sp := u.special(); return sp != nil && sp.Tag == t }); err != nil {
			return err
		}
		if never != nil {
			return never
		}
	}
	return nil
}

// waitable returns a *TagError if no task is going to notify t.
func (t *Tag) waitable(sub datamgr.Submission, rt *Runtime) error {
	if err := t.check(sub, rt); err != nil {
		return err
	}
	if !t.done && t.carriers == 0 {
		return t.errorf("is waited for, and no task carries it; submit one that does, or notify the tag")
	}
	return nil
}

// addSuccessor makes u wait for the notification of t.
func (t *Tag) addSuccessor(sub datamgr.Submission, u *task) bool {
	if t.done {
		if t.lost != nil {
			u.x.lost.Store(t.lost)
		}
		return false
	}
	t.waits.add(sub, u)
	return true
}

// carry makes u, which carries t, wait until t is open; it reports whether it
// has to.
func (t *Tag) carry(sub datamgr.Submission, u *task, repeats bool) bool {
	t.carriers++
	switch {
	case len(t.before) == 0:
		return false
	case repeats && t.credit > 0:
		t.credit--
	case repeats || !t.opened:
		t.starts.add(sub, u)
		return true
	}
	if t.openLost != nil {
		u.x.lost.Store(t.openLost)
	}
	return false
}

// uncarry says that a task that carries t has ended, and notified it.
func (t *Tag) uncarry(_ datamgr.Submission) { t.carriers-- }

// keepTags keeps the tags that a repeating task names from being removed between its
// rounds, with n of 1, or no longer, with -1.
func (sp *taskOptions) keepTags(_ datamgr.Submission, n int) {
	if sp.Tag != nil {
		sp.Tag.repeats += n
	}
	for _, d := range sp.spec.After {
		if t, ok := d.(*Tag); ok {
			t.repeats += n
		}
	}
}

// Gates: events that the program fires and tasks wait for.

// NewGate makes a closed gate.
func (j *Job) NewGate() *Gate {
	g := &Gate{job: j}
	g.list = waitlist{job: j, gate: g}
	return g
}

// Open fires the gate: tasks that wait for it, and later ones that name it, go
// on. Opening it again does nothing. In a Sequential runtime the tasks that
// become ready run inside Open.
func (g *Gate) Open() {
	rt := g.job.rt
	h := rt.borrowReleaser()
	sub := rt.reg.Lock()
	if !g.open {
		g.open = true
		g.list.empty(sub, h)
	}
	sub.Unlock()
	rt.returnReleaser(h)
}

// Opened reports whether the gate was opened.
func (g *Gate) Opened() bool {
	rt := g.job.rt
	sub := rt.reg.Lock()
	defer sub.Unlock()
	return g.open
}

// addSuccessor makes t wait for g.
func (g *Gate) addSuccessor(sub datamgr.Submission, t *task) bool {
	if g.open {
		return false
	}
	g.list.add(sub, t)
	return true
}
