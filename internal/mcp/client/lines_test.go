package client

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"pgregory.net/rapid"
)

// What is found as the id of a message is its id, wherever it stands.
func TestIDScanner(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		noise := rapid.MapOf(rapid.StringMatching(`[a-z"\\{}:,]{0,6}`), rapid.OneOf(
			rapid.Map(rapid.String(), func(s string) any { return s }),
			rapid.Map(rapid.Int(), func(i int) any { return i }),
			rapid.Map(rapid.SliceOf(rapid.String()), func(s []string) any { return s }),
			rapid.Map(rapid.MapOf(rapid.SampledFrom([]string{"id", "method", "x"}), rapid.String()), func(m map[string]string) any { return m }),
		)).Draw(t, "noise")
		delete(noise, "id")
		delete(noise, "method")
		var id any = rapid.Int().Draw(t, "number")
		if rapid.Bool().Draw(t, "text") {
			id = rapid.StringN(0, 10, 20).Draw(t, "id")
		}
		noise["id"] = id
		request := rapid.Bool().Draw(t, "request")
		if request {
			noise["method"] = "m"
		}
		raw, err := json.Marshal(noise)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := json.Marshal(id)
		s := &idScanner{}
		cut := rapid.IntRange(0, len(raw)).Draw(t, "cut")
		_, _ = s.Write(raw[:cut])
		_, _ = s.Write(raw[cut:])
		if string(s.id) != string(want) || s.request != request {
			t.Fatalf("%s: found %s (request %v), want %s", raw, s.id, s.request, want)
		}
	})
}

func FuzzLineReader(f *testing.F) {
	f.Add("{\"a\":1}\nhello\n{\"b\"\n\n[1]\r\n{\"c\":2}")
	f.Fuzz(func(t *testing.T, in string) {
		l := newLineReader(strings.NewReader(in), &ring{})
		for {
			all, err := l.read()
			if err != nil {
				if err != io.EOF {
					t.Fatal(err)
				}
				return
			}
			for _, m := range all {
				if _, err := jsonrpc.EncodeMessage(m); err != nil {
					t.Fatalf("%q: %v", in, err)
				}
			}
		}
	})
}

func TestRing(t *testing.T) {
	r := &ring{}
	long := strings.Repeat("a", 3*maxLogLine)
	io.WriteString(r, "one\r\ntw")
	io.WriteString(r, "o\n"+long+"\nthree")
	text, dropped := r.text()
	if text != "one\ntwo\n"+long[:maxLogLine]+"\nthree" || dropped != 0 {
		t.Errorf("%q %d", text, dropped)
	}
	r.line("a\nb")
	if text, _ := r.text(); !strings.HasSuffix(text, "\nthree\na b") {
		t.Errorf("%q", text[len(text)-30:])
	}
}

func TestRepairPNG(t *testing.T) {
	broken := bytes.Clone(onePixel)
	broken[len(pngMagic)+8+13] ^= 1 // the checksum of the first chunk
	if got := repairPNG(broken); !bytes.Equal(got, onePixel) {
		t.Errorf("%x", got)
	}
	for _, bad := range [][]byte{nil, onePixel[:20], onePixel[:len(onePixel)-12], append(bytes.Clone(pngMagic), 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0)} {
		if got := repairPNG(bad); got != nil {
			t.Errorf("%x gives %x", bad, got)
		}
	}
}
