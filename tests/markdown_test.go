package tests

// Code blocks of a markdown file: reading them, and rewriting them in place.

import (
	"os"
	"strings"
)

// block is one fenced code block.
type block struct {
	file    string
	kind    string // first word after the fence: "spu"
	name    string // second word: "lib/vec.spu"
	flag    string // third word: "unformatted"
	text    string // with its newlines
	line    int    // of the fence, from 1
	end     int    // line of the closing fence
	section int    // number of the heading above it
}

// document is a markdown file.
type document struct {
	file   string
	lines  []string
	blocks []*block
}

func readDocument(file string) (*document, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	d := &document{file: file, lines: strings.SplitAfter(string(text), "\n")}
	var open *block
	section := 0
	for i, line := range d.lines {
		fence := strings.HasPrefix(line, "```")
		switch {
		case open == nil && fence:
			words := append(strings.Fields(strings.TrimPrefix(line, "```")), "", "", "")
			open = &block{file: file, kind: words[0], name: words[1], flag: words[2], line: i + 1, section: section}
		case open == nil:
			if strings.HasPrefix(line, "#") {
				section++
			}
		case fence:
			open.end = i + 1
			d.blocks = append(d.blocks, open)
			open = nil
		default:
			open.text += line
		}
	}
	return d, nil
}

// edit replaces the text of blocks (a block without text goes) and puts new
// blocks behind old ones.
type edit struct {
	replace map[*block]string
	insert  map[*block]string // whole fenced blocks
}

// write applies the edits.
func (d *document) write(e edit) error {
	var b strings.Builder
	at := 0
	for _, blk := range d.blocks {
		b.WriteString(strings.Join(d.lines[at:blk.line-1], ""))
		text, ok := e.replace[blk]
		if !ok {
			text = blk.text
		}
		if text != "" {
			b.WriteString(d.lines[blk.line-1] + text + d.lines[blk.end-1])
		}
		b.WriteString(e.insert[blk])
		at = blk.end
	}
	b.WriteString(strings.Join(d.lines[at:], ""))
	return os.WriteFile(d.file, []byte(b.String()), 0o644)
}
