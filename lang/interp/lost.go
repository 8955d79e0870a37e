package interp

// Data of a session that a failure or a cancel left without a valid value.

import (
	"github.com/starpush/starpush/datamgr"
	"github.com/starpush/starpush/datamgr/iface"
)

// Lost names the data of the session whose value was lost because a task failed
// or was dropped: whole data, or parts where others of the same view are valid.
func (m *Machine) Lost() []string {
	views := map[*Handle]*View{} // how the session can name parts
	seen := map[*Handle]bool{}
	var handles []*Handle
	for _, name := range m.Names() {
		_, v := m.Lookup(name)
		switch x := v.(type) {
		case *Handle:
			if x.h.Alive() && !seen[x] { // two names may have the same data: let w = v
				seen[x] = true
				handles = append(handles, x)
			}
			if x.deflt != nil && !x.deflt.v.Ended() {
				views[x] = x.deflt
			}
		case *View:
			if views[x.of] == nil && !x.v.Ended() {
				views[x.of] = x
			}
		}
	}
	var out []string
	for _, h := range handles {
		if !lost(h) {
			continue
		}
		var parts []string
		view := views[h]
		if view != nil {
			for k := range view.parts {
				if p := &view.parts[k]; lost(p) {
					parts = append(parts, p.Name())
				}
			}
		}
		if view == nil || len(parts) == 0 || len(parts) == len(view.parts) {
			parts = []string{h.Name()}
		}
		out = append(out, parts...)
	}
	return out
}

// lost reports whether reading h would meet a value that was lost.
func lost(h *Handle) bool {
	k, _ := datamgr.Fault([]datamgr.Operand{{Handle: h.h, Mode: iface.R}})
	return k >= 0
}
