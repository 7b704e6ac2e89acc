package permission

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sevengate/sevengate/tool"
)

func manyRules(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("Bash(program%d sub%d:*)", i%300, i)
	}
	return out
}

func BenchmarkDecide(b *testing.B) {
	s := newScratch(b)
	for _, c := range []struct {
		name, line       string
		allow, ask, deny []string
	}{
		{"everyday", "git status --short", []string{"Bash(git status:*)", "Bash(npm test:*)"}, nil, []string{"Bash(curl:*)"}},
		{"pipeline", "cat a.txt | sort | head -3", []string{"Bash(git status:*)"}, nil, nil},
		{"1000 rules", "git status --short", append(manyRules(500), "Bash(git status:*)"), manyRules(250), manyRules(250)},
		{"1000 path rules", "cat a.txt", nil, nil, manyPaths(1000)},
	} {
		b.Run(c.name, func(b *testing.B) {
			p := s.policy(c.allow, c.ask, c.deny)
			call := bash(b, s.at, c.line)
			req := Request{Call: call}
			b.ReportAllocs()
			for b.Loop() {
				p.Decide(context.Background(), req)
			}
		})
	}
	for _, c := range []struct {
		name             string
		tool             tool.Tool
		allow, ask, deny []string
	}{
		{"read", readTool("Read"), nil, nil, []string{"Read(.env)"}},
		{"read, 1000 path rules", readTool("Read"), plainPaths("a", 300), plainPaths("b", 300), plainPaths("c", 400)},
		{"edit, 1000 path rules", editTool("Edit"), append(editPaths("a", 300), "Edit(a.txt)"), editPaths("b", 300), editPaths("c", 400)},
		{"edit, 1000 patterns", editTool("Edit"), append(editPatterns("a", 300), "Edit(*.txt)"), editPatterns("b", 300), editPatterns("c", 400)},
	} {
		b.Run(c.name, func(b *testing.B) {
			p := s.policy(c.allow, c.ask, c.deny)
			req := Request{Call: bind(b, c.tool, s.at, anyInput{Path: "a.txt"})}
			b.ReportAllocs()
			for b.Loop() {
				p.Decide(context.Background(), req)
			}
		})
	}
	b.Run("compile 1000 rules", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.policy(manyRules(500), manyRules(250), manyRules(250)).rulesNow()
		}
	})
}

func manyPaths(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("Read(secret%d/**)", i)
	}
	return out
}

// plainPaths are rules for files and folders by name, in every spelling.
func plainPaths(prefix string, n int) []string {
	shapes := []string{"Read(conf/%s%d.txt)", "Read(./%s%d)", "Read(//etc/%s%d/**)", "Read(~/%s%d/key)", "Read(/src/%s%d/**)"}
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(shapes[i%len(shapes)], prefix, i)
	}
	return out
}

func editPaths(prefix string, n int) []string {
	out := plainPaths(prefix, n)
	for i := range out {
		out[i] = "Edit" + strings.TrimPrefix(out[i], "Read")
	}
	return out
}

func editPatterns(prefix string, n int) []string {
	shapes := []string{"Edit(**/%s%d/*.pem)", "Edit(*.%s%d)", "Edit(%s%d/**)", "Edit(%s%d.txt)", "Edit(**/%s*%d/**/x)"}
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(shapes[i%len(shapes)], prefix, i)
	}
	return out
}
