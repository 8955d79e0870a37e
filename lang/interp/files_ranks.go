package interp

// load and save on several ranks.

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/starpush/starpush/accel"
	"github.com/starpush/starpush/datamgr/format"
	"github.com/starpush/starpush/datamgr/iface"
	"github.com/starpush/starpush/engine"
	"github.com/starpush/starpush/lang/diag"
)

// save writes the data of a handle or array.
func (m *Machine) save(v any, name string, at, nameAt position) {
	if m.replays() {
		return
	}
	if m.checkpoints != nil { // what is saved is not read by the script
		m.checkpoints.unlogged++
		defer func() { m.checkpoints.unlogged-- }()
	}
	if m.ranks == nil {
		m.saveHere(v, name, at, nameAt)
		return
	}
	m.saveOnRanks(v, name, at, nameAt)
}

// saveOnRanks is save on all ranks, which end it together.
func (m *Machine) saveOnRanks(v any, name string, at, nameAt position) {
	if m.plan == nil {
		m.readReplaced(name, at)
	}
	if h, ok := v.(*Handle); ok && m.saveTogether(h, name, at, nameAt) {
		return
	}
	if m.plan == nil {
		m.anywhere(false, at) // all have opened what they load before rank 0 replaces it
	}
	m.toRankZero = true
	defer func() { m.toRankZero = false }()
	failed := m.catch(func() {
		if m.ranks.Rank() > 0 && m.plan == nil {
			m.passToRankZero(v, at)
		} else {
			m.saveHere(v, name, at, nameAt)
		}
	})
	said := m.ofRankZero(diagnosticText(failed), nameAt)
	if failed != nil {
		panic(failed)
	}
	var d diag.Diagnostic
	switch {
	case said == "":
	case json.Unmarshal([]byte(said), &d) == nil:
		d.Attach(m.sourceOf)
		m.raise(&d)
	default:
		m.badSave(nil, 0, said, name, nameAt)
	}
}

// passToRankZero does what this rank has to while rank 0 saves: it acquires the same data.
func (m *Machine) passToRankZero(v any, at position) {
	switch x := v.(type) {
	case *Handle:
		m.alive(x, at)
		for _, d := range x.data() {
			if acc := m.hold(d, iface.R, at); acc != nil {
				_ = acc.Release() // a part without elements
			}
		}
	case *Array:
		x.needHeld(m, at)
	}
}

// diagnosticText returns the diagnostic of an error as JSON, the text of another error, or "" for none.
func diagnosticText(failed *raised) string {
	if failed == nil {
		return ""
	}
	var d *diag.Diagnostic
	if errors.As(failed.err, &d) {
		if b, err := json.Marshal(d); err == nil {
			return string(b)
		}
	}
	return failed.err.Error()
}

// readReplaced reads the rest of data that was loaded from a file that this rank, or another one, is about to replace: not all file systems keep the old file for
// those that have it open.
func (m *Machine) readReplaced(name string, at position) {
	file, _ := format.Split(format.Clean(name))
	err := m.ranks.ReadFiles(m.ctx, func(src accel.Source) bool {
		l, ok := src.(*lazyFile)
		if !ok {
			return false
		}
		from, _ := format.Split(l.name)
		return from == file
	})
	if err != nil {
		m.raiseEngine(err, at, nil)
	}
}

// savesTogether reports whether each rank can write its elements of h to a file, as far as is known before.
func (m *Machine) savesTogether(h *Handle, name string) bool {
	d := h.h.Desc()
	if m.ranks.Size() == 1 || !format.InRows(name) || h.isSparse() || h.h.Parent() != nil || h.h.Resizable() || d.Len() == 0 || d.Kind.Rank() == 0 || m.cfg.Files == nil {
		return false
	}
	why, _ := format.Refusal(name, d.Kind, d.Elem, true)
	return why == "" && (m.plan == nil || !m.largerThanMemory(h) && format.CanShare(m.cfg.Files, name))
}

// saveTogether writes h to a file to which each rank writes the elements that it owns, so that no value travels. It returns false, and has changed
// nothing, if the data, the format or the file system does not allow that, or an element is lost: rank 0 writes all then, or finds out why not.
func (m *Machine) saveTogether(h *Handle, name string, at, nameAt position) bool {
	m.alive(h, at)
	if name = format.Clean(name); !m.savesTogether(h, name) {
		return false
	}
	d := h.h.Desc()
	m.record.uses(h)
	if m.plan != nil {
		if m.ranks.EachOwn(m.ctx, h.h, engine.AcquireOptions{Site: m.siteFor(at)}, nil) != nil {
			return false
		}
		m.plan.saved[savedKey(name)] = savedFile{name, d}
		return true
	}
	file := m.openTogether(name, d, !m.largerThanMemory(h), nameAt)
	if file == nil {
		return false
	}
	done := false
	defer func() {
		if !done {
			_ = protect(func() error { file.Abort(); return nil })
		}
	}()
	var bad error // about the file
	err := m.ranks.EachOwn(m.ctx, h.h, engine.AcquireOptions{Site: m.siteFor(at)}, func(lo []int, b *iface.Buffer) error {
		bad = protect(func() error { return file.Write(lo, b) })
		return bad
	})
	if m.ranks.Rank() > 0 && err == nil {
		bad = protect(file.Close)
	}
	text := ""
	switch {
	case bad != nil:
		text = bad.Error()
	case err != nil:
		text = lostElement
	}
	lost := false
	for r, text := range m.textsOfRanks(text, nameAt) {
		if lost = lost || text == lostElement; text != "" && text != lostElement {
			m.badSave(bad, r, text, name, nameAt)
		}
	}
	if lost {
		return false
	}
	done, text = true, ""
	if m.ranks.Rank() == 0 { // the others have closed it
		if bad = protect(file.Close); bad != nil {
			text = bad.Error()
		}
	}
	if text = m.ofRankZero(text, nameAt); text != "" {
		m.badSave(bad, 0, text, name, nameAt)
	}
	return true
}

// badSave raises what was wrong with a file on a rank. mine is the error on this rank.
func (m *Machine) badSave(mine error, rank int, text, name string, at position) {
	if rank != m.ranks.Rank() {
		mine = fmt.Errorf("on rank %d: %s", rank, text)
	}
	m.badFile(mine, at, "cannot save", name)
}

// lostElement is the text of a rank that lacks the value of an element. No error has this text.
const lostElement = "\x00"

// openTogether creates a file on rank 0 and opens it on the others. It returns nil on all ranks if one of them cannot, or does not want to.
func (m *Machine) openTogether(name string, d iface.Desc, wants bool, nameAt position) *format.Shared {
	var file *format.Shared
	opened := false
	defer func() { // also if another rank ends the run
		if !opened && file != nil {
			_ = protect(func() error { file.Abort(); return nil })
		}
	}()
	temporary := ""
	if wants && m.ranks.Rank() == 0 {
		_ = protect(func() (err error) { // saveHere finds out why it fails
			file, temporary, err = format.CreateShared(m.cfg.Files, name, d)
			return err
		})
	}
	if temporary = m.ofRankZero(temporary, nameAt); temporary == "" {
		return nil
	}
	if wants && m.ranks.Rank() > 0 {
		_ = protect(func() (err error) {
			file, err = format.OpenShared(m.cfg.Files, temporary, name, d)
			return err
		})
	}
	if m.anywhere(file == nil, nameAt) {
		return nil
	}
	opened = true
	return file
}

// textsOfRanks returns the texts that all ranks pass, in the order of the ranks.
func (m *Machine) textsOfRanks(text string, at position) (all []string) {
	packed, err := m.ranks.Gather(m.ctx, []byte(text))
	if err != nil {
		m.raiseEngine(err, at, nil)
	}
	for _, b := range packed {
		all = append(all, strings.ToValidUTF8(string(b), "?"))
	}
	return all
}
