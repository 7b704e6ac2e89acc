package server

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sevengate/sevengate/tool"
)

// Content of the protocol that tools may give as blocks of their own: decoded
// from JSON, they keep their bytes.
const (
	blockAudio    tool.BlockType = "audio"
	blockResource tool.BlockType = "resource"
	blockLink     tool.BlockType = "resource_link"
)

// content turns blocks into content of the protocol.
func content(blocks []tool.Block) []sdk.Content {
	out := []sdk.Content{}
	for _, b := range blocks {
		switch {
		case b.Type == tool.BlockText:
			out = append(out, &sdk.TextContent{Text: b.Text})
		case b.Type == tool.BlockToolReference:
			out = append(out, &sdk.TextContent{Text: "tool: " + b.ToolName})
		case b.Type == blockAudio || b.Type == blockResource || b.Type == blockLink:
			out = append(out, foreign(b))
		case b.Source != nil && b.Source.Type == "base64":
			data, err := base64.StdEncoding.DecodeString(b.Source.Data)
			if err != nil {
				out = append(out, unreadable(b))
				continue
			}
			if b.Type == tool.BlockImage {
				out = append(out, &sdk.ImageContent{MIMEType: b.Source.MediaType, Data: data})
				continue
			}
			out = append(out, &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "document:" + strings.ReplaceAll(b.Title, " ", "%20"), MIMEType: b.Source.MediaType, Blob: data}})
		case b.Source != nil && b.Source.URL != "":
			out = append(out, &sdk.TextContent{Text: b.Source.URL})
		default:
			out = append(out, &sdk.TextContent{Text: fmt.Sprintf("[%s]", b.Type)})
		}
	}
	return out
}

func unreadable(b tool.Block) sdk.Content {
	return &sdk.TextContent{Text: fmt.Sprintf("[%s that cannot be read]", b.Type)}
}

// foreign reads a block that is content of the protocol as it stands.
func foreign(b tool.Block) sdk.Content {
	raw, err := json.Marshal(b)
	if err != nil {
		return unreadable(b)
	}
	// The SDK reads content only as a part of a result.
	whole := append(append([]byte(`{"content":[`), raw...), `]}`...)
	var res sdk.CallToolResult
	if json.Unmarshal(whole, &res) != nil || len(res.Content) != 1 {
		return unreadable(b)
	}
	return res.Content[0]
}
