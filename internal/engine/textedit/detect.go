package textedit

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/wlynxg/chardet"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	utf "golang.org/x/text/encoding/unicode"
)

const (
	// sampleBytes is how much of the text with high bytes the statistics look at.
	sampleBytes = 64 << 10
	// sureEnough is the confidence from which the statistics are believed for a
	// multi-byte encoding.
	sureEnough = 0.8
)

// codec returns the codec of an encoding other than UTF-8.
func codec(e Encoding) encoding.Encoding {
	switch e {
	case UTF16LE:
		return utf.UTF16(utf.LittleEndian, utf.IgnoreBOM)
	case UTF16BE:
		return utf.UTF16(utf.BigEndian, utf.IgnoreBOM)
	case Windows1252:
		return charmap.Windows1252
	case ShiftJIS:
		return japanese.ShiftJIS
	case EUCJP:
		return japanese.EUCJP
	case GBK:
		return simplifiedchinese.GBK
	case GB18030:
		return simplifiedchinese.GB18030
	case Big5:
		return traditionalchinese.Big5
	case EUCKR:
		return korean.EUCKR
	}
	return encoding.Nop
}

// detect finds the encoding of data and decodes it, without its byte order mark.
func detect(data []byte) (Text, string, error) {
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		t := Text{enc: UTF8, bom: true}
		body := data[3:]
		if bytes.IndexByte(body, 0) >= 0 {
			return Text{}, "", ErrBinary
		}
		if !utf8.Valid(body) {
			t.bad = 3 + firstInvalid(body) + 1
			return t, strings.ToValidUTF8(string(body), "\ufffd"), nil
		}
		return t, string(body), nil
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		enc := UTF16LE
		if data[0] == 0xfe {
			enc = UTF16BE
		}
		return decode16(data, enc, true)
	}
	if nul := bytes.IndexByte(data, 0); nul >= 0 {
		if enc, ok := looks16(data); ok {
			if t, s, err := decode16(data, enc, false); err == nil && t.bad == 0 {
				return t, s, nil
			}
		}
		return Text{}, "", ErrBinary
	}
	if utf8.Valid(data) {
		if tooManyControls(data) {
			return Text{}, "", ErrBinary
		}
		return Text{enc: UTF8}, string(data), nil
	}
	if tooManyControls(data) {
		return Text{}, "", ErrBinary
	}
	if !mostlyUTF8(data) {
		for _, enc := range candidates(data) {
			if s, ok := roundTrips(data, enc); ok {
				return Text{enc: enc, guessed: true}, s, nil
			}
		}
	}
	return Text{enc: UTF8, bad: firstInvalid(data) + 1}, strings.ToValidUTF8(string(data), "\ufffd"), nil
}

func firstInvalid(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return len(b)
}

// tooManyControls tells texts from binary formats without null bytes.
func tooManyControls(data []byte) bool {
	head := data[:min(len(data), sampleBytes)]
	n := 0
	for _, c := range head {
		if c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != 0x1b && c != '\b' || c == 0x7f {
			n++
		}
	}
	return n*10 > len(head)
}

// mostlyUTF8 reports whether data is UTF-8 with damage rather than another encoding.
func mostlyUTF8(data []byte) bool {
	good, bad := 0, 0
	for i := 0; i < len(data); {
		if data[i] < 0x80 {
			i++
			continue
		}
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n <= 1 {
			bad++
		} else {
			good++
		}
		i += n
	}
	return good >= bad
}

// looks16 tells UTF-16 without a mark by its null bytes: in a text of mostly Latin
// letters they all stand on one side.
func looks16(data []byte) (Encoding, bool) {
	if len(data)%2 != 0 || len(data) < 4 {
		return "", false
	}
	var even, odd int
	head := data[:min(len(data), sampleBytes)]
	for i, c := range head {
		if c == 0 {
			if i%2 == 0 {
				even++
			} else {
				odd++
			}
		}
	}
	half := len(head) / 2
	switch {
	case even == 0 && odd*4 > half*3:
		return UTF16LE, true
	case odd == 0 && even*4 > half*3:
		return UTF16BE, true
	}
	return "", false
}

func decode16(data []byte, enc Encoding, bom bool) (Text, string, error) {
	t := Text{enc: enc, bom: bom}
	dec, err := codec(enc).NewDecoder().Bytes(data)
	if err != nil {
		return Text{}, "", ErrBinary
	}
	s := strings.TrimPrefix(string(dec), "\ufeff")
	if !bom {
		s = string(dec)
	}
	if strings.ContainsRune(s, 0) || tooManyControls([]byte(s)) {
		return Text{}, "", ErrBinary
	}
	if back, err := codec(enc).NewEncoder().Bytes(dec); err != nil || !bytes.Equal(back, data) {
		i := 0
		for i < len(back) && i < len(data) && back[i] == data[i] {
			i++
		}
		t.bad = min(i, len(data)-1) + 1
	}
	return t, s, nil
}

// candidates lists the encodings that data may have, the likeliest first.
func candidates(data []byte) []Encoding {
	sample := highLines(data)
	var out []Encoding
	for _, r := range chardet.DetectAll(sample) {
		if enc, ok := named(r.Encoding); ok && r.Confidence >= sureEnough {
			out = append(out, enc)
			if enc == GBK {
				out = append(out, GB18030)
			}
		}
	}
	// The statistics miss short Japanese texts; kana settle the question.
	if s, ok := roundTrips(data, ShiftJIS); ok && mostlyKana(s) {
		out = append([]Encoding{ShiftJIS}, out...)
	}
	return append(out, Windows1252)
}

func named(name string) (Encoding, bool) {
	switch strings.ToUpper(name) {
	case "SHIFT_JIS", "SHIFT-JIS", "CP932", "WINDOWS-31J":
		return ShiftJIS, true
	case "EUC-JP":
		return EUCJP, true
	case "GB2312", "GBK":
		return GBK, true
	case "GB18030":
		return GB18030, true
	case "BIG5":
		return Big5, true
	case "EUC-KR", "CP949", "UHC":
		return EUCKR, true
	}
	return "", false
}

// highLines returns the lines that have bytes above ASCII, up to sampleBytes.
func highLines(data []byte) []byte {
	var out []byte
	for line := range bytes.Lines(data) {
		if bytes.IndexFunc(line, func(r rune) bool { return r >= 0x80 }) >= 0 {
			out = append(out, line[:min(len(line), sampleBytes-len(out))]...)
			if len(out) >= sampleBytes {
				break
			}
		}
	}
	return out
}

// roundTrips decodes data if it decodes without loss to characters that texts have.
func roundTrips(data []byte, enc Encoding) (string, bool) {
	s, err := codec(enc).NewDecoder().Bytes(data)
	if err != nil {
		return "", false
	}
	for _, r := range string(s) {
		if r >= 0x80 && (r == utf8.RuneError || r < 0xa0 || unicode.Is(unicode.Co, r)) {
			return "", false
		}
	}
	back, err := codec(enc).NewEncoder().Bytes(s)
	return string(s), err == nil && bytes.Equal(back, data)
}

// mostlyKana reports whether the characters above ASCII are Japanese beyond doubt:
// all full-width, with hiragana or katakana among them.
func mostlyKana(s string) bool {
	kana, other, total := 0, 0, 0
	for _, r := range s {
		if r < 0x80 {
			continue
		}
		total++
		switch {
		case r >= 0x3041 && r <= 0x30ff:
			kana++
		case r >= 0xff61 && r <= 0xff9f: // half-width forms: any high byte decodes to one
			other++
		}
	}
	return kana*5 >= total && other*10 <= total
}
