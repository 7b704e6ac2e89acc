package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// MaxMessageBytes bounds one message of a server. A larger answer becomes an
// error of its call; the connection stays.
const MaxMessageBytes = 32 << 20

// lineReader reads the messages that stand on a server's standard output, one a
// line. What is no message (servers print greetings) goes to the log, and an
// answer that is too large is replaced by an error.
type lineReader struct {
	r     *bufio.Reader
	log   *ring
	err   error
	ended chan struct{} // closed at the end of the output
}

func newLineReader(r io.Reader, log *ring) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10), log: log, ended: make(chan struct{})}
}

// read gives the messages of the next line that has some.
func (l *lineReader) read() ([]jsonrpc.Message, error) {
	for l.err == nil {
		var all []jsonrpc.Message
		if all, l.err = l.next(); l.err != nil {
			close(l.ended)
		}
		if len(all) > 0 {
			return all, nil
		}
	}
	return nil, l.err
}

// next reads one line; it gives nothing where the line is no message.
func (l *lineReader) next() ([]jsonrpc.Message, error) {
	var line []byte
	var over *idScanner
	for {
		part, err := l.r.ReadSlice('\n')
		switch {
		case over != nil:
			_, _ = over.Write(part)
		case len(line)+len(part) > MaxMessageBytes:
			over = &idScanner{}
			_, _ = over.Write(line)
			_, _ = over.Write(part)
			line = nil
		default:
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return l.messages(line, over), err
	}
}

// messages decodes a line, which may be a list of messages: servers of revision
// 2025-03-26 answer with one.
func (l *lineReader) messages(line []byte, over *idScanner) (all []jsonrpc.Message) {
	if over != nil {
		l.log.line(fmt.Sprintf("[sevengate] a message of more than %d bytes was dropped", MaxMessageBytes))
		if len(over.id) == 0 || over.request {
			return nil
		}
		line = tooLarge(over.id)
	}
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil
	}
	var several []json.RawMessage
	if line[0] != '[' || json.Unmarshal(line, &several) != nil {
		several = []json.RawMessage{line}
	}
	for _, one := range several {
		m, err := jsonrpc.DecodeMessage(one)
		if err != nil { // passed on, it would end the connection
			l.log.line("[stdout] " + string(one[:min(len(one), maxLogLine/2)]))
			continue
		}
		all = append(all, m)
	}
	return all
}

// tooLarge is the answer that stands for one that was dropped.
func tooLarge(id []byte) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"the server's answer has more than %d bytes and was dropped"}}`+"\n",
		id, codeTooLarge, MaxMessageBytes)
}

// codeTooLarge is a code of ours, outside of what the protocol uses.
const codeTooLarge = -32900

// idScanner finds the id of a message without keeping the message.
type idScanner struct {
	depth   int
	str     bool
	esc     bool
	key     []byte
	capture bool
	id      []byte
	request bool // it has a method: it is no answer
}

func (s *idScanner) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		if s.str && !s.esc && s.depth > 1 { // most of a large message is text
			i := bytes.IndexByte(p, '"')
			if i < 0 {
				i = len(p)
			}
			if j := bytes.IndexByte(p[:i], '\\'); j >= 0 {
				i = j
			}
			if p = p[i:]; len(p) == 0 {
				break
			}
		}
		s.next(p[0])
		p = p[1:]
	}
	return n, nil
}

func (s *idScanner) next(c byte) {
	top := s.depth == 1
	if s.str {
		switch {
		case s.esc:
			s.esc = false
		case c == '\\':
			s.esc = true
		case c == '"':
			s.str = false
		}
		s.keep(c, top)
		if s.str && top && !s.capture && len(s.key) < 16 {
			s.key = append(s.key, c)
		}
		return
	}
	switch c {
	case '"':
		s.str = true
		s.key = s.key[:0]
		s.keep(c, top)
	case '{', '[':
		s.depth++
	case '}', ']':
		s.depth--
		if s.depth == 0 {
			s.capture = false
		}
	case ':':
		if top {
			switch string(s.key) {
			case "id":
				s.capture, s.id = true, nil
			case "method":
				s.request = true
			}
		}
	case ',':
		if top {
			s.capture = false
		}
	case ' ', '\t', '\r', '\n':
	default:
		s.keep(c, top)
	}
}

// keep collects the value of the id; one that is longer than any real id is
// given up.
func (s *idScanner) keep(c byte, top bool) {
	if s.capture && top {
		if s.id = append(s.id, c); len(s.id) > 200 {
			s.capture, s.id = false, nil
		}
	}
}
