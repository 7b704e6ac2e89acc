package openai

import (
	"bufio"
	"bytes"
	"io"

	"github.com/sevengate/sevengate/internal/model"
)

// dataLines passes on the data lines of an event stream and nothing else, each
// with an end of line. It puts a space before the data where that is an error,
// since the SDK would otherwise wait for more before it reports one.
type dataLines struct {
	body io.ReadCloser
	in   *bufio.Reader
	rest []byte // of the line that is being read
	err  error
	done bool // the server said that there is no more
}

func newDataLines(body io.ReadCloser) *dataLines {
	return &dataLines{body: body, in: bufio.NewReaderSize(body, 16<<10)}
}

func (d *dataLines) Read(p []byte) (int, error) {
	for len(d.rest) == 0 {
		if d.err != nil {
			return 0, d.err
		}
		// The length of a line is bounded by that of the response.
		var line []byte
		line, d.err = d.in.ReadBytes('\n')
		if d.err != nil && d.err != io.EOF {
			continue // half a line of a cut stream
		}
		line = bytes.TrimPrefix(bytes.TrimSpace(line), []byte("\xef\xbb\xbf"))
		data, found := bytes.CutPrefix(line, []byte("data:"))
		data = bytes.TrimSpace(data)
		if !found || len(data) == 0 {
			continue
		}
		d.done = d.done || string(data) == "[DONE]"
		d.rest = make([]byte, 0, len(data)+10)
		d.rest = append(d.rest, "data: "...)
		if data[0] == '{' {
			d.rest = append(d.rest, "{ "...)
			data = data[1:]
		}
		d.rest = append(append(d.rest, data...), '\n')
	}
	n := copy(p, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

func (d *dataLines) Close() error {
	if d.done {
		model.Drain(d.body)
		return nil
	}
	return d.body.Close()
}
