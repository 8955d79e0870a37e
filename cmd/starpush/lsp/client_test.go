package lsp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/textproto"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/starpush/starpush/cmd/starpush/cli"
)

// TestMain makes this binary the command when a test starts it as such.
func TestMain(m *testing.M) {
	if os.Getenv("STARPUSH_LSP_SERVE") != "" {
		os.Exit(cli.Main([]string{"lsp", "--stdio"}, os.Stdin, os.Stdout, os.Stderr, os.Environ()))
	}
	os.Exit(m.Run())
}

type m = map[string]any

// A client is an editor that talks to a process of its own.
type client struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	errs  strings.Builder
	next  int
	lists map[string][]published // diagnostics that came, by uri
}

type reply struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

type pos struct{ Line, Character int }
type rng struct{ Start, End pos }
type place struct {
	URI   string
	Range rng
}

type published struct {
	URI         string
	Version     *int
	Diagnostics []diagnosed
}

type diagnosed struct {
	Range              rng
	Severity           int
	Code, Message      string
	Tags               []int
	RelatedInformation []struct {
		Location place
		Message  string
	}
}

// start starts the process; the connection is not initialized.
func start(t *testing.T) *client {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, cmd: exec.Command(self), lists: map[string][]published{}}
	c.cmd.Env = append(os.Environ(), "STARPUSH_LSP_SERVE=1")
	c.cmd.Stderr = &c.errs
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.in.Close()
		if c.cmd.ProcessState == nil {
			c.cmd.Process.Kill()
			c.cmd.Wait()
		}
	})
	return c
}

// connect starts the process and initializes it.
func connect(t *testing.T) *client {
	c := start(t)
	c.ask("initialize", m{"capabilities": m{}}, nil)
	c.tell("initialized", m{})
	return c
}

func (c *client) raw(text string) {
	if _, err := io.WriteString(c.in, text); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) write(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		c.t.Fatal(err)
	}
	c.raw(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(b), b))
}

func (c *client) tell(method string, params any) {
	c.write(m{"jsonrpc": "2.0", "method": method, "params": params})
}

// request sends a request and returns its id.
func (c *client) request(method string, params any) int {
	c.next++
	c.write(m{"jsonrpc": "2.0", "id": c.next, "method": method, "params": params})
	return c.next
}

// read returns the next message, diagnostics noted.
func (c *client) read() reply {
	c.t.Helper()
	h, err := textproto.NewReader(c.out).ReadMIMEHeader()
	if err != nil {
		c.t.Fatalf("the server is gone: %v\n%s", err, c.errs.String())
	}
	n, err := strconv.Atoi(h.Get("Content-Length"))
	if err != nil {
		c.t.Fatal(err)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(c.out, body); err != nil {
		c.t.Fatal(err)
	}
	var r reply
	if err := json.Unmarshal(body, &r); err != nil {
		c.t.Fatalf("%v: %s", err, body)
	}
	if r.Method == "textDocument/publishDiagnostics" {
		var p published
		if err := json.Unmarshal(r.Params, &p); err != nil {
			c.t.Fatal(err)
		}
		c.lists[p.URI] = append(c.lists[p.URI], p)
	}
	return r
}

// answer waits for the response to request id.
func (c *client) answer(id int) reply {
	c.t.Helper()
	for {
		if r := c.read(); r.Method == "" && string(r.ID) == strconv.Itoa(id) {
			return r
		}
	}
}

// ask sends a request that must succeed.
func (c *client) ask(method string, params, result any) {
	c.t.Helper()
	r := c.answer(c.request(method, params))
	if r.Error != nil {
		c.t.Fatalf("%s: %d %s", method, r.Error.Code, r.Error.Message)
	}
	if result != nil {
		if err := json.Unmarshal(r.Result, result); err != nil {
			c.t.Fatalf("%s: %v in %s", method, err, r.Result)
		}
	}
}

// refused sends a request that must fail with that code, and returns the message.
func (c *client) refused(code int, method string, params any) string {
	c.t.Helper()
	r := c.answer(c.request(method, params))
	if r.Error == nil || r.Error.Code != code {
		c.t.Fatalf("%s: %+v, want error %d", method, r, code)
	}
	return r.Error.Message
}

func (c *client) open(uri, text string) {
	c.tell("textDocument/didOpen", m{"textDocument": m{"uri": uri, "languageId": "starpush", "version": 1, "text": text}})
}

// diagnostics waits until those of that version have come.
func (c *client) diagnostics(uri string, version int) published {
	c.t.Helper()
	for {
		if l := c.lists[uri]; len(l) > 0 && l[len(l)-1].Version != nil && *l[len(l)-1].Version == version {
			c.lists[uri] = nil
			return l[len(l)-1]
		}
		c.read()
	}
}

// leave ends the connection as the protocol asks, and checks the exit status.
func (c *client) leave() {
	c.t.Helper()
	c.ask("shutdown", nil, nil)
	c.tell("exit", nil)
	c.ends(0)
}

// ends waits for the process.
func (c *client) ends(status int) {
	c.t.Helper()
	io.Copy(io.Discard, c.out)
	c.cmd.Wait()
	if got := c.cmd.ProcessState.ExitCode(); got != status || c.errs.Len() > 0 {
		c.t.Errorf("exit status %d, want %d; standard error: %s", got, status, c.errs.String())
	}
}

// at is the params of a request about the k-th place of needle in text, in UTF-16
// units; "|" in needle says where the cursor is.
func at(t *testing.T, uri, text, needle string, k int) m {
	t.Helper()
	before, after, cursor := strings.Cut(needle, "|")
	i := 0
	for ; ; k-- {
		j := strings.Index(text[i:], before+after)
		if j < 0 {
			t.Fatalf("%q is not in the text so often", needle)
		}
		i += j
		if k == 0 {
			break
		}
		i++
	}
	if cursor {
		i += len(before)
	}
	line := strings.LastIndexByte(text[:i], '\n') + 1
	units := 0
	for _, r := range text[line:i] {
		units++
		if r > 0xffff {
			units++
		}
	}
	return m{"textDocument": m{"uri": uri}, "position": m{"line": strings.Count(text[:i], "\n"), "character": units}}
}

func with(p m, key string, value any) m {
	p[key] = value
	return p
}
