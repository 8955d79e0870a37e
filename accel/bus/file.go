package bus

// Files: a table as JSON.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// Schema is the version of the files that this package reads and writes.
const Schema = 1

// ErrCorrupt is wrapped by errors about files that cannot be understood.
var ErrCorrupt = errors.New("not a table of links")

// ErrNewer is wrapped by errors about files of a later version.
var ErrNewer = errors.New("written by a newer version")

type jsonFile struct {
	Schema  int          `json:"starpush_bus"`
	Machine string       `json:"machine"`
	Main    string       `json:"main"`
	Time    int64        `json:"time"` // in seconds since 1970
	Devices []jsonDevice `json:"devices"`
	Links   []jsonLink   `json:"links"`
}

type jsonDevice struct {
	Name   string `json:"name"`
	Arch   string `json:"arch"`
	Model  string `json:"model,omitempty"`
	Memory string `json:"memory"`
}

type jsonLink struct {
	From      string  `json:"from"`
	To        string  `json:"to"`
	Latency   int64   `json:"latency_ns"`
	Bandwidth float64 `json:"bytes_per_second"`
}

func encode(t *Table) ([]byte, error) {
	j := jsonFile{Schema: Schema, Machine: t.Machine, Main: t.Main, Time: t.When.Unix(), Devices: []jsonDevice{}, Links: []jsonLink{}}
	for _, d := range t.Devices {
		j.Devices = append(j.Devices, jsonDevice(d))
	}
	for _, l := range t.Links {
		j.Links = append(j.Links, jsonLink{l.From, l.To, int64(l.Latency), l.Bandwidth})
	}
	b, err := json.MarshalIndent(j, "", "\t")
	return append(b, '\n'), err
}

func decode(b []byte) (*Table, error) {
	var version struct {
		Schema int `json:"starpush_bus"`
	}
	if err := json.Unmarshal(b, &version); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrCorrupt, err)
	}
	switch {
	case version.Schema > Schema:
		return nil, fmt.Errorf("%w: version %d, and this one reads %d", ErrNewer, version.Schema, Schema)
	case version.Schema < 1:
		return nil, fmt.Errorf("%w: it has no version", ErrCorrupt)
	}
	var j jsonFile
	read := json.NewDecoder(bytes.NewReader(b))
	read.DisallowUnknownFields()
	if err := read.Decode(&j); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrCorrupt, err)
	}
	t := &Table{Machine: j.Machine, Main: j.Main, When: time.Unix(j.Time, 0)}
	for _, d := range j.Devices {
		t.Devices = append(t.Devices, Device(d))
	}
	for _, l := range j.Links {
		if l.Latency < 0 || !(l.Bandwidth >= 0) || math.IsInf(l.Bandwidth, 0) {
			return nil, fmt.Errorf("%w: from %s to %s in %d ns and %g bytes a second", ErrCorrupt, l.From, l.To, l.Latency, l.Bandwidth)
		}
		t.Links = append(t.Links, Link{l.From, l.To, time.Duration(l.Latency), l.Bandwidth})
	}
	if !slices.IsSortedFunc(t.Links, compare) {
		slices.SortFunc(t.Links, compare)
	}
	return t, nil
}
