package iface

// AccessMode says what a task does to one operand.
type AccessMode uint8

// The access modes. R, W and RW are bits: RW == R|W.
const (
	NoMode  AccessMode = 0
	R       AccessMode = 1
	W       AccessMode = 2
	RW      AccessMode = 3
	Commute AccessMode = 4 // RW, in any order among neighbouring Commute accesses
	Redux   AccessMode = 5 // adds to a private copy, combined at the next other access
	Scratch AccessMode = 6 // private memory of a worker; its content means nothing
)

var modeNames = [...]string{"none", "R", "W", "RW", "COMMUTE", "REDUX", "SCRATCH"}

// String returns the name of m in the language.
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
	case R, W:
		return 1
	case RW, Commute, Redux:
		return 2
	}
	return 0
}

// Writes reports whether an access in mode m may change the value of the data.
// Redux counts: the value changes when the contributions are combined.
func (m AccessMode) Writes() bool { return m == W || m == RW || m == Commute || m == Redux }
