package simulate

// Files of machines: YAML.

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// FileError says what is wrong with a file of a machine, and where.
type FileError struct {
	File    string
	Line    int // 0: the whole file
	Message string
}

func (e *FileError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
	}
	return e.File + ": " + e.Message
}

// Field describes a field of files of machines.
type Field struct {
	Path    string // "cpu.workers", "devices.memory"
	Unit    string // what it is measured in: "number", "seconds", "bytes", "a second", "text", "yes or no"
	Default string // what it is if it is left out; "" for a field that is needed
	Doc     string
}

// field is a Field, and where its value goes.
type field struct {
	Field
	set func(p place, n *yaml.Node) error
}

// place is what a value belongs to.
type place struct {
	m *Machine
	d *Devices
	b *Bus
}

const (
	unitNumber = "number"
	unitTime   = "seconds"
	unitBytes  = "bytes"
	unitRate   = "a second"
	unitText   = "text"
	unitBool   = "yes or no"
)

func numberField(path, def, doc string, at func(place) *int) field {
	return field{Field{path, unitNumber, def, doc}, func(p place, n *yaml.Node) error {
		v, err := strconv.Atoi(n.Value)
		if err != nil {
			return fmt.Errorf("%q is no whole number", n.Value)
		}
		*at(p) = v
		return nil
	}}
}

func floatField(path, unit, def, doc string, at func(place) *float64) field {
	return field{Field{path, unit, def, doc}, func(p place, n *yaml.Node) (err error) {
		*at(p), err = quantity(n.Value, unit)
		return err
	}}
}

func bytesField(path, def, doc string, at func(place) *int64) field {
	return field{Field{path, unitBytes, def, doc}, func(p place, n *yaml.Node) error {
		v, err := quantity(n.Value, unitBytes)
		if err == nil && !(math.Abs(v) < 1<<62) {
			err = fmt.Errorf("%q is more than any memory has", n.Value)
		}
		*at(p) = int64(v)
		return err
	}}
}

func textField(path, def, doc string, at func(place) *string) field {
	return field{Field{path, unitText, def, doc}, func(p place, n *yaml.Node) error { *at(p) = n.Value; return nil }}
}

func boolField(path, def, doc string, at func(place) *bool) field {
	return field{Field{path, unitBool, def, doc}, func(p place, n *yaml.Node) error {
		v, err := strconv.ParseBool(n.Value)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", n.Value)
		}
		*at(p) = v
		return nil
	}}
}

func linkFields(path, def, what string, at func(place) *Link) []field {
	return []field{
		floatField(path+".latency", unitTime, def, "time until the first byte of a copy "+what+" arrives", func(p place) *float64 { return &at(p).Latency }),
		floatField(path+".bandwidth", unitRate, def, "bytes "+what+", each way", func(p place) *float64 { return &at(p).Bandwidth }),
	}
}

// fields are all fields, in the order of the documentation.
var fields = slices.Concat([]field{
	textField("name", "the name of the file", "what reports call the machine", func(p place) *string { return &p.m.Name }),
	numberField("computers", "1", "computers that are alike; each is a rank, with data of its own", func(p place) *int { return &p.m.Computers }),
	numberField("cpu.workers", "", "workers on each NUMA node", func(p place) *int { return &p.m.CPU.Workers }),
	numberField("cpu.numa", "1", "NUMA nodes, each with a memory of its own", func(p place) *int { return &p.m.CPU.NUMA }),
	floatField("cpu.flops", unitRate, "", "operations of one worker, as kernels reach them", func(p place) *float64 { return &p.m.CPU.Flops }),
	floatField("cpu.bandwidth", unitRate, "", "bytes between the memory of a NUMA node and its workers, all together", func(p place) *float64 { return &p.m.CPU.Bandwidth }),
	floatField("cpu.overhead", unitTime, "0", "time of the runtime for each task", func(p place) *float64 { return &p.m.CPU.Overhead }),
	floatField("cpu.wake", unitTime, "0", "time until a worker without a task begins, once there is one for it; of workers of devices, too", func(p place) *float64 { return &p.m.CPU.Wake }),
	floatField("cpu.look", unitTime, "0", "how long a worker without a task looks for one before it sleeps, and a script for a value; `cpu.wake` counts after that", func(p place) *float64 { return &p.m.CPU.Look }),
	floatField("cpu.clear", unitRate, "0", "bytes of new data in main memory that are cleared before its first task; 0: they are clear", func(p place) *float64 { return &p.m.CPU.Clear }),
	bytesField("cpu.memory", "0", "memory of a NUMA node but the first, which has no bound; 0: no bound", func(p place) *int64 { return &p.m.CPU.Memory }),
	boolField("cpu.measured", "false", "whether times from performance models of this machine's CPU workers hold where there are any", func(p place) *bool { return &p.m.CPU.Measured }),
	floatField("cpu.speed", unitNumber, "1", "how many times faster kernels are than that", func(p place) *float64 { return &p.m.CPU.Speed }),
}, linkFields("cpu.link", "needed with numa", "between NUMA nodes", func(p place) *Link { return &p.m.CPU.Link }), []field{
	textField("devices.name", "", "their name; where there are several, a number follows", func(p place) *string { return &p.d.Name }),
	numberField("devices.count", "1", "devices of this kind", func(p place) *int { return &p.d.Count }),
	numberField("devices.units", "1", "kernels that each runs at the same time, each with its share of flops and bandwidth", func(p place) *int { return &p.d.Units }),
	floatField("devices.flops", unitRate, "", "operations of one device, as kernels reach them", func(p place) *float64 { return &p.d.Flops }),
	floatField("devices.bandwidth", unitRate, "", "bytes between its memory and its kernels", func(p place) *float64 { return &p.d.Bandwidth }),
	floatField("devices.overhead", unitTime, "0", "time to start a kernel", func(p place) *float64 { return &p.d.Overhead }),
	bytesField("devices.memory", "0", "its memory; 0: no bound", func(p place) *int64 { return &p.d.Memory }),
	boolField("devices.measured", "false", "whether times from performance models of workers with this name hold where there are any", func(p place) *bool { return &p.d.Measured }),
	floatField("devices.speed", unitNumber, "1", "how many times faster kernels are than that", func(p place) *float64 { return &p.d.Speed }),
}, linkFields("devices.link", "", "to and from main memory", func(p place) *Link { return &p.d.Link }), []field{
	textField("devices.bus", "none", "a bus that their links to main memory share", func(p place) *string { return &p.d.Bus }),
}, linkFields("devices.peer", "through main memory", "between two of these devices", func(p place) *Link { return &p.d.Peer }), []field{
	textField("buses.name", "", "the name of a bus", func(p place) *string { return &p.b.Name }),
	floatField("buses.bandwidth", unitRate, "", "bytes on all of its links together, each way", func(p place) *float64 { return &p.b.Bandwidth }),
}, linkFields("network", "needed with several computers", "between a computer and all others", func(p place) *Link { return &p.m.Network }), []field{
	floatField("script.submit", unitTime, "0", "time of the script for each task that it submits", func(p place) *float64 { return &p.m.Script.Submit }),
	floatField("script.skip", unitTime, "0", "time of the script for each task that another computer runs", func(p place) *float64 { return &p.m.Script.Skip }),
	numberField("script.window", "65536", "unfinished tasks above which the script waits", func(p place) *int { return &p.m.Script.Window }),
	floatField("script.wait", unitTime, "0", "time until the script goes on, once a value that it waits for is there", func(p place) *float64 { return &p.m.Script.Wait }),
	boolField("script.shared", "false", "whether the script has no processor of its own: while all CPU workers have tasks, its time is taken from them in turn", func(p place) *bool { return &p.m.Script.Shared }),
})

// Fields returns all fields of files of machines.
func Fields() (all []Field) {
	for _, f := range fields {
		all = append(all, f.Field)
	}
	return all
}

// quantity reads a number with the unit of a field: 80Gi, 25e9, 25GB/s, 5us.
func quantity(text, unit string) (float64, error) {
	s := strings.ReplaceAll(strings.TrimSpace(text), "_", "")
	bad := func() (float64, error) {
		example := map[string]string{unitTime: "5us or 0.000005", unitBytes: "80Gi or 85899345920", unitRate: "25e9 or 25G", unitNumber: "1.5"}[unit]
		return 0, fmt.Errorf("%q is no value in %s; write it like %s", text, map[string]string{unitTime: "seconds", unitBytes: "bytes", unitRate: "bytes or operations a second", unitNumber: "numbers"}[unit], example)
	}
	if v, err := strconv.ParseFloat(s, 64); err == nil {
		return v, nil
	}
	switch unit {
	case unitTime:
		d, err := time.ParseDuration(s)
		if err != nil {
			return bad()
		}
		return d.Seconds(), nil
	case unitNumber:
		return bad()
	}
	s = strings.TrimSuffix(strings.TrimSuffix(s, "/s"), "B")
	for _, x := range []struct {
		suffix string
		factor float64
	}{{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"", 1}} {
		if head, ok := strings.CutSuffix(s, x.suffix); ok {
			if v, err := strconv.ParseFloat(strings.TrimSpace(head), 64); err == nil {
				return v * x.factor, nil
			}
		}
	}
	return bad()
}

// maxFile bounds files of machines.
const maxFile = 1 << 20

// Read reads a machine. Errors are a *FileError for what the file says, and those of r.
func Read(r io.Reader, name string) (*Machine, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFile {
		return nil, &FileError{name, 0, "it is longer than a description of a machine can be; is it another file?"}
	}
	f := reader{name: name, m: &Machine{Name: name, Computers: 1, CPU: CPU{NUMA: 1}}, lines: map[string]int{}}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, &FileError{name, 0, "it is empty; docs/simulation.md has a machine to start from"}
	case err != nil:
		return nil, f.syntax(err)
	}
	var more yaml.Node
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, &FileError{name, max(more.Line, 0), "there is a second document; leave one machine in the file"}
	}
	if err := f.group(doc.Content[0], "", "", place{m: f.m}); err != nil {
		return nil, err
	}
	if err := f.needed(); err != nil {
		return nil, err
	}
	if err := f.m.Check(); err != nil {
		var bad *MachineError
		if errors.As(err, &bad) {
			return nil, &FileError{name, f.line(bad.Where), err.Error()}
		}
		return nil, err
	}
	return f.m, nil
}

// reader fills a machine.
type reader struct {
	name  string
	m     *Machine
	lines map[string]int // by path, with numbers of entries
}

func (f *reader) fail(n *yaml.Node, format string, args ...any) error {
	return &FileError{f.name, n.Line, fmt.Sprintf(format, args...)}
}

// syntax makes an error of the library ours: it begins with the line.
func (f *reader) syntax(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 0
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		if number, message, ok := strings.Cut(rest, ": "); ok {
			line, _ = strconv.Atoi(number)
			text = message
		}
	}
	return &FileError{f.name, line, "it is not YAML: " + text + "; write `field: value` lines, with two blanks before those of a group"}
}

// line finds the line of a path, or of the nearest group that has one.
func (f *reader) line(path string) int {
	for {
		if n, ok := f.lines[path]; ok {
			return n
		}
		at := strings.LastIndexAny(path, ".[")
		if at < 0 {
			return 0
		}
		path = path[:at]
	}
}

// group reads the fields of a group: path names it without numbers of entries, where with them.
func (f *reader) group(n *yaml.Node, path, where string, p place) error {
	if n.Kind == yaml.AliasNode {
		return f.fail(n, "aliases are not supported here; repeat the fields")
	}
	if n.Kind != yaml.MappingNode {
		return f.fail(n, "%s should be fields with values, such as %s", cmpOr(path, "the file"), f.example(path))
	}
	seen := map[string]int{}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if line, ok := seen[key.Value]; ok {
			return f.fail(key, "`%s` is given twice, first on line %d; remove one", key.Value, line)
		}
		seen[key.Value] = key.Line
		full, at := join(path, key.Value), join(where, key.Value)
		f.lines[at] = key.Line
		if err := f.value(key, value, full, at, p); err != nil {
			return err
		}
	}
	return nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func cmpOr(a, b string) string {
	if a != "" {
		return "`" + a + "`"
	}
	return b
}

// value reads one field, group or list.
func (f *reader) value(key, value *yaml.Node, path, where string, p place) error {
	for i := range fields {
		if fields[i].Path != path {
			continue
		}
		if value.Kind != yaml.ScalarNode || value.Tag == "!!null" {
			return f.fail(key, "`%s` should be one value, %s", path, fields[i].Unit)
		}
		if err := fields[i].set(p, value); err != nil {
			return f.fail(value, "`%s`: %v", path, err)
		}
		return nil
	}
	isGroup := slices.ContainsFunc(fields, func(x field) bool { return strings.HasPrefix(x.Path, path+".") })
	switch {
	case !isGroup:
		return f.fail(key, "there is no field `%s`; %s", path, f.advice(path))
	case path != "devices" && path != "buses":
		return f.group(value, path, where, p)
	case value.Kind != yaml.SequenceNode:
		return f.fail(key, "`%s` should be a list: put `- ` before the first field of each entry", path)
	}
	for i, entry := range value.Content {
		at := fmt.Sprintf("%s[%d]", where, i)
		f.lines[at] = entry.Line
		q := p
		if path == "devices" {
			p.m.Devices = append(p.m.Devices, Devices{Count: 1, Units: 1})
			q.d = &p.m.Devices[len(p.m.Devices)-1]
		} else {
			p.m.Buses = append(p.m.Buses, Bus{})
			q.b = &p.m.Buses[len(p.m.Buses)-1]
		}
		if err := f.group(entry, path, at, q); err != nil {
			return err
		}
	}
	return nil
}

// in lists the names that a group has.
func in(group string) (names []string) {
	for i := range fields {
		rest, ok := fields[i].Path, true
		if group != "" {
			rest, ok = strings.CutPrefix(fields[i].Path, group+".")
		}
		if name, _, _ := strings.Cut(rest, "."); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// advice says what there is instead of an unknown field.
func (f *reader) advice(path string) string {
	group, name := "", path
	if at := strings.LastIndex(path, "."); at >= 0 {
		group, name = path[:at], path[at+1:]
	}
	for i := range fields {
		if last := fields[i].Path[strings.LastIndex(fields[i].Path, ".")+1:]; last == name {
			return fmt.Sprintf("did you mean `%s`?", fields[i].Path)
		}
	}
	return "there are " + strings.Join(in(group), ", ")
}

func (f *reader) example(path string) string {
	names := in(path)
	if len(names) == 0 {
		return "name: value"
	}
	return names[0] + ": …"
}

// needed reports a field without default that is missing.
func (f *reader) needed() error {
	missing := func(prefix, path, where string) error {
		if _, ok := f.lines[where]; ok {
			return nil
		}
		at := f.line(prefix)
		return &FileError{f.name, at, fmt.Sprintf("`%s` is missing; add it", path)}
	}
	for i := range fields {
		x := &fields[i]
		if x.Default != "" {
			continue
		}
		group, rest, _ := strings.Cut(x.Path, ".")
		n := 1
		switch group {
		case "devices":
			n = len(f.m.Devices)
		case "buses":
			n = len(f.m.Buses)
		}
		for k := range n {
			prefix := group
			if group == "devices" || group == "buses" {
				prefix = fmt.Sprintf("%s[%d]", group, k)
			}
			if err := missing(prefix, x.Path, prefix+"."+rest); err != nil {
				return err
			}
		}
	}
	return nil
}
