package sched

// The table of policies. Adding one is a file and a line here.

// Default is the policy of runtimes that name none.
const Default = "lws"

// Entry is a policy in the table.
type Entry struct {
	Name string
	Doc  string // one line
	// Priorities says what the policy promises about priorities.
	Priorities Promise
	New        func(Machine) Policy
}

// Promise is what a policy promises about priorities of items that wait at the
// same time.
type Promise uint8

// The promises.
const (
	Front  Promise = iota // positive ones go before the others
	Strict                // higher first, equal ones in order
)

var table = []Entry{
	{"lws", "each worker follows what it released, others take from it; priorities first", Strict, newLWS},
	{"eager", "one queue, first come first served; positive priorities to the front", Front, newEager},
	{"prio", "one queue, highest priority first", Strict, newPrio},
}

// Table returns all policies.
func Table() []Entry { return append([]Entry(nil), table...) }

// Names returns the names of all policies.
func Names() []string {
	var out []string
	for i := range table {
		out = append(out, table[i].Name)
	}
	return out
}

// Lookup finds a policy by its name.
func Lookup(name string) (Entry, bool) {
	for _, e := range table {
		if e.Name == name {
			return e, true
		}
	}
	return Entry{}, false
}
