// Package anthropic streams responses of the Messages API through Anthropic's
// own SDK. It reads no environment, runs no tools and keeps no conversation;
// what it keeps is the encoded form of messages it has sent, for as long as
// the caller holds them.
package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/ssestream"

	"github.com/sevengate/sevengate/internal/model"
)

// Options say how the API is reached.
type Options struct {
	APIKey    string // one of the two is needed, unless BaseURL is set
	AuthToken string // counts before APIKey
	BaseURL   string // "" means the public API; the path v1/messages is added

	Beta []string // values of the anthropic-beta header
	// Extra holds further fields of every request, such as thinking. What this
	// package writes itself is refused here.
	Extra map[string]json.RawMessage

	Retry model.Retry
	HTTP  model.HTTPOptions
}

// Provider streams from the Messages API. It is safe for concurrent use.
type Provider struct {
	client  sdk.Client
	options Options
	encoder *encoder
}

// New makes a provider. It contacts nobody. Without any key for the public API
// the error is [model.ErrNoKey].
func New(o Options) (*Provider, error) {
	o.APIKey, o.AuthToken = strings.TrimSpace(o.APIKey), strings.TrimSpace(o.AuthToken)
	if o.APIKey == "" && o.AuthToken == "" && o.BaseURL == "" {
		return nil, fmt.Errorf("%w for the Anthropic API: set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN", model.ErrNoKey)
	}
	encoder, err := newEncoder(o.Extra)
	if err != nil {
		return nil, err
	}
	options := []option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithHTTPClient(model.NewHTTPClient(o.HTTP)),
		option.WithMaxRetries(0), // there is one policy, ours
	}
	if o.BaseURL != "" {
		u, err := url.Parse(o.BaseURL)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return nil, errors.New("the base URL of the Anthropic API is none: give one such as https://api.anthropic.com")
		}
		options = append(options, option.WithBaseURL(o.BaseURL))
	}
	switch {
	case o.AuthToken != "":
		options = append(options, option.WithAuthToken(o.AuthToken))
	case o.APIKey != "":
		options = append(options, option.WithAPIKey(o.APIKey))
	}
	if len(o.Beta) > 0 {
		options = append(options, option.WithHeader("anthropic-beta", strings.Join(o.Beta, ",")))
	}
	return &Provider{client: sdk.NewClient(options...), options: o, encoder: encoder}, nil
}

// Stream sends the request and streams the response; see [model.Provider].
func (p *Provider) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		body, err := p.encoder.encode(r)
		if err != nil {
			yield(model.Event{}, err)
			return
		}
		p.options.Retry.Stream(ctx, func(ctx context.Context, emit func(model.Event) error) error {
			return p.attempt(ctx, body, emit)
		})(yield)
	}
}

func (p *Provider) attempt(ctx context.Context, body *body, emit func(model.Event) error) error {
	var res *http.Response
	if err := p.client.Post(ctx, "v1/messages", body.reader(), &res,
		option.WithHeader("Content-Type", "application/json"), option.WithHeader("Accept", "text/event-stream")); err != nil {
		return p.failed(err)
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if kind == "text/html" || kind == "application/json" {
		_ = res.Body.Close()
		return &model.APIError{Status: res.StatusCode, Message: fmt.Sprintf("the answer is %s and no event stream; check the base URL", kind)}
	}
	events := ssestream.NewDecoder(res)
	defer events.Close()
	d := decoder{emit: emit, refuse: p.refused}
	for events.Next() {
		done, err := d.event(events.Event())
		if err != nil {
			return err
		}
		if done {
			model.Drain(res.Body)
			return nil
		}
	}
	err := events.Err()
	if err == nil {
		err = model.ErrCut
	} else {
		err = fmt.Errorf("%w: %w", model.ErrCut, err)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return d.end(err)
}

// failed turns an error of the SDK into ours.
func (p *Provider) failed(err error) error {
	var apiErr *sdk.Error
	if !errors.As(err, &apiErr) {
		return model.ConnectionError(err)
	}
	message := apiErr.Message
	if message == "" {
		message = apiErr.RawJSON()
	}
	var header http.Header
	if apiErr.Response != nil {
		header = apiErr.Response.Header
	}
	return p.refused(apiErr.StatusCode, string(apiErr.Type()), message, header)
}

func (p *Provider) refused(status int, kind, message string, header http.Header) error {
	message = strings.TrimSpace(model.Scrub(message, p.options.APIKey, p.options.AuthToken))
	if message == "" {
		message = http.StatusText(status)
	}
	return model.Refused(status, model.Scrub(kind, p.options.APIKey, p.options.AuthToken), message, header)
}

// ownFields are the fields of a request that Extra cannot set.
func ownFields() []string {
	return []string{"model", "max_tokens", "stream", "tools", "system", "messages"}
}

func isOwnField(name string) bool { return slices.Contains(ownFields(), name) }
