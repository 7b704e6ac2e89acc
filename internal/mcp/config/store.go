package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/sevengate/sevengate/internal/engine/atomicfile"
)

// Choices is the record of what a person chose for servers, for each project,
// in mcp-choices.json of the state folder. It is safe for concurrent use, also
// by several processes.
type Choices struct {
	path string
	dir  string
}

type choicesFile struct {
	Projects map[string]*projectChoices `json:"projects"`
}

type projectChoices struct {
	Approved map[string]string `json:"approved,omitempty"` // name to fingerprint
	Rejected []string          `json:"rejected,omitempty"`
	Disabled []string          `json:"disabled,omitempty"`
}

// OpenChoices returns the record for the project in dir; nothing needs to
// exist.
func OpenChoices(stateDir, dir string) *Choices {
	return &Choices{path: filepath.Join(stateDir, "mcp-choices.json"), dir: realDir(dir)}
}

func (c *Choices) read() (choicesFile, error) {
	data, err := os.ReadFile(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return choicesFile{}, nil
	}
	if err != nil {
		return choicesFile{}, fmt.Errorf("reading the choices about MCP servers: %w", err)
	}
	return parseChoices(c.path, data)
}

func parseChoices(path string, data []byte) (f choicesFile, err error) {
	if err := json.Unmarshal(data, &f); err != nil {
		return f, fmt.Errorf("the choices about MCP servers in %s cannot be read: %w", path, err)
	}
	return f, nil
}

// Apply adds the recorded choices to a policy. When the record cannot be read
// nothing is approved, and the error says why.
func (c *Choices) Apply(p *Policy) error {
	f, err := c.read()
	if err != nil {
		return err
	}
	mine := f.Projects[c.dir]
	if mine == nil {
		return nil
	}
	p.Rejected = append(slices.Clone(p.Rejected), mine.Rejected...)
	p.Disabled = append(slices.Clone(p.Disabled), mine.Disabled...)
	before := p.Approved
	p.Approved = func(s *Server) bool {
		return mine.Approved[s.Name] == s.Fingerprint && s.Fingerprint != "" || before != nil && before(s)
	}
	return nil
}

// Approve records that the person approved exactly this entry.
func (c *Choices) Approve(ctx context.Context, s *Server) error {
	return c.update(ctx, func(p *projectChoices) {
		if p.Approved == nil {
			p.Approved = map[string]string{}
		}
		p.Approved[s.Name] = s.Fingerprint
		p.Rejected = without(p.Rejected, s.Name)
	})
}

// Reject records that the person turned the server down.
func (c *Choices) Reject(ctx context.Context, name string) error {
	return c.update(ctx, func(p *projectChoices) {
		delete(p.Approved, name)
		p.Rejected = append(without(p.Rejected, name), name)
	})
}

// SetEnabled switches a server on or off for the project.
func (c *Choices) SetEnabled(ctx context.Context, name string, on bool) error {
	return c.update(ctx, func(p *projectChoices) {
		p.Disabled = without(p.Disabled, name)
		if !on {
			p.Disabled = append(p.Disabled, name)
		}
	})
}

// Reset forgets approvals and rejections of the project.
func (c *Choices) Reset(ctx context.Context) error {
	return c.update(ctx, func(p *projectChoices) { p.Approved, p.Rejected = nil, nil })
}

func (c *Choices) update(ctx context.Context, change func(*projectChoices)) error {
	_, err := atomicfile.Update(ctx, c.path, atomicfile.Options{}, func(old []byte, exists bool) ([]byte, error) {
		var f choicesFile
		if exists {
			var err error
			if f, err = parseChoices(c.path, old); err != nil {
				return nil, err
			}
		}
		if f.Projects == nil {
			f.Projects = map[string]*projectChoices{}
		}
		mine := f.Projects[c.dir]
		if mine == nil {
			mine = &projectChoices{}
			f.Projects[c.dir] = mine
		}
		change(mine)
		data, err := json.MarshalIndent(f, "", "  ")
		return append(data, '\n'), err
	})
	if err != nil {
		return fmt.Errorf("recording the choice about an MCP server: %w", err)
	}
	return nil
}

func without(list []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == name })
}
