package cli

// Values of flags: sizes such as 4Gi, limits such as steps=1Mi,tasks=100.

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/starpush/starpush/lang"
)

// parseCount reads an integer as the language writes it (42, 1_000, 0xff, 16Ki)
// and, because it is a flag, with an optional B for bytes (4GiB).
func parseCount(s string) (int64, error) {
	text := strings.TrimSuffix(s, "B")
	if text == "" || strings.HasSuffix(text, "_") || strings.HasPrefix(text, "_") {
		return 0, fmt.Errorf("`%s` is not an integer", s)
	}
	shift := uint(0)
	for unit, n := range map[string]uint{"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40} {
		if rest, ok := strings.CutSuffix(text, unit); ok {
			text, shift = rest, n
			break
		}
	}
	if shift == 0 && text != s {
		return 0, notCount(s) // "4B"
	}
	neg := strings.HasPrefix(text, "-")
	digits := strings.TrimPrefix(text, "-")
	base := 10
	if hex, ok := strings.CutPrefix(strings.ToLower(digits), "0x"); ok {
		digits, base = hex, 16
	}
	u, err := strconv.ParseUint(strings.ReplaceAll(digits, "_", ""), base, 64)
	if err != nil {
		return 0, notCount(s)
	}
	switch {
	case neg && u<<shift>>shift == u && u<<shift == 1<<63:
		return math.MinInt64, nil
	case u > math.MaxInt64>>shift:
		return 0, fmt.Errorf("`%s` does not fit in 64 bits", s)
	case neg:
		return -int64(u << shift), nil
	}
	return int64(u << shift), nil
}

// notCount is the error of s, with what was meant by units such as 4G, 4gb and 16K.
func notCount(s string) error {
	digits := strings.TrimRight(strings.ToUpper(s), "IB")
	if n := len(digits) - 1; n > 0 && strings.ContainsRune("KMGT", rune(digits[n])) {
		if _, err := strconv.ParseUint(digits[:n], 10, 63); err == nil {
			unit, zeros := digits[n], map[byte]int{'K': 3, 'M': 6, 'G': 9, 'T': 12}[digits[n]]
			return fmt.Errorf("`%s` is not an integer; write `%s%ci`, which counts by 1024, or `%s`", s, digits[:n], unit, digits[:n]+strings.Repeat("_000", zeros/3))
		}
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 { // 1e3
		return fmt.Errorf("`%s` is not an integer; write `%d`", s, int64(f))
	}
	return fmt.Errorf("`%s` is not an integer", s)
}

// parseLimits reads "steps=1Mi,tasks=100" into l.
func parseLimits(l *lang.Limits, text string) error {
	var depth, inflight int64
	fields := map[string]*int64{
		"steps": &l.Steps, "depth": &depth, "tasks": &l.Tasks, "inflight": &inflight,
		"data": &l.DataBytes, "mem": &l.ScriptBytes, "output": &l.Output,
		"source": &l.SourceBytes,
	}
	names := make([]string, 0, len(fields))
	for n := range fields {
		names = append(names, n)
	}
	slices.Sort(names)
	for item := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(item), "=")
		field := fields[name]
		if field != nil && (!ok || value == "") {
			return usagef("--limits: `%s` has no number; write %s=N, such as %[2]s=1Mi", item, name)
		}
		if !ok || field == nil {
			return usagef("--limits: `%s` is not a limit; write %s=N, with commas between them", item, strings.Join(names, "=N or "))
		}
		n, err := parseCount(value)
		if err != nil {
			return usagef("--limits: %s: %v", name, err)
		}
		if n < 1 {
			return usagef("--limits: %s must be 1 or more, not %s", name, value)
		}
		*field = n
	}
	for from, to := range map[*int64]*int{&depth: &l.CallDepth, &inflight: &l.InFlight} {
		if *from > math.MaxInt32 {
			return usagef("--limits: %d is too large", *from)
		}
		if *from > 0 {
			*to = int(*from)
		}
	}
	return nil
}

// parseBindings reads name=value flags; twice the same name is wrong.
func parseBindings(flag string, items []string) (map[string]string, error) {
	out := make(map[string]string, len(items))
	for _, item := range items {
		name, value, ok := strings.Cut(item, "=")
		switch {
		case !ok || name == "":
			return nil, usagef("%s: `%s` is not name=value", flag, item)
		case value == "" && flag != "-p": // a param may be the empty string
			return nil, usagef("%s %s: no file is named after the `=`", flag, item)
		}
		if _, dup := out[name]; dup {
			return nil, usagef("%s: `%s` is given twice", flag, name)
		}
		out[name] = value
	}
	return out, nil
}
