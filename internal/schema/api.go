package schema

import (
	"bytes"
	"encoding/json"
)

// APITool is a tool as a model's API gets it. JSON is fixed when it is made,
// so that every request of a session carries the same bytes.
type APITool struct {
	Name        string
	Description string
	InputSchema json.RawMessage // an object schema
	Strict      bool
	Deferred    bool // the definition is sent, but kept out of the prompt until found

	json json.RawMessage
}

// NewAPITool makes the API form and fixes its bytes.
func NewAPITool(name, description string, inputSchema json.RawMessage, strict, deferred bool) (APITool, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, inputSchema); err != nil {
		return APITool{}, err
	}
	t := APITool{Name: name, Description: description, InputSchema: compact.Bytes(), Strict: strict, Deferred: deferred}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
		Strict      bool            `json:"strict,omitempty"`
		Deferred    bool            `json:"defer_loading,omitempty"`
	}{name, description, t.InputSchema, strict, deferred})
	if err != nil {
		return APITool{}, err
	}
	t.json = bytes.TrimSpace(buf.Bytes())
	return t, nil
}

// JSON is the definition in the form of the Messages API, always the same
// bytes. It must not be modified.
func (t APITool) JSON() json.RawMessage { return t.json }
