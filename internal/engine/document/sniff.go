// Package document reads files that are not plain text: images, PDF and notebooks. It
// makes of them what a model accepts, or an error in words; it never hands on bytes
// that it has not decoded itself, because one bad image in a conversation makes every
// later request fail. It also edits notebooks.
//
// It works on bytes and touches no files, except that [RenderPages] runs a program on
// a copy in a temporary directory. Every function bounds its memory and its time by
// constants beside it. All functions are safe for concurrent use.
package document

import (
	"bytes"
	"path/filepath"
	"strings"
)

// Kind is what a file is by its content.
type Kind string

// Kinds of files. Other means that nothing was recognised: text, or unknown binary.
const (
	Other    Kind = ""
	Empty    Kind = "empty"
	PNG      Kind = "PNG"
	JPEG     Kind = "JPEG"
	GIF      Kind = "GIF"
	WebP     Kind = "WebP"
	BMP      Kind = "BMP"
	TIFF     Kind = "TIFF"
	HEIF     Kind = "HEIF"
	ICO      Kind = "ICO"
	SVG      Kind = "SVG" // is text
	PDF      Kind = "PDF"
	Notebook Kind = "notebook"
	Archive  Kind = "archive" // zip and what is made of it, gzip, xz, zstd, 7z, tar …
	Media    Kind = "audio or video"
	Program  Kind = "program"
)

// SniffBytes is how many bytes of a file [Sniff] needs at most.
const SniffBytes = 1024

// Model reports whether images of this kind are accepted by models.
func (k Kind) Model() bool { return k == PNG || k == JPEG || k == GIF || k == WebP }

// MIME returns the media type of the image kinds that models accept and of PDF, or "".
func (k Kind) MIME() string {
	switch k {
	case PNG:
		return "image/png"
	case JPEG:
		return "image/jpeg"
	case GIF:
		return "image/gif"
	case WebP:
		return "image/webp"
	case PDF:
		return "application/pdf"
	}
	return ""
}

var magics = []struct {
	at   int
	mark string
	kind Kind
}{
	{0, "\x89PNG\r\n\x1a\n", PNG}, {0, "\xff\xd8\xff", JPEG}, {0, "GIF87a", GIF}, {0, "GIF89a", GIF},
	{0, "II*\x00", TIFF}, {0, "MM\x00*", TIFF}, {0, "\x00\x00\x01\x00", ICO},
	{4, "ftypheic", HEIF}, {4, "ftypheix", HEIF}, {4, "ftypmif1", HEIF}, {4, "ftypavif", HEIF}, {4, "ftyp", Media},
	{0, "PK\x03\x04", Archive}, {0, "PK\x05\x06", Archive}, {0, "\x1f\x8b", Archive}, {0, "\xfd7zXZ\x00", Archive},
	{0, "\x28\xb5\x2f\xfd", Archive}, {0, "7z\xbc\xaf\x27\x1c", Archive}, {0, "BZh", Archive}, {257, "ustar", Archive},
	{0, "OggS", Media}, {0, "ID3", Media}, {0, "\x1aE\xdf\xa3", Media}, {0, "fLaC", Media},
	{0, "\x7fELF", Program}, {0, "MZ\x90\x00", Program}, {0, "\xcf\xfa\xed\xfe", Program}, {0, "\x00asm", Program},
}

// Sniff tells a file's kind by its first bytes. The name decides only between kinds
// that are JSON or XML text.
func Sniff(head []byte, name string) Kind {
	if len(head) == 0 {
		return Empty
	}
	for _, m := range magics {
		if len(head) >= m.at+len(m.mark) && string(head[m.at:m.at+len(m.mark)]) == m.mark {
			return m.kind
		}
	}
	if len(head) >= 12 && string(head[:4]) == "RIFF" {
		if string(head[8:12]) == "WEBP" {
			return WebP
		}
		return Media
	}
	// "BM" alone begins many texts; the reserved fields of a bitmap are null.
	if len(head) >= 18 && head[0] == 'B' && head[1] == 'M' && string(head[6:10]) == "\x00\x00\x00\x00" {
		return BMP
	}
	head = head[:min(len(head), SniffBytes)]
	if i := bytes.Index(head, []byte("%PDF-")); i == 0 || i > 0 && bytes.IndexByte(head[:i], 0) < 0 && strings.EqualFold(filepath.Ext(name), ".pdf") {
		return PDF
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	switch strings.ToLower(filepath.Ext(name)) {
	case ".ipynb":
		if bytes.HasPrefix(text, []byte("{")) {
			return Notebook
		}
	case ".svg":
		if bytes.HasPrefix(text, []byte("<")) {
			return SVG
		}
	}
	if bytes.HasPrefix(text, []byte("<svg")) {
		return SVG
	}
	return Other
}
