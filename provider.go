package sevengate

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sevengate/sevengate/internal/model"
	"github.com/sevengate/sevengate/internal/model/anthropic"
	"github.com/sevengate/sevengate/internal/model/openai"
	"github.com/sevengate/sevengate/internal/model/script"
)

// DefaultAnthropicModel is used where a key is there and no model was named.
const DefaultAnthropicModel = "claude-sonnet-5-5"

// ErrNoModel says that no model was named and no key was found.
var ErrNoModel = errors.New("no model: set ANTHROPIC_API_KEY, or name one with --model anthropic:NAME, openai:NAME or script:FILE")

// modelSpec is a parsed "PROVIDER:NAME".
type modelSpec struct{ provider, name string }

func parseModel(spec string, env environment) (modelSpec, error) {
	if spec == "" {
		switch {
		case env.get("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN") != "" || env.get("ANTHROPIC_BASE_URL") != "":
			name := env.get("ANTHROPIC_MODEL")
			if name == "" {
				name = DefaultAnthropicModel
			}
			return modelSpec{"anthropic", name}, nil
		case env.get("OPENAI_API_KEY", "OPENAI_BASE_URL") != "" && env.get("OPENAI_MODEL") != "":
			return modelSpec{"openai", env.get("OPENAI_MODEL")}, nil
		case env.get("OPENAI_API_KEY", "OPENAI_BASE_URL") != "":
			return modelSpec{}, fmt.Errorf("no model: name one with --model openai:NAME, or set OPENAI_MODEL")
		}
		return modelSpec{}, ErrNoModel
	}
	provider, name, ok := strings.Cut(spec, ":")
	if !ok && strings.HasPrefix(spec, "claude-") {
		return modelSpec{"anthropic", spec}, nil
	}
	if !ok || name == "" {
		return modelSpec{}, fmt.Errorf("model %q: it must be anthropic:NAME, openai:NAME or script:FILE", spec)
	}
	switch provider {
	case "anthropic", "openai", "script":
		return modelSpec{provider, name}, nil
	}
	return modelSpec{}, fmt.Errorf("model %q: there is no provider %q; anthropic, openai and script are there", spec, provider)
}

func (m modelSpec) open(env environment) (model.Provider, error) {
	switch m.provider {
	case "script":
		return script.Load(m.name)
	case "openai":
		p, err := openai.New(openai.Options{APIKey: env.get("OPENAI_API_KEY"), BaseURL: env.get("OPENAI_BASE_URL")})
		if errors.Is(err, model.ErrNoKey) {
			return nil, fmt.Errorf("model openai:%s: set OPENAI_API_KEY, or OPENAI_BASE_URL for a server that wants no key", m.name)
		}
		return p, err
	}
	p, err := anthropic.New(anthropic.Options{APIKey: env.get("ANTHROPIC_API_KEY"), AuthToken: env.get("ANTHROPIC_AUTH_TOKEN"), BaseURL: env.get("ANTHROPIC_BASE_URL")})
	if errors.Is(err, model.ErrNoKey) {
		return nil, fmt.Errorf("model anthropic:%s: set ANTHROPIC_API_KEY", m.name)
	}
	return p, err
}
