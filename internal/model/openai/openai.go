// Package openai streams responses of any server that speaks the
// OpenAI-compatible chat completions protocol, in the terms of the Messages
// API. It reads no environment, runs no tools and keeps no conversation. What
// the protocol has no place for is said in words or left out: thinking is not
// sent back, deferred tools are not sent.
package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/sevengate/sevengate/internal/model"
)

// maxIdleLines is how many lines without data the SDK takes between two chunks.
// Such lines never reach it, so this bounds nothing.
const maxIdleLines = 1 << 20

// Options say how a server is reached.
type Options struct {
	// APIKey may be empty where BaseURL is set: many local servers want none.
	APIKey string
	// BaseURL is the root with its version, such as http://localhost:11434/v1;
	// "" means OpenAI's own.
	BaseURL string
	// ReasoningEffort is sent as it is, unless it is empty.
	ReasoningEffort string

	Retry model.Retry
	HTTP  model.HTTPOptions
}

// Provider streams from one server. It is safe for concurrent use.
type Provider struct {
	client  *sdk.Client
	options Options
}

// New makes a provider. It contacts nobody. Without a key for OpenAI's own
// server the error is [model.ErrNoKey].
func New(o Options) (*Provider, error) {
	o.APIKey = strings.TrimSpace(o.APIKey)
	if o.APIKey == "" && o.BaseURL == "" {
		return nil, fmt.Errorf("%w for the OpenAI API: set OPENAI_API_KEY, or give the base URL of a server that wants none", model.ErrNoKey)
	}
	config := sdk.DefaultConfig(o.APIKey)
	if o.BaseURL != "" {
		u, err := url.Parse(o.BaseURL)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return nil, errors.New("the base URL of the OpenAI-compatible server is none: give one such as http://localhost:11434/v1")
		}
		config.BaseURL = o.BaseURL
	}
	config.EmptyMessagesLimit = maxIdleLines
	p := &Provider{options: o}
	config.HTTPClient = doer{client: model.NewHTTPClient(o.HTTP), refused: p.refused}
	p.client = sdk.NewClientWithConfig(config)
	return p, nil
}

// Stream sends the request and streams the response; see [model.Provider].
func (p *Provider) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		request := convert(r, p.options)
		p.options.Retry.Stream(ctx, func(ctx context.Context, emit func(model.Event) error) error {
			return p.attempt(ctx, request, emit)
		})(yield)
	}
}

func (p *Provider) attempt(ctx context.Context, request sdk.ChatCompletionRequest, emit func(model.Event) error) error {
	stream, err := p.client.CreateChatCompletionStream(ctx, request)
	if err != nil {
		var transient *model.Transient
		var refused *model.APIError
		switch {
		case errors.As(err, &transient):
			return transient
		case errors.As(err, &refused):
			return refused
		case isRefusedBySDK(err):
			return fmt.Errorf("the model %s cannot be asked through chat completions: %w", request.Model, err)
		}
		return model.ConnectionError(err)
	}
	defer stream.Close()
	d := decoder{emit: emit, refuse: p.refused}
	for {
		data, err := stream.RecvRaw()
		if errors.Is(err, io.EOF) {
			return d.end(model.ErrCut)
		}
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return d.end(fmt.Errorf("%w: %w", model.ErrCut, err))
		}
		if err := d.chunk(data); err != nil {
			return err
		}
	}
}

// isRefusedBySDK says whether the SDK knows the model and will not ask it so.
func isRefusedBySDK(err error) bool {
	return errors.Is(err, sdk.ErrChatCompletionInvalidModel) || errors.Is(err, sdk.ErrReasoningToolsRequireResponses) ||
		errors.Is(err, sdk.ErrReasoningEffortUnsupported) || errors.Is(err, sdk.ErrReasoningModelMaxTokensDeprecated)
}

func (p *Provider) refused(status int, kind, message string, header http.Header) error {
	message = strings.TrimSpace(model.Scrub(message, p.options.APIKey))
	if message == "" {
		message = http.StatusText(status)
	}
	kind = model.Scrub(kind, p.options.APIKey)
	if kind == "insufficient_quota" { // a 429 that no waiting cures
		return &model.APIError{Status: status, Type: kind, Message: message}
	}
	return model.Refused(status, kind, message, header)
}

// doer is the client under the SDK. It turns refusals into errors itself, since
// the SDK keeps neither their headers nor closes their bodies, and lets only the
// data lines of a stream through.
type doer struct {
	client  *http.Client
	refused func(status int, kind, message string, header http.Header) error
}

func (d doer) Do(r *http.Request) (*http.Response, error) {
	res, err := d.client.Do(r)
	if err != nil {
		return nil, err
	}
	if res.StatusCode >= http.StatusBadRequest {
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil && len(body) == 0 {
			return nil, err
		}
		kind, message := readError(body)
		return nil, d.refused(res.StatusCode, kind, message, res.Header)
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if kind == "text/html" || kind == "application/json" {
		_ = res.Body.Close()
		return nil, &model.APIError{Status: res.StatusCode, Message: fmt.Sprintf("the answer is %s and no event stream; check the base URL", kind)}
	}
	res.Body = newDataLines(res.Body)
	return res, nil
}

// readError finds type and message in the body of a refusal, which servers
// shape in many ways.
func readError(body []byte) (kind, message string) {
	var wire struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &wire) != nil {
		return "", string(body)
	}
	var inner struct {
		Type    string          `json:"type"`
		Message json.RawMessage `json:"message"`
		Code    json.RawMessage `json:"code"`
	}
	var text string
	switch {
	case json.Unmarshal(wire.Error, &text) == nil && text != "":
		return "", text
	case json.Unmarshal(wire.Error, &inner) == nil && len(inner.Message) > 0:
		if json.Unmarshal(inner.Message, &text) != nil {
			text = string(inner.Message)
		}
		kind = inner.Type
		var code string
		if json.Unmarshal(inner.Code, &code) == nil && (kind == "" || code == "insufficient_quota") {
			kind = code
		}
		return kind, text
	case wire.Message != "":
		return "", wire.Message
	case len(wire.Detail) > 0:
		return "", string(wire.Detail)
	}
	return "", string(bytes.TrimSpace(body))
}
