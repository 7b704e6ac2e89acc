package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxMetadata bounds what an authorization server says of itself, in bytes.
const maxMetadata = 1 << 20

// pinnedMetadata answers the questions of discovery from one document that the
// configuration names (oauth.authServerMetadataUrl); all else goes its way.
type pinnedMetadata struct {
	base     http.RoundTripper
	issuer   string
	document []byte
	resource string // the MCP server
	scopes   []string
}

// pinMetadata fetches the document.
func pinMetadata(ctx context.Context, client *http.Client, address, resource string) (*http.Client, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, errors.New("oauth.authServerMetadataUrl cannot be used")
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("reading oauth.authServerMetadataUrl: %s", withoutAddress(err))
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxMetadata))
	var doc struct {
		Issuer string   `json:"issuer"`
		Scopes []string `json:"scopes_supported"`
	}
	if err != nil || resp.StatusCode != http.StatusOK || json.Unmarshal(data, &doc) != nil || doc.Issuer == "" {
		return nil, fmt.Errorf("oauth.authServerMetadataUrl does not lead to the metadata of an authorization server (status %d)", resp.StatusCode)
	}
	pinned := *client
	pinned.Transport = &pinnedMetadata{client.Transport, doc.Issuer, data, resource, doc.Scopes}
	return &pinned, nil
}

// RoundTrip implements [http.RoundTripper].
func (p *pinnedMetadata) RoundTrip(req *http.Request) (*http.Response, error) {
	answer := func(body []byte) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
			Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body))}, nil
	}
	switch path := req.URL.Path; {
	case req.Method != http.MethodGet:
	case strings.Contains(path, "/.well-known/oauth-protected-resource"):
		body, err := json.Marshal(map[string]any{"resource": p.resource, "authorization_servers": []string{p.issuer}, "scopes_supported": p.scopes})
		if err != nil {
			return nil, err
		}
		return answer(body)
	case strings.Contains(path, "/.well-known/oauth-authorization-server"), strings.Contains(path, "/.well-known/openid-configuration"):
		return answer(p.document)
	}
	return p.base.RoundTrip(req)
}
