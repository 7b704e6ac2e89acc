package model

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Limits of one response.
const (
	// IdleTimeout is how long a server may send nothing at all before the
	// response counts as cut. Any byte counts as life, keep-alives too.
	IdleTimeout = 5 * time.Minute
	// MaxResponseBytes bounds one response as it comes over the wire.
	MaxResponseBytes = 64 << 20
	// maxErrorBytes bounds what is read of a refusal.
	maxErrorBytes = 64 << 10
	// maxMessageRunes bounds what an error quotes of a server's words.
	maxMessageRunes = 2_000
)

// ErrIdle says that a server went silent.
var ErrIdle = errors.New("the server sent nothing")

// ErrTooLarge says that a response is larger than its bound.
var ErrTooLarge = errors.New("the response is too large")

var errRedirect = errors.New("the server answered with a redirect, which is not followed since the key would go with it")

// HTTPOptions are the bounds of a client. The zero value has the defaults.
type HTTPOptions struct {
	Transport http.RoundTripper // nil means http.DefaultTransport
	Idle      time.Duration     // 0 means IdleTimeout
	MaxBytes  int64             // 0 means MaxResponseBytes
}

// NewHTTPClient makes the client that providers use: it ends a response that
// falls silent with [ErrIdle] and one that grows too large with [ErrTooLarge],
// and follows no redirect. Time in which nobody reads is no silence.
func NewHTTPClient(o HTTPOptions) *http.Client {
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	if o.Idle <= 0 {
		o.Idle = IdleTimeout
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = MaxResponseBytes
	}
	return &http.Client{Transport: guard{o}}
}

// Body is a request body that knows its length and can be sent again, which the
// client needs to find out where it lies behind an interface.
type Body interface {
	io.ReadCloser
	Size() int64
	Again() io.ReadCloser
}

type guard struct{ HTTPOptions }

func (g guard) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	idle := fmt.Errorf("%w for %v", ErrIdle, g.Idle)
	timer := time.AfterFunc(g.Idle, func() { cancel(idle) })
	r = r.WithContext(ctx)
	if body, ok := r.Body.(Body); ok && r.GetBody == nil {
		r.ContentLength = body.Size()
		r.GetBody = func() (io.ReadCloser, error) { return body.Again(), nil }
	}
	res, err := g.Transport.RoundTrip(r)
	timer.Stop()
	if err != nil {
		if context.Cause(ctx) == idle {
			err = idle
		}
		cancel(nil)
		return nil, err
	}
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		_ = res.Body.Close()
		cancel(nil)
		return nil, errRedirect
	}
	body := &guardedBody{body: res.Body, timer: timer, idle: g.Idle, left: g.MaxBytes, ctx: ctx, cancel: cancel, silent: idle}
	if res.StatusCode >= 400 {
		body.left, body.cutQuietly = maxErrorBytes, true
	}
	res.Body = body
	return res, nil
}

// guardedBody watches over the reads of one body. The timer runs only while a
// read waits.
type guardedBody struct {
	body       io.ReadCloser
	timer      *time.Timer
	idle       time.Duration
	left       int64
	cutQuietly bool
	ctx        context.Context
	cancel     context.CancelCauseFunc
	silent     error
	closing    sync.Once
}

func (b *guardedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		if b.cutQuietly {
			return 0, io.EOF
		}
		return 0, ErrTooLarge
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	b.timer.Reset(b.idle)
	n, err := b.body.Read(p)
	b.timer.Stop()
	b.left -= int64(n)
	if err != nil && err != io.EOF && context.Cause(b.ctx) == b.silent {
		err = b.silent
	}
	return n, err
}

func (b *guardedBody) Close() error {
	var err error
	b.closing.Do(func() {
		b.timer.Stop()
		err = b.body.Close()
		b.cancel(nil)
	})
	return err
}

// ConnectionError classifies what went wrong below the API: nearly everything is
// [*Transient]; a certificate that is not trusted, a redirect, an address that
// is none and a response that is too large are final. The error's text names the host at most.
func ConnectionError(err error) error {
	var transient *Transient
	if err == nil || errors.As(err, &transient) || errors.Is(err, errStopped) {
		return err
	}
	if errors.Is(err, ErrTooLarge) {
		return fmt.Errorf("%w: more than the allowed bytes", err)
	}
	var outer *url.Error
	host := ""
	if errors.As(err, &outer) {
		if u, parseErr := url.Parse(outer.URL); parseErr == nil {
			host = u.Host
		}
		err = outer.Err
	}
	if host != "" {
		err = fmt.Errorf("talk to %s: %w", host, err)
	}
	var (
		unknown  x509.UnknownAuthorityError
		hostname x509.HostnameError
		invalid  x509.CertificateInvalidError
		verify   *tls.CertificateVerificationError
	)
	switch {
	case errors.Is(err, errRedirect), errors.As(err, &unknown), errors.As(err, &hostname), errors.As(err, &invalid), errors.As(err, &verify):
		return err
	case strings.Contains(err.Error(), "unsupported protocol scheme"), strings.Contains(err.Error(), "no Host in request URL"):
		return err
	}
	return &Transient{Err: err}
}

// minSecret is the length from which a text is worth hiding.
const minSecret = 4

// Scrub shortens a server's words to what an error may quote and takes out the
// secrets, should the server have echoed them.
func Scrub(text string, secrets ...string) string {
	for _, secret := range secrets {
		if len(secret) >= minSecret {
			text = strings.ReplaceAll(text, secret, "[hidden]")
		}
	}
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	if runes := []rune(text); len(runes) > maxMessageRunes {
		text = string(runes[:maxMessageRunes]) + "…"
	}
	return text
}

// DrainTime is how long [Drain] waits for the end of a body.
const DrainTime = 20 * time.Millisecond

// Drain reads what is left of the body of a complete response, which is at most
// its end, so that the connection can be used again, and closes it. It waits
// for [DrainTime] at most.
func Drain(body io.ReadCloser) {
	timer := time.AfterFunc(DrainTime, func() { _ = body.Close() })
	_, _ = io.CopyN(io.Discard, body, 4096)
	timer.Stop()
	_ = body.Close()
}

// NewToolUseID makes an id for a tool_use block that came without one.
func NewToolUseID() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // it never fails
	return "toolu_" + hex.EncodeToString(b[:])
}
