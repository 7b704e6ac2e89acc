package client

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"mime"
	"os"
	"path/filepath"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sevengate/sevengate/internal/engine/document"
	"github.com/sevengate/sevengate/tool"
)

// Output is the content of a result. A hook may put a string, a list of blocks
// or an object with such a list in "content" in its place.
type Output []tool.Block

// UnmarshalJSON implements [json.Unmarshaler].
func (o *Output) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*o = Output{tool.TextBlock(text)}
		return nil
	}
	var blocks []tool.Block
	if err := json.Unmarshal(data, &blocks); err == nil {
		*o = blocks
		return nil
	}
	var whole struct {
		Content *Output `json:"content"`
	}
	if err := json.Unmarshal(data, &whole); err != nil {
		return err
	}
	if whole.Content == nil {
		return fmt.Errorf("it must be a string, a list of content blocks, or an object with content")
	}
	*o = *whole.Content
	return nil
}

// maxBlocks bounds the blocks of one result.
const maxBlocks = 1000

// result turns a server's answer into content for the model. Media that models
// do not take are saved, and named.
func (s *server) result(res *sdk.CallToolResult, env *tool.Env) tool.Result[Output] {
	out := tool.Result[Output]{IsError: res.IsError}
	if raw, err := json.Marshal(res.StructuredContent); err == nil && res.StructuredContent != nil {
		out.Structured = raw
	}
	if len(res.Meta) > 0 {
		if raw, err := json.Marshal(res.Meta); err == nil {
			out.Meta = raw
		}
	}
	c := converter{server: s.cfg.Name, dir: env.ResultsDir, onlyText: res.IsError}
	for i, item := range res.Content {
		if i == maxBlocks {
			c.text(fmt.Sprintf("[%d more blocks were left out]", len(res.Content)-maxBlocks))
			break
		}
		c.add(item)
	}
	out.Data = c.blocks
	if len(c.blocks) == 0 && out.Structured != nil {
		out.Data = Output{tool.TextBlock(string(out.Structured))}
	}
	if res.IsError {
		// An API takes text only in an error, and all of it counts.
		out.Data = Output{tool.TextBlock(joined(c.blocks))}
	}
	return out
}

// converter turns content of the protocol into blocks.
type converter struct {
	server   string
	dir      string // where media are saved; empty: nowhere
	onlyText bool
	blocks   []tool.Block
}

func (c *converter) text(s string) {
	if s != "" {
		c.blocks = append(c.blocks, tool.TextBlock(strings.ToValidUTF8(s, "\uFFFD")))
	}
}

func (c *converter) add(item sdk.Content) {
	switch v := item.(type) {
	case *sdk.TextContent:
		c.text(v.Text)
	case *sdk.ImageContent:
		c.media("image", v.MIMEType, v.Data)
	case *sdk.AudioContent:
		c.media("audio", v.MIMEType, v.Data)
	case *sdk.ResourceLink:
		line := fmt.Sprintf("[resource %s", v.URI)
		for _, part := range []string{v.Name, v.MIMEType, oneLine(v.Description)} {
			if part != "" {
				line += "; " + part
			}
		}
		c.text(line + fmt.Sprintf("; read it with ReadMcpResourceTool, server %q]", c.server))
	case *sdk.EmbeddedResource:
		if v.Resource != nil {
			c.resource(v.Resource)
		}
	default:
		c.text("[content of a kind that is not known was left out]")
	}
}

func (c *converter) resource(r *sdk.ResourceContents) {
	if len(r.Blob) > 0 {
		c.media("resource "+r.URI, r.MIMEType, r.Blob)
		return
	}
	if r.URI != "" {
		c.text(fmt.Sprintf("[resource %s]\n%s", r.URI, r.Text))
		return
	}
	c.text(r.Text)
}

// media adds an image that models take; anything else is saved.
func (c *converter) media(what, mediaType string, data []byte) {
	if len(data) == 0 {
		c.text(fmt.Sprintf("[%s (%s): it is empty]", what, mediaType))
		return
	}
	why := ""
	if kind := document.Sniff(data, ""); !c.onlyText && kind.Model() {
		pic, err := document.Image(data, document.ImageLimits{})
		if err != nil {
			if fixed := repairPNG(data); fixed != nil {
				pic, err = document.Image(fixed, document.ImageLimits{})
			}
		}
		if err != nil {
			why = "; " + oneLine(err.Error())
		} else {
			c.blocks = append(c.blocks, tool.ImageBlock(pic.MIME, base64.StdEncoding.EncodeToString(pic.Data)))
			return
		}
	}
	path, err := c.save(mediaType, data)
	if err != nil {
		c.text(fmt.Sprintf("[%s (%s, %d bytes) could not be shown and was not saved: %v]", what, mediaType, len(data), err))
		return
	}
	c.text(fmt.Sprintf("[%s (%s, %d bytes) is saved in %s%s]", what, mediaType, len(data), path, why))
}

// save writes media beside the results of the session, under a name made from
// the content.
func (c *converter) save(mediaType string, data []byte) (string, error) {
	if c.dir == "" {
		return "", fmt.Errorf("the session has no folder for results")
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	path := filepath.Join(c.dir, "mcp-"+hex.EncodeToString(sum[:8])+extension(mediaType, data))
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() == int64(len(data)) {
		return path, nil
	}
	f, err := os.CreateTemp(c.dir, ".mcp-*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return path, nil
}

// extensions of media types; the system's own table differs from place to
// place.
var extensions = map[string]string{
	"image/svg+xml": ".svg", "image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/bmp": ".bmp",
	"image/tiff": ".tiff", "audio/wav": ".wav", "audio/x-wav": ".wav", "audio/mpeg": ".mp3", "audio/mp3": ".mp3", "audio/ogg": ".ogg", "audio/flac": ".flac",
	"application/pdf": ".pdf", "application/json": ".json", "text/plain": ".txt", "text/html": ".html", "text/csv": ".csv", "text/markdown": ".md",
	"application/zip": ".zip", "application/gzip": ".gz", "video/mp4": ".mp4",
}

func extension(mediaType string, data []byte) string {
	if document.Sniff(data, "") == document.PDF {
		return ".pdf"
	}
	base, _, _ := mime.ParseMediaType(mediaType)
	if ext, ok := extensions[base]; ok {
		return ext
	}
	return ".bin"
}

// joined is all text of blocks.
func joined(blocks []tool.Block) string {
	var parts []string
	for _, b := range blocks {
		if b.Type == tool.BlockText && b.Text != "" {
			parts = append(parts, b.Text)
		}
	}
	if len(parts) == 0 {
		return "the tool failed and said nothing"
	}
	return strings.Join(parts, "\n")
}

func joinText(content []sdk.Content) string {
	var parts []string
	for _, item := range content {
		if t, ok := item.(*sdk.TextContent); ok {
			parts = append(parts, t.Text)
		}
	}
	return strings.Join(parts, "\n")
}
