package iface

// AccessMode says what a task does to one operand.
type AccessMode uint8

// The access modes. R, W and RW are bits: RW == R|W.
const (
	NoMode   AccessMode = 0
	R        AccessMode = 1
	W        AccessMode = 2
	RW       AccessMode = 3
	Commute  AccessMode = 4 // RW, in any order among neighbouring Commute accesses
	Redux    AccessMode = 5 // adds to a private copy, combined at the next other access
	Scratch  AccessMode = 6 // private memory of a worker; its content means nothing
	CommuteW AccessMode = 7 // W, in any order among neighbouring CommuteW accesses
)

var modeNames = [...]string{"none", "R", "W", "RW", "COMMUTE", "REDUX", "SCRATCH", "COMMUTE W"}

// String returns the name of m in the language, where CommuteW is written COMMUTE, like Commute:
// the codelet tells them apart. String returns COMMUTE W for it.
func (m AccessMode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return "mode?"
}

// ModeByName finds a mode by its name in the language.
func ModeByName(name string) (AccessMode, bool) {
	for i, n := range modeNames {
		if i > 0 && n == name {
			return AccessMode(i), true
		}
	}
	return NoMode, false
}

// Reads reports whether an access in mode m needs the value the data has.
func (m AccessMode) Reads() bool { return m == R || m == RW || m == Commute }

// Passes returns how often the elements of an operand in mode m travel between memory and
// kernel: once for R and W, twice where they are read and written, and not at all for
// Scratch.
func (m AccessMode) Passes() int {
	switch m {
	case R, W, CommuteW:
		return 1
	case RW, Commute, Redux:
		return 2
	}
	return 0
}

// Writes reports whether an access in mode m may change the value of the data.
// Redux counts: the value changes when the contributions are combined.
func (m AccessMode) Writes() bool { return m != NoMode && m != R && m != Scratch }

// Commutes reports whether neighbouring accesses in mode m run in any order, one at a time.
// Accesses in two modes that commute are ordered all the same.
func (m AccessMode) Commutes() bool { return m == Commute || m == CommuteW }

// Declared returns the mode in which a codelet declares an operand that a task may pass in
// mode m: RW for Commute and Redux, W for CommuteW, else m. It is what a kernel may do.
func (m AccessMode) Declared() AccessMode {
	switch m {
	case Commute, Redux:
		return RW
	case CommuteW:
		return W
	}
	return m
}
