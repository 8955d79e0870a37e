package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Local returns the ends of n ranks that are in one process: for tests of programs, without MPI. Messages are
// copied.
func Local(n int) []Comm {
	net := &network{queues: map[route]*queue{}}
	all := make([]Comm, n)
	for r := range all {
		all[r] = &local{net: net, rank: r, size: n}
	}
	return all
}

type route struct{ from, to, tag int }

type network struct {
	mu     sync.Mutex
	queues map[route]*queue
	others []*network // those of Dup, in the order of its calls
}

// queue has messages that were not received, or receives that got none yet.
type queue struct {
	sent     []parcel
	receives []receipt
}

// parcel is a message that was sent.
type parcel struct {
	data  []byte
	taken func(error) // called once a receive has it; nil: the sender does not wait for that
}

type receipt struct {
	into []byte
	done func(int, error)
}

type local struct {
	net        *network
	rank, size int
	dups       int // calls of Dup
}

// Dup implements Duplicator.
func (l *local) Dup(context.Context) (Comm, error) {
	l.net.mu.Lock()
	defer l.net.mu.Unlock()
	if l.dups == len(l.net.others) {
		l.net.others = append(l.net.others, &network{queues: map[route]*queue{}})
	}
	l.dups++
	return &local{net: l.net.others[l.dups-1], rank: l.rank, size: l.size}, nil
}

func (l *local) Rank() int { return l.rank }
func (l *local) Size() int { return l.size }

func (l *local) Send(to, tag int, data []byte, done func(error)) {
	if err := l.check(to, tag); err != nil {
		done(err)
		return
	}
	r := l.net.pass(route{l.rank, to, tag}, parcel{data: copyOf(data)}, nil)
	done(nil)
	r.end()
}

func (l *local) Ssend(to, tag int, data []byte, done func(error)) {
	if err := l.check(to, tag); err != nil {
		done(err)
		return
	}
	l.net.pass(route{l.rank, to, tag}, parcel{copyOf(data), done}, nil).end()
}

// check returns an error if there is no such rank or tag.
func (l *local) check(to, tag int) error {
	if to < 0 || to >= l.size || tag < 0 || tag > MaxTag {
		return fmt.Errorf("cluster: no message to rank %d with tag %d is possible", to, tag)
	}
	return nil
}

// copyOf returns a copy that is not nil.
func copyOf(data []byte) []byte { return append(make([]byte, 0, len(data)), data...) }

func (l *local) Recv(from, tag int, into []byte, done func(int, error)) {
	l.net.pass(route{from, l.rank, tag}, parcel{}, &receipt{into, done}).end()
}

// delivery is a message and its receipt, or nothing yet.
type delivery struct {
	parcel
	to *receipt
}

// pass adds a message, or with to a receipt, and returns a pair of them if there is one now.
func (n *network) pass(at route, message parcel, to *receipt) (d delivery) {
	n.mu.Lock()
	defer n.mu.Unlock()
	q := n.queues[at]
	if q == nil {
		q = &queue{}
		n.queues[at] = q
	}
	if to == nil {
		q.sent = append(q.sent, message)
	} else {
		q.receives = append(q.receives, *to)
	}
	if len(q.sent) > 0 && len(q.receives) > 0 {
		d = delivery{q.sent[0], &q.receives[0]}
		q.sent, q.receives = q.sent[1:], q.receives[1:]
	}
	if len(q.sent) == 0 && len(q.receives) == 0 {
		delete(n.queues, at)
	}
	return d
}

func (d delivery) end() {
	if d.to == nil {
		return
	}
	if d.taken != nil {
		d.taken(nil)
	}
	if len(d.data) > len(d.to.into) {
		d.to.done(0, errors.New("cluster: the message is longer than the memory for it"))
		return
	}
	d.to.done(copy(d.to.into, d.data), nil)
}
