package client

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// How a client shows a token endpoint who it is.
const (
	methodNone  = "none"
	methodBasic = "client_secret_basic"
	methodPost  = "client_secret_post"
	methodKey   = "private_key_jwt"
)

// assertionLife is how long a signed statement of ours is good for.
const assertionLife = 5 * time.Minute

// clientAuth is who we are to one authorization server. It is a secret.
type clientAuth struct {
	id, secret string
	method     string
	keyFile    string
}

// method chooses how to authenticate, of what a token endpoint supports.
func chooseMethod(supported []string, c clientAuth) string {
	switch {
	case c.keyFile != "":
		return methodKey
	case c.secret == "":
		return methodNone
	case !slices.Contains(supported, methodBasic) && slices.Contains(supported, methodPost):
		return methodPost
	}
	return methodBasic
}

// tokenAnswer is what a token endpoint gave. It is a secret.
type tokenAnswer struct {
	Access  string      `json:"access_token"`
	Type    string      `json:"token_type"`
	Refresh string      `json:"refresh_token"`
	Expires json.Number `json:"expires_in"`
	Scope   string      `json:"scope"`
	ID      string      `json:"id_token"`
	Issued  string      `json:"issued_token_type"`
}

// expiry is when the token ends; zero when that is not known.
func (a *tokenAnswer) expiry() time.Time {
	seconds, err := a.Expires.Float64()
	if err != nil || seconds <= 0 || seconds > 1e9 {
		return time.Time{}
	}
	return time.Now().Add(time.Duration(seconds * float64(time.Second)))
}

// tokenError is a token endpoint's refusal, in its own words.
type tokenError struct {
	status            int
	Code, Description string
}

func (e *tokenError) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("the authorization server refused (status %d)", e.status)
	}
	return "the authorization server refused: " + oneLine(strings.TrimSpace(e.Code+" "+e.Description))
}

// request asks a token endpoint. audience is the authorization server's name.
func (c clientAuth) request(ctx context.Context, client *http.Client, endpoint, audience string, form url.Values) (*tokenAnswer, error) {
	switch c.method {
	case methodBasic:
	case methodKey:
		key, err := readKey(c.keyFile)
		if err != nil {
			return nil, err
		}
		statement, err := assertion(key, c.id, audience, time.Now())
		if err != nil {
			return nil, err
		}
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", statement)
		form.Set("client_id", c.id)
	case methodPost:
		form.Set("client_secret", c.secret)
		form.Set("client_id", c.id)
	default:
		form.Set("client_id", c.id)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, errors.New("the address of the token endpoint cannot be used")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if c.method == methodBasic {
		req.SetBasicAuth(url.QueryEscape(c.id), url.QueryEscape(c.secret))
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("the token endpoint: %s", withoutAddress(err))
	}
	defer discard(resp)
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxMetadata))
	if err != nil {
		return nil, fmt.Errorf("the token endpoint: %s", withoutAddress(err))
	}
	if resp.StatusCode != http.StatusOK {
		var told struct {
			Code        string `json:"error"`
			Description string `json:"error_description"`
		}
		_ = json.Unmarshal(data, &told)
		return nil, &tokenError{resp.StatusCode, told.Code, told.Description}
	}
	var answer tokenAnswer
	if json.Unmarshal(data, &answer) != nil || answer.Access == "" {
		return nil, errors.New("the answer of the token endpoint cannot be read")
	}
	return &answer, nil
}

// readKey reads a private key in PEM.
func readKey(path string) (crypto.Signer, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading oauth.privateKeyFile: %w", err)
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, errors.New("oauth.privateKeyFile holds no PEM block")
	}
	if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		if signer, ok := key.(crypto.Signer); ok {
			return signer, nil
		}
	}
	if key, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	return nil, errors.New("oauth.privateKeyFile holds no private key that can be used (EC, RSA or Ed25519)")
}

// assertion is a signed statement of who we are (RFC 7523).
func assertion(key crypto.Signer, id, audience string, now time.Time) (string, error) {
	var alg string
	switch k := key.(type) {
	case *ecdsa.PrivateKey:
		switch k.Curve.Params().BitSize {
		case 256:
			alg = "ES256"
		case 384:
			alg = "ES384"
		}
	case *rsa.PrivateKey:
		alg = "RS256"
	case ed25519.PrivateKey:
		alg = "EdDSA"
	}
	if alg == "" {
		return "", errors.New("oauth.privateKeyFile holds a key of a kind that cannot sign; P-256, P-384, RSA and Ed25519 can")
	}
	head, err := json.Marshal(map[string]string{"alg": alg, "typ": "JWT"})
	if err != nil {
		return "", err
	}
	claims, err := json.Marshal(map[string]any{"iss": id, "sub": id, "aud": audience, "jti": rand.Text(), "iat": now.Unix(), "exp": now.Add(assertionLife).Unix()})
	if err != nil {
		return "", err
	}
	text := base64.RawURLEncoding.EncodeToString(head) + "." + base64.RawURLEncoding.EncodeToString(claims)
	signature, err := sign(key, alg, []byte(text))
	if err != nil {
		return "", fmt.Errorf("signing with oauth.privateKeyFile: %w", err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

// sign signs as JWS has it: the two numbers of an elliptic curve signature stand
// one after the other.
func sign(key crypto.Signer, alg string, text []byte) ([]byte, error) {
	small, large := sha256.Sum256(text), sha512.Sum384(text)
	switch k := key.(type) {
	case *ecdsa.PrivateKey:
		digest, size := small[:], 32
		if alg == "ES384" {
			digest, size = large[:], 48
		}
		r, s, err := ecdsa.Sign(rand.Reader, k, digest)
		if err != nil {
			return nil, err
		}
		out := make([]byte, 2*size)
		r.FillBytes(out[:size])
		s.FillBytes(out[size:])
		return out, nil
	case ed25519.PrivateKey:
		return ed25519.Sign(k, text), nil
	}
	return key.Sign(rand.Reader, small[:], crypto.SHA256)
}

// UnmarshalJSON takes a number also where it stands as text.
func (a *tokenAnswer) UnmarshalJSON(data []byte) error {
	type plain tokenAnswer
	var w struct {
		plain
		Expires json.RawMessage `json:"expires_in"`
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*a = tokenAnswer(w.plain)
	if text := strings.Trim(string(w.Expires), `"`); text != "" {
		if _, err := strconv.ParseFloat(text, 64); err == nil {
			a.Expires = json.Number(text)
		}
	}
	return nil
}
