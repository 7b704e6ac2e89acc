// Package tui is the conversation in a terminal, line by line: what the person
// types, what the model says and does, and the questions in between. It draws
// and asks; it decides nothing.
package tui

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/sevengate/sevengate/internal/builtin/ask"
	"github.com/sevengate/sevengate/internal/gate"
	"github.com/sevengate/sevengate/internal/permission"
	"github.com/sevengate/sevengate/tool"
)

// maxPreviewLines bounds the preview shown with a question.
const maxPreviewLines = 60

// ErrNoAnswer says that the person went away.
var ErrNoAnswer = errors.New("there is no answer on the terminal")

// Lines reads lines for whoever needs one next, so that questions and prompts
// share one input.
type Lines struct {
	asking sync.Mutex // held while a question is open
	once   sync.Once
	in     io.Reader
	lines  chan string
}

// NewLines reads from in. Reading begins with the first line that is wanted.
func NewLines(in io.Reader) *Lines { return &Lines{in: in, lines: make(chan string)} }

// errWoken says that something else than a line came.
var errWoken = errors.New("woken")

// Next waits for a line. It returns io.EOF at the end of the input.
func (l *Lines) Next(ctx context.Context) (string, error) { return l.nextOr(ctx, nil) }

// nextOr is Next until something comes from wake; then it returns errWoken.
func (l *Lines) nextOr(ctx context.Context, wake <-chan struct{}) (string, error) {
	// A blocked read from a terminal cannot be taken back; the reader belongs
	// to the process and ends with it, or with the input.
	l.once.Do(func() {
		go func() {
			defer close(l.lines)
			s := bufio.NewScanner(l.in)
			s.Buffer(make([]byte, 0, 64<<10), 16<<20)
			for s.Scan() {
				l.lines <- s.Text()
			}
		}()
	})
	select {
	case line, ok := <-l.lines:
		if !ok {
			return "", io.EOF
		}
		return line, nil
	case <-wake:
		return "", errWoken
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// Prompter puts permission questions to the person at the terminal.
type Prompter struct {
	lines *Lines
	out   io.Writer
}

// NewPrompter asks on out and reads answers from in.
func NewPrompter(in io.Reader, out io.Writer) *Prompter { return &Prompter{NewLines(in), out} }

// Prompt shows the call, why it is asked, and the possible answers.
func (p *Prompter) Prompt(ctx context.Context, q gate.Question) (gate.Answer, error) {
	p.lines.asking.Lock()
	defer p.lines.asking.Unlock()
	if q.Call != nil && q.Call.RequiresUserInteraction() && q.Call.Name() == ask.Name {
		return p.questions(ctx, q)
	}
	choices := p.show(q)
	for {
		fmt.Fprint(p.out, "Answer [1-"+strconv.Itoa(len(choices))+"]: ")
		line, err := p.lines.Next(ctx)
		if err != nil {
			fmt.Fprintln(p.out)
			return gate.Answer{}, ErrNoAnswer
		}
		line = strings.TrimSpace(line)
		choice := pick(choices, line)
		if choice == nil {
			fmt.Fprintln(p.out, "Please answer with one of the numbers.")
			continue
		}
		if !choice.refuse {
			return choice.answer, nil
		}
		fmt.Fprint(p.out, "Why not, or what instead? (empty ends the turn): ")
		why, err := p.lines.Next(ctx)
		if err != nil {
			return gate.Answer{}, ErrNoAnswer
		}
		why = strings.TrimSpace(why)
		return gate.Answer{Behavior: tool.Deny, Message: why, Interrupt: why == ""}, nil
	}
}

type choice struct {
	keys   []string
	text   string
	answer gate.Answer
	refuse bool
}

func pick(choices []choice, line string) *choice {
	for i := range choices {
		if line == strconv.Itoa(i+1) {
			return &choices[i]
		}
		for _, k := range choices[i].keys {
			if strings.EqualFold(line, k) {
				return &choices[i]
			}
		}
	}
	return nil
}

// show writes the question and gives the choices.
func (p *Prompter) show(q gate.Question) []choice {
	w := p.out
	name := "The model"
	if q.AgentID != "" {
		name = "Agent " + q.AgentID
	}
	fmt.Fprintf(w, "\n%s wants to use %s\n", name, q.Call.Tool().Facts().Name)
	use := q.Call.ViewUse()
	if use != "" {
		fmt.Fprintf(w, "  %s\n", indentBy(Printable(use), "  "))
	}
	if r, ok := q.Call.ViewPreview(); ok && r.Detail != "" && strings.TrimSpace(r.Detail) != strings.TrimSpace(use) {
		fmt.Fprintf(w, "%s\n", indentBy(clipLines(Printable(r.Detail), maxPreviewLines), "  "))
	}
	d := q.Decision
	if d.Reason.Message != "" {
		fmt.Fprintf(w, "Why this is asked: %s\n", Printable(d.Reason.Message))
	}
	asking := 0
	for _, part := range d.Parts {
		if part.Behavior == tool.Ask {
			asking++
		}
	}
	if len(d.Parts) > 1 && asking > 0 {
		for _, part := range d.Parts {
			mark := " "
			if part.Behavior != tool.Allow {
				mark = "?"
			}
			what := part.Text
			if part.Kind != permission.PartCommand {
				what = part.Kind + " " + what
			}
			fmt.Fprintf(w, "  %s %s\n", mark, Printable(what))
		}
	}
	choices := []choice{{keys: []string{"y", "yes"}, text: "yes, this once", answer: gate.Answer{Behavior: tool.Allow}}}
	if len(d.Suggestions) > 0 {
		var rules []string
		session := gate.Answer{Behavior: tool.Allow}
		always := gate.Answer{Behavior: tool.Allow}
		for _, s := range d.Suggestions {
			rules = append(rules, Printable(s.Rule))
			session.Grants = append(session.Grants, gate.Grant{Behavior: tool.Allow, Rule: s.Rule})
			always.Grants = append(always.Grants, gate.Grant{Behavior: tool.Allow, Rule: s.Rule, Save: true})
		}
		list := strings.Join(rules, ", ")
		choices = append(choices,
			choice{keys: []string{"s", "session"}, text: "yes, for this session: " + list, answer: session},
			choice{keys: []string{"a", "always"}, text: "always, saved for this project: " + list, answer: always})
		for _, s := range d.Suggestions {
			fmt.Fprintf(w, "  %s would cover %s\n", Printable(s.Rule), Printable(s.Covers))
		}
	}
	choices = append(choices, choice{keys: []string{"n", "no"}, text: "no", refuse: true})
	for i, c := range choices {
		fmt.Fprintf(w, "  %d. %s\n", i+1, c.text)
	}
	return choices
}

// questions puts the model's own questions to the person.
func (p *Prompter) questions(ctx context.Context, q gate.Question) (gate.Answer, error) {
	var in ask.Input
	if err := json.Unmarshal(q.Call.Observed(), &in); err != nil {
		return gate.Answer{}, fmt.Errorf("the questions cannot be read: %w", err)
	}
	in.Answers = map[string]string{}
	for _, question := range in.Questions {
		fmt.Fprintf(p.out, "\n%s\n", Printable(question.Question))
		for i, o := range question.Options {
			fmt.Fprintf(p.out, "  %d. %s", i+1, Printable(o.Label))
			if o.Description != "" {
				fmt.Fprintf(p.out, ": %s", Printable(o.Description))
			}
			fmt.Fprintln(p.out)
		}
		hint := "a number, or your own words"
		if question.MultiSelect {
			hint = "numbers separated by commas, or your own words"
		}
		fmt.Fprintf(p.out, "Answer (%s; empty to refuse): ", hint)
		line, err := p.lines.Next(ctx)
		if err != nil {
			return gate.Answer{}, ErrNoAnswer
		}
		line = strings.TrimSpace(line)
		if line == "" {
			return gate.Answer{Behavior: tool.Deny, Message: "the user did not want to answer"}, nil
		}
		in.Answers[question.Question] = choose(question, line)
	}
	raw, err := json.Marshal(in)
	if err != nil {
		return gate.Answer{}, err
	}
	return gate.Answer{Behavior: tool.Allow, UpdatedInput: raw}, nil
}

// choose turns numbers into labels; anything else is the person's own words.
func choose(q ask.Question, line string) string {
	var labels []string
	for _, part := range strings.Split(line, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 1 || n > len(q.Options) {
			return line
		}
		labels = append(labels, q.Options[n-1].Label)
	}
	if len(labels) > 1 && !q.MultiSelect {
		return line
	}
	return strings.Join(labels, ", ")
}

// Printable drops what could play with the terminal: control characters,
// escapes and characters that reorder text.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < 0x20 || r >= 0x7f && r < 0xa0:
			return '\uFFFD'
		case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x2069, r == 0xfeff:
			return '\uFFFD'
		}
		return r
	}, s)
}

func indentBy(s, by string) string { return strings.ReplaceAll(s, "\n", "\n"+by) }

func clipLines(s string, n int) string {
	lines := strings.Split(s, "\n")
	if len(lines) <= n {
		return s
	}
	return strings.Join(lines[:n], "\n") + fmt.Sprintf("\n… %d lines more", len(lines)-n)
}
