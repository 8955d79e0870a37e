package cluster

import (
	"encoding/binary"
	"fmt"

	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
)

// Values of Go types on several ranks. A value travels as the bytes that its Pack returns, and the receiver makes one of its own of them by Unpack.
// The receiver does not know how many bytes come: the first message has their number and as many as fit, and a second one has all if they do not.
// An empty message means failure, as it does for arrays.

// packedFirst is how many bytes of a packed value fit into its first message, behind their number.
const packedFirst = 8 << 10

// packedMost is more bytes than any value has. A larger number is none, but the elements of other data.
const packedMost = 1 << 40

// objectOf returns how the values of h are handled, nil if they are not of a Go type.
func objectOf(h *datamgr.Handle) *datamgr.Object { return datamgr.Managed{Handle: h}.Object() }

// sendValue is send for a value of a Go type.
func (j *Job) sendValue(h *datamgr.Handle, to int) error {
	tag, ssend := j.sendTag(to), j.ssend
	j.figures.count(j.rank, to, 0)
	j.transfers.Add(1)
	err := j.job.AcquireFuncWith(h, iface.R, engine.AcquireOptions{Relay: true}, func(a *engine.Access, err error) {
		defer j.transfers.Done()
		if err != nil {
			j.sendNow(nil, to, tag)
			j.sendNow(j.pack(err), to, tag)
			return
		}
		b, err := datamgr.Managed{Handle: h}.PackObject(a.Buffer())
		if !ssend {
			_ = a.Release()
		}
		if err != nil {
			_ = j.fail(valueError("sent", h, err))
			return
		}
		j.figures.addBytes(j.rank, to, int64(len(b)))
		first := binary.LittleEndian.AppendUint64(nil, uint64(len(b)))
		if len(b) <= packedFirst {
			j.awaitSend(j.startSend(append(first, b...), to, tag, ssend))
			return
		}
		j.sendNow(first, to, tag)
		j.awaitSend(j.startSend(b, to, tag, ssend))
	})
	if err != nil {
		j.transfers.Done()
	}
	return err
}

// receiveValue is receive for a value of a Go type.
func (j *Job) receiveValue(h *datamgr.Handle, from int) error {
	tag := nextTag(&j.gotFrom[from])
	j.figures.count(from, j.rank, 0)
	j.transfers.Add(1)
	err := j.job.AcquireFuncWith(h, iface.W, engine.AcquireOptions{Overwrites: true}, func(a *engine.Access, err error) {
		defer j.transfers.Done()
		b, failed := j.receivePacked(from, tag, err == nil)
		switch {
		case err != nil: // the message was taken all the same
			return
		case failed != nil:
			_ = a.Fail(failed)
			return
		}
		j.figures.addBytes(from, j.rank, int64(len(b)))
		p, err := datamgr.Managed{Handle: h}.UnpackObject(b)
		if err != nil {
			_ = a.Fail(j.fail(valueError("received", h, err)))
			return
		}
		objectOf(h).Assign(a.Buffer().Ptr, p)
	})
	if err != nil {
		j.transfers.Done()
	}
	return err
}

// receivePacked receives the bytes that sendValue sends, or the failure instead. held means that an access waits for them.
func (j *Job) receivePacked(from, tag int, held bool) ([]byte, error) {
	b := make([]byte, 8+packedFirst)
	j.watch.receives(from, tag, held)
	n, err := j.receiveNow(b, from, tag)
	j.watch.received(from, tag, held)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, j.receiveFailure(from, tag)
	}
	all := binary.LittleEndian.Uint64(b)
	switch {
	case n >= 8 && all == uint64(n-8):
		return b[8:n], nil
	case n != 8 || all <= packedFirst || all > packedMost:
		return nil, j.fail(fmt.Errorf("cluster: rank %d sent %d bytes that are no value; the ranks do not run the same program", from, n))
	}
	b = make([]byte, all)
	if n, err = j.receiveNow(b, from, tag); err == nil && n != len(b) {
		err = j.fail(fmt.Errorf("cluster: rank %d sent %d bytes of a value of %d; the ranks do not run the same program", from, n, len(b)))
	}
	return b, err
}

// receiveFailure receives and returns the failure behind an empty message.
func (j *Job) receiveFailure(from, tag int) error {
	packed := make([]byte, maxFailure)
	n, err := j.receiveNow(packed, from, tag)
	if err != nil {
		return err
	}
	return j.unpack(packed[:n], from)
}

// valueError returns what ends a job whose ranks cannot have the same value: done is what cannot be done with it.
func valueError(done string, h *datamgr.Handle, err error) error {
	return fmt.Errorf("cluster: a value of %v cannot be %s: %w; mend the Pack and Unpack of its Interface, or MarshalBinary and UnmarshalBinary of the type, so that all values can be packed", objectOf(h).Type, done, err)
}
