package document

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/color/palette"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestSniff(t *testing.T) {
	for _, c := range []struct {
		head, name string
		want       Kind
	}{
		{"", "a.png", Empty}, {"\x89PNG\r\n\x1a\n", "a.txt", PNG}, {"\xff\xd8\xff\xe0", "", JPEG}, {"GIF89a", "", GIF},
		{"RIFF\x00\x00\x00\x00WEBPVP8 ", "", WebP}, {"RIFF\x00\x00\x00\x00WAVE", "", Media}, {"BM\x00\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00", "", BMP},
		{"BMW is a car maker with a text", "", Other}, {"II*\x00", "", TIFF}, {"%PDF-1.7", "x", PDF}, {"junk\n%PDF-1.7", "x.pdf", PDF}, {"about %PDF-1.7", "x.md", Other},
		{"PK\x03\x04", "a.docx", Archive}, {" {\"cells\"", "a.ipynb", Notebook}, {" {\"cells\"", "a.json", Other}, {"not json", "a.ipynb", Other},
		{"<svg xmlns", "a", SVG}, {"<?xml version='1.0'?><svg", "a.svg", SVG}, {"<html>", "x.png", Other}, {"\x7fELF", "", Program},
	} {
		if got := Sniff([]byte(c.head), c.name); got != c.want {
			t.Errorf("%q %s: %q, want %q", c.head, c.name, got, c.want)
		}
	}
}

func pngOf(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func noise(w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range img.Pix {
		img.Pix[i] = byte(r.Uint32()) | byte(i%4/3*255)
	}
	return img
}

// usable checks that p really is what it says.
func usable(t *testing.T, p Picture) {
	t.Helper()
	if Sniff(p.Data, "").MIME() != p.MIME {
		t.Errorf("the data is no %s", p.MIME)
	}
	cfg, _, err := image.DecodeConfig(bytes.NewReader(p.Data))
	if err != nil || cfg.Width != p.Width || cfg.Height != p.Height {
		t.Errorf("%+v %v, want %d×%d", cfg, err, p.Width, p.Height)
	}
	if max(p.Width, p.Height) > DefaultMaxEdge || base64.StdEncoding.EncodedLen(len(p.Data)) > DefaultMaxEncoded {
		t.Errorf("too large: %d×%d, %d bytes", p.Width, p.Height, len(p.Data))
	}
}

func TestImageSmallStaysAsItIs(t *testing.T) {
	data := pngOf(t, noise(20, 10))
	p, err := Image(data, ImageLimits{})
	if err != nil || !bytes.Equal(p.Data, data) || p.MIME != "image/png" || p.Note != "" {
		t.Fatalf("%+v %v", p.Note, err)
	}
	usable(t, p)
}

func TestImageLarge(t *testing.T) {
	p, err := Image(pngOf(t, image.NewGray(image.Rect(0, 0, 9000, 300))), ImageLimits{})
	if err != nil || p.Width != DefaultMaxEdge || p.Height != 52 || p.OriginalWidth != 9000 || p.MIME != "image/png" {
		t.Fatalf("%d×%d %s %v", p.Width, p.Height, p.MIME, err)
	}
	usable(t, p)
	p, err = Image(pngOf(t, noise(600, 600)), ImageLimits{}) // more than 500 KB as a PNG
	if err != nil || p.MIME != "image/jpeg" || len(p.Data) > DefaultRecompressOver || p.Width != 600 {
		t.Fatalf("%d %s %v", len(p.Data), p.MIME, err)
	}
	usable(t, p)
	p, err = Image(pngOf(t, noise(600, 600)), ImageLimits{MaxEncoded: 10_000})
	if err != nil || base64.StdEncoding.EncodedLen(len(p.Data)) > 10_000 || p.Width >= 600 {
		t.Fatalf("%d %v", len(p.Data), err)
	}
}

func TestImageAnimatedGIF(t *testing.T) {
	g := &gif.GIF{}
	for i := range 3 {
		f := image.NewPaletted(image.Rect(0, 0, 8, 6), palette.Plan9)
		for k := range f.Pix {
			f.Pix[k] = byte(i * 50)
		}
		g.Image, g.Delay = append(g.Image, f), append(g.Delay, 10)
	}
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, g); err != nil {
		t.Fatal(err)
	}
	p, err := Image(b.Bytes(), ImageLimits{})
	if err != nil || p.MIME != "image/png" || !strings.Contains(p.Note, "first frame") {
		t.Fatalf("%+v %v", p.Note, err)
	}
	usable(t, p)
}

// bomb is a PNG whose header claims a size that its data does not have.
func bomb(w, h uint32) []byte {
	ihdr := make([]byte, 17)
	copy(ihdr, "IHDR")
	binary.BigEndian.PutUint32(ihdr[4:], w)
	binary.BigEndian.PutUint32(ihdr[8:], h)
	ihdr[12], ihdr[13] = 8, 6
	out := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), ihdr...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(ihdr))
}

func TestImageRefused(t *testing.T) {
	good := pngOf(t, noise(50, 50))
	var j bytes.Buffer
	jpeg.Encode(&j, noise(50, 50), nil)
	for _, c := range []struct {
		name string
		data []byte
		says string
	}{
		{"empty", nil, "empty"},
		{"html saved as png", []byte("<!doctype html><title>404</title>"), "no image"},
		{"short png", good[:len(good)/2], "damaged"},
		{"header only", good[:20], "damaged"},
		{"short jpeg", j.Bytes()[:j.Len()/2], "damaged"},
		{"bomb", bomb(100_000, 100_000), "pixels"},
		{"overflow", bomb(0x7fffffff, 0x7fffffff), ""},
		{"claims more than it has", bomb(2000, 2000), "damaged"},
		{"bmp", []byte("BM\x00\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00"), "BMP"},
		{"svg", []byte("<svg/>"), "SVG"},
		{"pdf", []byte("%PDF-1.4"), "PDF"},
	} {
		p, err := Image(c.data, ImageLimits{})
		if !errors.Is(err, ErrImage) || !strings.Contains(err.Error(), c.says) || p.Data != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := Image(good, ImageLimits{MaxFile: 100}); !errors.Is(err, ErrImage) {
		t.Error(err)
	}
}

func TestImageOrientation(t *testing.T) {
	img := image.NewNRGBA(image.Rect(0, 0, 2000, 1000))
	for y := range 1000 {
		for x := range 2000 {
			c := color.NRGBA{255, 255, 255, 255}
			if x < 1000 && y < 500 {
				c = color.NRGBA{255, 0, 0, 255} // the top left quarter is red
			}
			img.SetNRGBA(x, y, c)
		}
	}
	var b bytes.Buffer
	jpeg.Encode(&b, img, nil)
	exif := "Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00\x00\x00\x00\x00"
	data := append([]byte("\xff\xd8\xff\xe1\x00"+string(rune(len(exif)+2))+exif), b.Bytes()[2:]...)
	p, err := Image(data, ImageLimits{})
	if err != nil || p.Width >= p.Height {
		t.Fatalf("%d×%d %v", p.Width, p.Height, err)
	}
	usable(t, p)
	out, _, _ := image.Decode(bytes.NewReader(p.Data))
	if r, g, _, _ := out.At(p.Width-20, 20).RGBA(); r>>8 < 200 || g>>8 > 80 { // turned right: red is top right
		t.Errorf("red is not at the top right")
	}
}

func FuzzImage(f *testing.F) {
	f.Add(pngOf(f, noise(5, 5)))
	f.Add([]byte("GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"))
	f.Add([]byte("RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Image(data, ImageLimits{MaxPixels: 100_000, MaxEdge: 64})
		if err != nil && !errors.Is(err, ErrImage) {
			t.Fatal(err)
		}
		if err == nil && (max(p.Width, p.Height) > 64 || len(p.Data) == 0) {
			t.Fatalf("%d×%d", p.Width, p.Height)
		}
		_ = orientation(append([]byte("\xff\xd8"), data...))
	})
}
