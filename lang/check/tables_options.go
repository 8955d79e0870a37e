package check

// The options that may follow `with`.

// OptionSet is the options of one construct.
type OptionSet struct {
	On      string // "insert", "codelet", "hint", "prefetch"
	Options []Option
}

// Option is one option. Type says what its value is.
type Option struct {
	Name string
	Type OptionType
	Doc  string // one line
}

// OptionType is the form of an option's value.
type OptionType uint8

// The forms of option values.
const (
	IntOption     OptionType = iota
	FloatOption              // an int converts
	BoolOption               //
	StringOption             //
	KindsOption              // a kind, or a list of kinds
	WorkersOption            // a worker, or a list of workers
	HandlesOption            // a list of handles and views
	TasksOption              // a list of tasks and gates
	NodesOption              // a list of nodes
	IntsOption               // a list of ints
)

var optionTypeNames = [...]string{
	IntOption: "an int", FloatOption: "a float", BoolOption: "true or false", StringOption: "a string",
	KindsOption: "a kind (cpu, cuda, opencl) or a list of kinds", WorkersOption: "a worker or a list of workers",
	HandlesOption: "a list of handles", TasksOption: "a list of tasks and gates", NodesOption: "a list of nodes",
	IntsOption: "a list of ints",
}

// String says what the value is: "a list of tasks and gates".
func (t OptionType) String() string {
	if int(t) < len(optionTypeNames) {
		return optionTypeNames[t]
	}
	return "?"
}

// Options lists every option, by construct, sorted by name.
var Options = []OptionSet{
	{"insert", []Option{
		{"after", TasksOption, "tasks and gates that must end or open first"},
		{"color", IntOption, "colour of the task in traces"},
		{"flops", FloatOption, "floating-point operations that the task does"},
		{"name", StringOption, "name of the task in traces and messages"},
		{"order", IntOption, "place in the sequence prescribed on the worker"},
		{"priority", IntOption, "higher runs first"},
		{"sequential", BoolOption, "false: no implicit dependencies"},
		{"sync", BoolOption, "true: wait until the task has ended"},
		{"unordered", HandlesOption, "no implicit dependencies on these"},
		{"where", KindsOption, "kinds of workers that may run it"},
		{"worker", WorkersOption, "workers that may run it"},
	}},
	{"codelet", []Option{
		{"color", IntOption, "colour of its tasks in traces"},
		{"flops", FloatOption, "floating-point operations of one task; may use operands"},
		{"name", StringOption, "name of its tasks in traces and messages"},
		{"where", KindsOption, "kinds of workers that may run it"},
	}},
	{"hint", []Option{
		{"coords", IntsOption, "place of the data in a grid, for traces"},
		{"discardable", BoolOption, "evicted first; a last copy is never lost"},
		{"name", StringOption, "name of the data in traces and messages"},
		{"ooc", BoolOption, "false: moved to disk only when nothing else can be"},
		{"sequential", BoolOption, "false: no implicit dependencies on it"},
		{"write_through", NodesOption, "nodes that get each new value at once"},
	}},
	{"prefetch", []Option{
		{"idle", BoolOption, "true: only while the bus is idle"},
		{"urgent", BoolOption, "true: before anything else"},
	}},
}

func optionsOf(on string) []Option {
	for _, s := range Options {
		if s.On == on {
			return s.Options
		}
	}
	return nil
}
