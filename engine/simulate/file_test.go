package simulate_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/starpush/starpush/engine/simulate"
)

const desk = `name: desk
cpu: {workers: 8, flops: 30G, bandwidth: 60GB/s, overhead: 200ns}
devices:
  - name: gpu
    count: 2
    flops: 1T
    bandwidth: 400GB/s
    memory: 16Gi
    link: {latency: 10us, bandwidth: 25GB/s}
    bus: pcie
buses:
  - {name: pcie, bandwidth: 30GB/s}
`

func TestRead(t *testing.T) {
	m, err := simulate.Read(strings.NewReader(desk), "desk.yaml")
	if err != nil {
		t.Fatal(err)
	}
	d := m.Devices[0]
	if m.Name != "desk" || m.CPU.Workers != 8 || m.CPU.Overhead != 200e-9 || m.CPU.Bandwidth != 60e9 || d.Memory != 16<<30 || d.Flops != 1e12 || d.Link.Latency != 10e-6 || d.Bus != "pcie" || m.Buses[0].Bandwidth != 30e9 {
		t.Errorf("got %+v", m)
	}
	if m.Workers() != 10 {
		t.Errorf("%d workers, want 10", m.Workers())
	}
}

// Each mistake is found with its line, and the message says what to do.
func TestMistakes(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"count: 2", "cuont: 2", "m.yaml:5: there is no field `devices.cuont`; there are name, count, units"},
		{"    count: 2", "    submit: 2", "m.yaml:5: there is no field `devices.submit`; did you mean `script.submit`?"},
		{"name: desk", "computer: 3", "m.yaml:1: there is no field `computer`; there are name, computers, cpu, devices, buses, network, script"},
		{"count: 2", "count: two", "m.yaml:5: `devices.count`: \"two\" is no whole number"},
		{"count: 2", "count: 0", "m.yaml:5: devices[0].count: 0 is out of range; write a number from 1 to"},
		{"memory: 16Gi", "memory: 16 potatoes", "m.yaml:8: `devices.memory`: \"16 potatoes\" is no value in bytes; write it like 80Gi"},
		{"memory: 16Gi", "memory: -3", "m.yaml:8: devices[0].memory: -3 bytes are impossible"},
		{"flops: 1T", "flops: 0", "m.yaml:6: devices[0].flops: 0 a second is impossible; write a positive number"},
		{"flops: 1T", "flops: .nan", "m.yaml:6: "},
		{"    flops: 1T\n", "", "m.yaml:4: `devices.flops` is missing; add it"},
		{"latency: 10us", "latency: soon", "m.yaml:9: `devices.link.latency`: \"soon\" is no value in seconds; write it like 5us"},
		{"latency: 10us", "latency: -1s", "m.yaml:9: devices[0].link.latency: -1 seconds are impossible"},
		{"bus: pcie", "bus: usb", "m.yaml:10: devices[0].bus: there is no bus usb; add it under buses"},
		{"name: gpu", "name: cpu", "m.yaml:4: devices[0].name: there are workers named cpu already"},
		{"count: 2", "name: gpu2", "m.yaml:5: `name` is given twice, first on line 4; remove one"},
		{"count: 2", "count: [2]", "m.yaml:5: `devices.count` should be one value, number"},
		{"devices:\n  - name", "devices:\n    name", "m.yaml:3: `devices` should be a list"},
		{"cpu: {", "cpu: 3 #", "m.yaml:2: `cpu` should be fields with values, such as workers: …"},
		{"cpu: {workers: 8", "cpu: {numa: 2, workers: 8", "m.yaml:2: cpu.link.bandwidth: 0 a second is impossible"},
		{"name: desk", "computers: 2", "m.yaml: network.bandwidth: 0 a second is impossible"},
		{"name: desk", "name: [", "it is not YAML"},
		{"name: desk", "a: &x {b: 1}\nname: desk", "m.yaml:1: there is no field `a`"},
		{"cpu: {workers: 8", "cpu: &x {<<: *x, workers: 8", "m.yaml"},
		{desk, "", "m.yaml: it is empty; docs/simulation.md has a machine to start from"},
		{desk, "- 1", "m.yaml:1: the file should be fields with values"},
		{desk, desk + "---\nname: two\n", "there is a second document"},
	} {
		text := strings.Replace(desk, c.old, c.new, 1)
		if text == desk {
			t.Fatalf("%q is not in the file", c.old)
		}
		_, err := simulate.Read(strings.NewReader(text), "m.yaml")
		var f *simulate.FileError
		if !errors.As(err, &f) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: got %v, want %q", c.new, c.old, err, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(desk)
	f.Add("cpu: [")
	f.Fuzz(func(t *testing.T, text string) {
		if m, err := simulate.Read(strings.NewReader(text), "m.yaml"); err == nil && m.Check() != nil {
			t.Errorf("%q: read, and impossible", text)
		}
	})
}

func TestPresets(t *testing.T) {
	names, docs := simulate.Presets()
	for i, name := range names {
		m, err := simulate.Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if docs[i] == "" {
			t.Errorf("%s has no line about it", name)
		}
	}
	if _, err := simulate.Preset("none"); err == nil || !strings.Contains(err.Error(), "there are this, h200x8") {
		t.Errorf("got %v", err)
	}
}

// The page for users has all fields.
func TestFieldsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/simulation.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range simulate.Fields() {
		if row := fmt.Sprintf("| `%s` | %s | %s | %s |\n", f.Path, f.Unit, f.Default, f.Doc); f.Doc == "" || !strings.Contains(string(page), row) {
			t.Errorf("docs/simulation.md should have the row\n%s", row)
		}
	}
}

func TestWith(t *testing.T) {
	m, err := simulate.Read(strings.NewReader(desk), "desk.yaml")
	if err != nil {
		t.Fatal(err)
	}
	x, err := m.With("bandwidth=2,memory=0.5,gpu=3,cpu=2,latency=0.1")
	if err != nil {
		t.Fatal(err)
	}
	d := x.Devices[0]
	if d.Link.Bandwidth != 50e9 || d.Memory != 8<<30 || d.Speed != 3 || x.CPU.Speed != 2 || x.Buses[0].Bandwidth != 60e9 || m.Devices[0].Speed != 0 || m.Devices[0].Link.Bandwidth != 25e9 {
		t.Errorf("got %+v of %+v", x, m)
	}
	for _, bad := range []string{"", "bandwidth", "bandwidth=0", "bandwidth=x", "tpu=2", "memory=-1", "gpu=inf"} {
		if _, err := m.With(bad); err == nil {
			t.Errorf("%q is no mistake", bad)
		}
	}
}

// A machine with twice the speed takes half the time, where nothing else counts.
func TestWhatIf(t *testing.T) {
	var b builder
	x := b.data(10, true)
	b.task("a", 100, op(RW, x)).Seconds = []float64{-1, 0}
	p := b.program(t)
	m := plain(1, 1, 10, 0)
	for changes, want := range map[string]float64{"gpu=2": 11 + 5, "bandwidth=2": 6 + 10, "latency=0.5": 10.5 + 10} {
		x, err := m.With(changes)
		if err != nil {
			t.Fatal(err)
		}
		if r := simulated(t, p, x, simulate.Options{}); r.Seconds != want {
			t.Errorf("%s: %v s, want %v", changes, r.Seconds, want)
		}
	}
}
