package lspclient

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

// Limits of one message from a server.
const (
	// MaxHeaderBytes bounds the header lines.
	MaxHeaderBytes = 8 << 10
	// MaxBodyBytes bounds the body.
	MaxBodyBytes = 64 << 20
	// MaxDepth bounds how deep JSON values are nested.
	MaxDepth = 256
)

// readFrame reads one message. Any error but io.EOF between two messages means that
// the stream cannot be followed any more.
func readFrame(r *bufio.Reader) (json.RawMessage, error) {
	length, total := -1, 0
	for {
		line, err := r.ReadSlice('\n')
		total += len(line)
		switch {
		case errors.Is(err, io.EOF) && total == 0:
			return nil, io.EOF
		case errors.Is(err, bufio.ErrBufferFull) || total > MaxHeaderBytes:
			return nil, fmt.Errorf("the header of a message is longer than %d bytes", MaxHeaderBytes)
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
		text := strings.TrimRight(string(line), "\r\n")
		if text == "" {
			break
		}
		name, value, ok := strings.Cut(text, ":")
		if !ok {
			return nil, fmt.Errorf("something else than a message: %.80q", text)
		}
		if !strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
			continue
		}
		n, err := strconv.Atoi(strings.TrimSpace(value))
		if err != nil || n < 0 || length >= 0 && length != n {
			return nil, fmt.Errorf("a message whose Content-Length is %.80q", value)
		}
		length = n
	}
	if length < 0 {
		return nil, errors.New("a message without Content-Length")
	}
	if length > MaxBodyBytes {
		return nil, fmt.Errorf("a message of %d bytes; at most %d are read", length, MaxBodyBytes)
	}
	// The length is only a claim: memory grows with what really comes.
	var body bytes.Buffer
	if n, err := io.CopyN(&body, r, int64(length)); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("a message of %d bytes ended after %d: %w", length, n, err)
	}
	if depth(body.Bytes()) > MaxDepth {
		return nil, fmt.Errorf("a message nested deeper than %d", MaxDepth)
	}
	return body.Bytes(), nil
}

// writeFrame writes one message at once.
func writeFrame(w io.Writer, body []byte) error {
	frame := make([]byte, 0, len(body)+32)
	frame = fmt.Appendf(frame, "Content-Length: %d\r\n\r\n", len(body))
	_, err := w.Write(append(frame, body...))
	return err
}

// depth is how deep the values of a JSON text are nested, at least where it is one.
func depth(data []byte) int {
	deepest, now, inString := 0, 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString:
			if c == '\\' {
				i++
			} else if c == '"' {
				inString = false
			}
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			now++
			deepest = max(deepest, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return deepest
}
