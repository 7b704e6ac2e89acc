package client

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sevengate/sevengate/internal/mcp/config"
)

// pages is a server with fixed answers: a status, or a JSON object in which %
// stands for the server's address.
func pagesServer(t *testing.T, answers map[string]string) string {
	var self string
	self = serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch body, ok := answers[r.URL.Path]; {
		case !ok:
			w.WriteHeader(http.StatusNotFound)
		case body == "500":
			w.WriteHeader(http.StatusInternalServerError)
		default:
			fmt.Fprint(w, strings.ReplaceAll(body, "%", self))
		}
	}))
	return self
}

func TestDiscover(t *testing.T) {
	t.Parallel()
	const (
		as      = `{"issuer":"%","authorization_endpoint":"%/a","token_endpoint":"%/t","code_challenge_methods_supported":["S256"]}`
		tenant  = `{"issuer":"%/tenant","authorization_endpoint":"%/a","token_endpoint":"%/tenant/t"}`
		about   = `{"resource":"%/mcp","authorization_servers":["%"],"scopes_supported":["x"]}`
		root    = `{"resource":"%","authorization_servers":["%/tenant"]}`
		webPage = `<!doctype html>`
	)
	for name, c := range map[string]struct {
		answers map[string]string
		header  string
		want    string // resource, token endpoint, scopes
		err     string
	}{
		"at its path":          {map[string]string{resourcePlace + "/mcp": about, oauthPlace: as}, "", "%/mcp %/t [x]", ""},
		"the challenge's":      {map[string]string{resourcePlace + "/mcp": about, oauthPlace: as}, `Bearer scope="y z"`, "%/mcp %/t [y z]", ""},
		"where it is named":    {map[string]string{"/about.json": about, openidPlace: as}, `Bearer resource_metadata="%/about.json"`, "%/mcp %/t [x]", ""},
		"named, but not there": {map[string]string{resourcePlace: about, oauthPlace: as}, `Bearer resource_metadata="%/none"`, "%/mcp %/t [x]", ""},
		"other challenges":     {map[string]string{resourcePlace: about, oauthPlace: as}, `Basic realm="r", Bearer scope="y"`, "%/mcp %/t [y]", ""},
		"a broken challenge":   {map[string]string{resourcePlace: about, oauthPlace: as}, `Bearer scope="`, "%/mcp %/t [x]", ""},
		"at the root":          {map[string]string{resourcePlace: root, oauthPlace + "/tenant": tenant}, "", "% %/tenant/t []", ""},
		"OpenID, before":       {map[string]string{resourcePlace: root, openidPlace + "/tenant": tenant}, "", "% %/tenant/t []", ""},
		"OpenID, after":        {map[string]string{resourcePlace: root, "/tenant" + openidPlace: tenant}, "", "% %/tenant/t []", ""},
		"no AS metadata":       {map[string]string{resourcePlace: root}, "", "% %/tenant/token []", ""},
		"nothing at all":       {nil, "", "%/mcp %/token []", ""},
		"a page for anything":  {map[string]string{resourcePlace: webPage, resourcePlace + "/mcp": webPage, oauthPlace: as}, "", "%/mcp %/t []", ""},
		"old, other name":      {map[string]string{oauthPlace: tenant}, "", "%/mcp %/tenant/t []", ""},

		"another resource":     {map[string]string{resourcePlace + "/mcp": `{"resource":"https://evil.example/mcp","authorization_servers":["%"]}`, oauthPlace: as}, "", "", "another address"},
		"another path":         {map[string]string{resourcePlace + "/mcp": `{"resource":"%/mc","authorization_servers":["%"]}`, oauthPlace: as}, "", "", "another address"},
		"no AS":                {map[string]string{resourcePlace: `{"resource":"%"}`, oauthPlace: as}, "", "", "names no authorization server"},
		"not the AS":           {map[string]string{resourcePlace: about, oauthPlace: tenant}, "", "", "calls itself"},
		"old, elsewhere":       {map[string]string{oauthPlace: `{"issuer":"https://evil.example","token_endpoint":"https://evil.example/t"}`}, "", "", "calls itself"},
		"broken":               {map[string]string{resourcePlace + "/mcp": "500", oauthPlace: as}, "", "", "status 500"},
		"AS broken":            {map[string]string{resourcePlace: about, oauthPlace: "500"}, "", "", "status 500"},
		"in the clear":         {map[string]string{resourcePlace: about, oauthPlace: `{"issuer":"%","token_endpoint":"http://evil.example/t"}`}, "", "", "token endpoint of the authorization server must begin with https://"},
		"a script":             {map[string]string{resourcePlace: about, oauthPlace: `{"issuer":"%","token_endpoint":"%/t","authorization_endpoint":"javascript:alert(1)"}`}, "", "", "authorization endpoint of the"},
		"no token endpoint":    {map[string]string{resourcePlace: about, oauthPlace: `{"issuer":"%"}`}, "", "", "no token endpoint"},
		"AS in the clear":      {map[string]string{resourcePlace: `{"resource":"%","authorization_servers":["http://as.example"]}`}, "", "", "must begin with https://"},
		"metadata in clear":    {nil, `Bearer resource_metadata="http://evil.example/x"`, "", "must begin with https://"},
		"metadata of the disk": {nil, `Bearer resource_metadata="file:///etc/passwd"`, "", "must begin with https://"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			self := pagesServer(t, c.answers)
			m := New(Config{Servers: []config.Server{remote("web", self+"/mcp?key=s3cret")}})
			s := m.servers["web"]
			hc := s.newHTTP()
			defer hc.close()
			header := http.Header{}
			if c.header != "" {
				header.Set("WWW-Authenticate", strings.ReplaceAll(c.header, "%", self))
			}
			a, err := s.discover(t.Context(), hc.plain(), header, true)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%+v %v", a, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprintf("%s %s %v", a.resource, a.meta.TokenEndpoint, a.scopes); got != strings.ReplaceAll(c.want, "%", self) {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestCovers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		resource, server string
		want             bool
	}{
		{"https://h/mcp", "https://h/mcp", true},
		{"https://h/mcp/", "https://h/mcp", true},
		{"https://H:443", "https://h/a/b?q=1", true},
		{"https://h/a", "https://h/a/b", true},
		{"https://h/a", "https://h/ab", false},
		{"https://h/a/b", "https://h/a", false},
		{"http://h/a", "https://h/a", false},
		{"https://h:8443/a", "https://h/a", false},
		{"https://h@evil/a", "https://h/a", false},
		{"https://x@h/a", "https://h/a", false},
		{"", "https://h/a", false},
		{"/a", "https://h/a", false},
	} {
		home, err := url.Parse(c.server)
		if err != nil {
			t.Fatal(err)
		}
		if got := covers(c.resource, home); got != c.want {
			t.Errorf("%s, %s: %v", c.resource, c.server, got)
		}
	}
}

// What is signed can be verified by anyone who has the public key, and says who
// for whom.
func TestAssertion(t *testing.T) {
	t.Parallel()
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p521, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ecBytes, err := x509.MarshalECPrivateKey(p256)
	if err != nil {
		t.Fatal(err)
	}
	halves := func(key *ecdsa.PrivateKey, digest, sig []byte) bool {
		n := len(sig) / 2
		return ecdsa.Verify(&key.PublicKey, digest, new(big.Int).SetBytes(sig[:n]), new(big.Int).SetBytes(sig[n:]))
	}
	pkcs8 := func(key any) []byte {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	for i, c := range []struct {
		der    []byte
		alg    string
		verify func(text, sig []byte) bool
	}{
		{pkcs8(p256), "ES256", func(text, sig []byte) bool {
			d := sha256.Sum256(text)
			return len(sig) == 64 && halves(p256, d[:], sig)
		}},
		{ecBytes, "ES256", func(text, sig []byte) bool { d := sha256.Sum256(text); return halves(p256, d[:], sig) }},
		{pkcs8(p384), "ES384", func(text, sig []byte) bool {
			d := sha512.Sum384(text)
			return len(sig) == 96 && halves(p384, d[:], sig)
		}},
		{pkcs8(rsaKey), "RS256", func(text, sig []byte) bool {
			d := sha256.Sum256(text)
			return rsa.VerifyPKCS1v15(&rsaKey.PublicKey, crypto.SHA256, d[:], sig) == nil
		}},
		{x509.MarshalPKCS1PrivateKey(rsaKey), "RS256", func(text, sig []byte) bool { return len(sig) == 256 }},
		{pkcs8(ed), "EdDSA", func(text, sig []byte) bool { return ed25519.Verify(ed.Public().(ed25519.PublicKey), text, sig) }},
		{pkcs8(p521), "", nil},
	} {
		path := filepath.Join(t.TempDir(), "key.pem")
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: c.der}), 0o600); err != nil {
			t.Fatal(err)
		}
		key, err := readKey(path)
		if err != nil {
			t.Fatal(i, err)
		}
		now := time.Now()
		text, err := assertion(key, "me", "https://as", now)
		if c.verify == nil {
			if err == nil {
				t.Error(i, "a key of that kind cannot sign")
			}
			continue
		}
		if err != nil {
			t.Fatal(i, err)
		}
		parts := strings.Split(text, ".")
		decode := func(part string) []byte {
			data, err := base64.RawURLEncoding.DecodeString(part)
			if err != nil {
				t.Fatal(i, err)
			}
			return data
		}
		if !strings.Contains(string(decode(parts[0])), `"alg":"`+c.alg+`"`) || !c.verify([]byte(parts[0]+"."+parts[1]), decode(parts[2])) {
			t.Errorf("%d: %s does not verify", i, decode(parts[0]))
		}
		var claims struct {
			Iss, Sub, Aud, Jti string
			Iat, Exp           int64
		}
		if err := json.Unmarshal(decode(parts[1]), &claims); err != nil {
			t.Fatal(err)
		}
		if claims.Iss != "me" || claims.Sub != "me" || claims.Aud != "https://as" || claims.Jti == "" || claims.Exp-claims.Iat != 300 {
			t.Errorf("%d: %+v", i, claims)
		}
	}
	for _, text := range []string{"", "no key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"} {
		path := filepath.Join(t.TempDir(), "key.pem")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readKey(path); err == nil || !strings.Contains(err.Error(), "oauth.privateKeyFile") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestTokenAnswer(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]bool{`{"access_token":"a","expires_in":60}`: true, `{"access_token":"a","expires_in":"60"}`: true,
		`{"access_token":"a"}`: false, `{"access_token":"a","expires_in":"soon"}`: false, `{"access_token":"a","expires_in":-1}`: false,
		`{"access_token":"a","expires_in":1e300}`: false} {
		var a tokenAnswer
		if err := json.Unmarshal([]byte(raw), &a); err != nil || a.Access != "a" || a.expiry().IsZero() == want {
			t.Errorf("%s: %+v %v", raw, a, err)
		}
	}
}
