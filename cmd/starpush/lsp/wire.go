package lsp

// The transport: JSON-RPC 2.0 in frames that a header Content-Length begins.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxFrame bounds what one message may take.
const maxFrame = 64 << 20

// Codes of errors, as JSON-RPC and the protocol number them.
const (
	codeParse          = -32700
	codeInvalid        = -32600
	codeUnknownMethod  = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeNotInitialized = -32002
	codeFailed         = -32803
	codeCancelled      = -32800
)

// rpcError is the error of a response.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error implements error.
func (e *rpcError) Error() string { return e.Message }

func failf(code int, format string, args ...any) *rpcError {
	return &rpcError{code, fmt.Sprintf(format, args...)}
}

// A call is a request, or a notification when ID is nil.
type call struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// readFrame returns the body of the next message. A *rpcError says that a message
// is no good and that the next one can be read; other errors end the stream.
func readFrame(r *bufio.Reader) ([]byte, error) {
	length := int64(-1)
	var bad *rpcError
	for {
		line, err := readLine(r)
		if err != nil {
			return nil, err
		}
		line = strings.TrimRight(line, "\r")
		if line == "" {
			if length >= 0 || bad != nil {
				break
			}
			continue // behind a body that was longer than announced
		}
		// The rest of a broken message may come before the header.
		if i := strings.LastIndex(strings.ToLower(line), "content-length:"); i >= 0 {
			text := strings.TrimSpace(line[i+len("content-length:"):])
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || n < 0 {
				bad = failf(codeParse, "Content-Length is a number of bytes, not %q", text)
				continue
			}
			length = n
		} else if i := strings.IndexByte(line, ':'); i < 0 && length < 0 && bad == nil {
			bad = failf(codeParse, "a message begins with Content-Length")
		}
	}
	switch {
	case length > maxFrame:
		if _, err := io.CopyN(io.Discard, r, length); err != nil {
			return nil, err
		}
		return nil, failf(codeParse, "a message of %d bytes is more than %d", length, maxFrame)
	case length < 0:
		return nil, bad
	}
	// Memory is taken for bytes that arrive, not for the announced length.
	var body bytes.Buffer
	if _, err := io.CopyN(&body, r, length); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	return body.Bytes(), nil
}

// readLine reads up to a newline; of longer lines it keeps the beginning and the end.
func readLine(r *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > 8192 {
			line = append(line[:64:64], line[len(line)-4096:]...)
		}
		switch {
		case err == nil:
			return string(line[:len(line)-1]), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", err
		}
	}
}

// parseCall reads the body of a message; nil without error: the response to a
// request of ours.
func parseCall(body []byte) (*call, *rpcError) {
	if !json.Valid(body) {
		return nil, failf(codeParse, "the message is no JSON")
	}
	var c struct {
		call
		Result, Error json.RawMessage
	}
	if err := json.Unmarshal(body, &c); err != nil {
		return nil, failf(codeInvalid, "the message is no request: %v", err)
	}
	if string(c.ID) == "null" {
		c.ID = nil
	}
	if id := c.ID; len(id) > 0 && id[0] != '"' && id[0] != '-' && (id[0] < '0' || id[0] > '9') {
		return nil, failf(codeInvalid, "an id is a number or a string")
	}
	if c.Method == "" {
		if c.Result != nil || c.Error != nil {
			return nil, nil
		}
		return nil, failf(codeInvalid, "the message names no method")
	}
	return &c.call, nil
}

// writeFrame writes v as one message.
func writeFrame(w io.Writer, v any) error {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	text := bytes.TrimSuffix(body.Bytes(), []byte{'\n'})
	_, err := w.Write(append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(text)), text...))
	return err
}

type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"` // null when the request could not be read
	Result  any             `json:"result"`
}

type failure struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   *rpcError       `json:"error"`
}

type notification struct {
	Version string `json:"jsonrpc"`
	Method  string `json:"method"`
	Params  any    `json:"params"`
}
