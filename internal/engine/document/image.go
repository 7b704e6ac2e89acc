package document

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"

	"golang.org/x/image/draw"
	"golang.org/x/image/webp"
)

// Defaults of ImageLimits.
const (
	// DefaultMaxEdge, in pixels: models scale larger images down themselves.
	DefaultMaxEdge = 1568
	// DefaultMaxEncoded is the largest image, in bytes of base64, that an API request takes.
	DefaultMaxEncoded = 5 << 20
	// DefaultRecompressOver is the size in bytes above which an image becomes a JPEG.
	DefaultRecompressOver = 500_000
	// DefaultMaxPixels guards against small files that decode to gigabytes.
	DefaultMaxPixels = 60_000_000
	// DefaultMaxImageFile is the largest image file, in bytes.
	DefaultMaxImageFile = 128 << 20
)

// ErrImage is wrapped by every refusal of an image.
var ErrImage = errors.New("not usable as an image")

// ImageLimits bound an image. A zero field means its default.
type ImageLimits struct {
	MaxEdge, MaxEncoded, RecompressOver, MaxPixels, MaxFile int
}

func (l ImageLimits) withDefaults() ImageLimits {
	for _, f := range []struct {
		v   *int
		def int
	}{{&l.MaxEdge, DefaultMaxEdge}, {&l.MaxEncoded, DefaultMaxEncoded}, {&l.RecompressOver, DefaultRecompressOver}, {&l.MaxPixels, DefaultMaxPixels}, {&l.MaxFile, DefaultMaxImageFile}} {
		if *f.v <= 0 {
			*f.v = f.def
		}
	}
	return l
}

// Picture is an image that models accept.
type Picture struct {
	MIME                          string
	Data                          []byte
	Width, Height                 int // of Data, in pixels
	OriginalWidth, OriginalHeight int
	OriginalSize                  int    // bytes of the file
	Note                          string // what was changed, in words; may be empty
}

// Image checks an image file by decoding all of it, and scales or recompresses it
// where it exceeds the limits. What cannot be decoded is an error that is ErrImage and
// says what the file is. Of an animation the first frame is taken.
func Image(data []byte, limits ImageLimits) (Picture, error) {
	l := limits.withDefaults()
	kind := Sniff(data, "")
	switch {
	case kind == Empty:
		return Picture{}, fmt.Errorf("the image file is empty (0 bytes): %w", ErrImage)
	case !kind.Model() && kind == Other:
		return Picture{}, fmt.Errorf("the content is no image, whatever the file's name says; PNG, JPEG, GIF and WebP are accepted: %w", ErrImage)
	case !kind.Model():
		return Picture{}, fmt.Errorf("the content is %s, but PNG, JPEG, GIF and WebP are accepted; convert it first: %w", kind, ErrImage)
	case len(data) > l.MaxFile:
		return Picture{}, fmt.Errorf("the image file has %d bytes, the limit is %d: %w", len(data), l.MaxFile, ErrImage)
	}
	cfg, err := decodeConfig(kind, data)
	if err != nil {
		return Picture{}, fmt.Errorf("the %s header is damaged (%v): %w", kind, err, ErrImage)
	}
	if cfg.Width <= 0 || cfg.Height <= 0 || cfg.Width > l.MaxPixels/cfg.Height {
		return Picture{}, fmt.Errorf("the image has %d×%d pixels, the limit is %d in all: %w", cfg.Width, cfg.Height, l.MaxPixels, ErrImage)
	}
	img, err := decode(kind, data)
	if err != nil {
		return Picture{}, fmt.Errorf("the %s data is damaged or cut short (%v): %w", kind, err, ErrImage)
	}
	p := Picture{MIME: kind.MIME(), Data: data, OriginalSize: len(data), OriginalWidth: cfg.Width, OriginalHeight: cfg.Height, Width: cfg.Width, Height: cfg.Height}
	edge := max(cfg.Width, cfg.Height)
	if kind != GIF && edge <= l.MaxEdge && len(data) <= l.RecompressOver && base64.StdEncoding.EncodedLen(len(data)) <= l.MaxEncoded {
		return p, nil
	}
	if kind == JPEG { // encoding again loses the mark that tells which side is up
		img = upright(img, orientation(data))
	}
	for size := min(edge, l.MaxEdge); size >= 1; size /= 2 {
		scaled := fit(img, size)
		mime, out, err := compress(kind, scaled, l)
		if err != nil {
			return Picture{}, fmt.Errorf("encode the image again: %v: %w", err, ErrImage)
		}
		if out == nil {
			continue
		}
		p.MIME, p.Data = mime, out
		p.Width, p.Height = scaled.Bounds().Dx(), scaled.Bounds().Dy()
		switch {
		case size < edge:
			p.Note = fmt.Sprintf("scaled from %d×%d to %d×%d pixels", cfg.Width, cfg.Height, p.Width, p.Height)
		case kind == GIF:
			p.Note = "the first frame of a GIF"
		case mime != kind.MIME() || len(out) < len(data):
			p.Note = "compressed again"
		}
		return p, nil
	}
	return Picture{}, fmt.Errorf("the image does not fit into %d bytes at any size: %w", l.MaxEncoded, ErrImage)
}

func decodeConfig(k Kind, data []byte) (cfg image.Config, err error) {
	defer recovered(&err)
	r := bytes.NewReader(data)
	switch k {
	case PNG:
		return png.DecodeConfig(r)
	case JPEG:
		return jpeg.DecodeConfig(r)
	case GIF:
		return gif.DecodeConfig(r)
	default:
		return webp.DecodeConfig(r)
	}
}

func decode(k Kind, data []byte) (img image.Image, err error) {
	defer recovered(&err)
	r := bytes.NewReader(data)
	switch k {
	case PNG:
		return png.Decode(r)
	case JPEG:
		return jpeg.Decode(r)
	case GIF:
		return gif.Decode(r)
	default:
		return webp.Decode(r)
	}
}

// recovered turns a decoder's panic on hostile input into an error.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the decoder gave up: %v", r)
	}
}

// fit scales img down so that its longer edge is at most edge.
func fit(img image.Image, edge int) image.Image {
	b := img.Bounds()
	long := max(b.Dx(), b.Dy())
	if long <= edge {
		return img
	}
	w, h := max(1, b.Dx()*edge/long), max(1, b.Dy()*edge/long)
	dst := image.NewNRGBA(image.Rect(0, 0, w, h))
	draw.CatmullRom.Scale(dst, dst.Bounds(), img, b, draw.Src, nil)
	return dst
}

// compress encodes img within the limits. It returns nil if that cannot be done at this size.
func compress(from Kind, img image.Image, l ImageLimits) (mime string, out []byte, err error) {
	fits := func(n int) bool { return base64.StdEncoding.EncodedLen(n) <= l.MaxEncoded }
	var buf bytes.Buffer
	if from != JPEG {
		if err := png.Encode(&buf, img); err != nil {
			return "", nil, err
		}
		if buf.Len() <= l.RecompressOver && fits(buf.Len()) {
			return PNG.MIME(), buf.Bytes(), nil
		}
	}
	flat := img
	if o, ok := img.(interface{ Opaque() bool }); !ok || !o.Opaque() { // JPEG knows no transparency
		rgba := image.NewRGBA(image.Rect(0, 0, img.Bounds().Dx(), img.Bounds().Dy()))
		draw.Draw(rgba, rgba.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
		draw.Draw(rgba, rgba.Bounds(), img, img.Bounds().Min, draw.Over)
		flat = rgba
	}
	for _, quality := range []int{85, 70, 50, 30} {
		buf.Reset()
		if err := jpeg.Encode(&buf, flat, &jpeg.Options{Quality: quality}); err != nil {
			return "", nil, err
		}
		if buf.Len() <= l.RecompressOver && fits(buf.Len()) {
			return JPEG.MIME(), buf.Bytes(), nil
		}
	}
	if fits(buf.Len()) {
		return JPEG.MIME(), buf.Bytes(), nil
	}
	return "", nil, nil
}
