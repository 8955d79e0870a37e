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
	// Options are the settings that may follow the name: "dmda:alpha=1,beta=2".
	Options []Option
	make    func(Machine, settings) Policy
	set     settings
}

// New makes the policy for m, with the options that the entry was parsed with, or
// their defaults.
func (e Entry) New(m Machine) Policy {
	if e.set == nil {
		e.set = defaults(e.Options)
	}
	return e.make(m.filled(), e.set)
}

// Promise is what a policy promises about priorities of items that wait for one worker at
// the same time. Policies with a queue for each worker promise nothing across workers. A
// policy may choose between items that its promise treats alike by the place of their
// data, or by the worker that released them.
//
// Tasks freed by one release come to the policy in the order that it promises. Tasks that
// wait for a lock (COMMUTE, accesses without order) have left the policy. They get the
// lock in that order, too, or, if the policy promises none, in the order of their
// arrival.
type Promise uint8

// The promises.
const (
	Unordered Promise = iota // none
	Front                    // positive ones go before the others, both in the order of their arrival
	Strict                   // higher first, equal ones in order
)

var table = []Entry{
	{Name: "lws", Doc: "each worker follows what it released, others take from it; priorities first", Priorities: Strict, make: newLWS},
	{Name: "ws", Doc: "a queue for each worker; an idle one takes from the longest", Priorities: Strict, make: newWS},
	{Name: "eager", Doc: "one queue, first come first served; positive priorities to the front", Priorities: Front, make: newEager},
	{Name: "prio", Doc: "one queue, highest priority first", Priorities: Strict, make: newPrio},
	{Name: "random", Doc: "a random worker, faster ones more often", Priorities: Strict, make: newRandom, Options: randomOptions},
	{Name: "dm", Doc: "the worker that is expected to end it first, by performance models", Priorities: Front, make: dmKind{}.new},
	{Name: "dmda", Doc: "as dm, and counts the time to bring data", Priorities: Front, make: dmKind{data: true}.new, Options: dmdaOptions},
	{Name: "dmdap", Doc: "as dmda, highest priority first", Priorities: Strict, make: dmKind{data: true, sorted: true}.new, Options: dmdaOptions},
	{Name: "dmdar", Doc: "as dmda, what has its data there first", Priorities: Front, make: dmKind{data: true, ready: true}.new, Options: dmdaOptions},
	{Name: "dmdas", Doc: "as dmdap, and among equals what has its data there first", Priorities: Strict, make: dmKind{data: true, sorted: true, ready: true}.new, Options: dmdaOptions},
	{Name: "pheft", Doc: "as dmda, and for parallel tasks the number of workers that is expected to end them first", Priorities: Front, make: dmKind{data: true, gangs: true}.new, Options: dmdaOptions},
	{Name: "peager", Doc: "as eager, and parallel tasks get the workers that are idle", Priorities: Front, make: newPeager},
	{Name: "heteroprio", Doc: "each architecture first does what it is best at, then highest priority first", Priorities: Strict, make: newHeteroprio, Options: heteroprioOptions},
	{Name: "darts", Doc: "what the most items need for each byte to load, and then all of those", Priorities: Strict, make: newDarts, Options: dartsOptions},
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
