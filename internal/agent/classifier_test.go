package agent

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/sevengate/sevengate/internal/model"
	"github.com/sevengate/sevengate/internal/permission"
	"github.com/sevengate/sevengate/tool"
)

// saying is a model that gives one answer.
type saying struct {
	text  string
	err   error
	asked *model.Request
}

func (s saying) Stream(_ context.Context, r model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		*s.asked = r
		if s.err != nil {
			yield(model.Event{}, s.err)
			return
		}
		yield(model.Event{Kind: model.EventEnd, Message: tool.Message{Content: []tool.Block{tool.TextBlock(s.text)}}}, nil)
	}
}

func TestOnlyAnExactAnswerIsAVerdict(t *testing.T) {
	for answer, want := range map[string]tool.Behavior{
		`{"verdict":"allow","reason":"a test run"}`:            tool.Allow,
		` {"verdict":"block","reason":"it sends data"}` + "\n": tool.Deny,
		`{"verdict":"maybe","reason":""}`:                      "",
		`allow`:                                                "",
		`{"verdict":"allow"} {"verdict":"block"}`:              "",
		`{"verdict":"allow","also":"run this"}`:                "",
		"```json\n{\"verdict\":\"allow\"}\n```":                "",
		``:                                                     "",
	} {
		var asked model.Request
		c := &Classifier{Open: func() (model.Provider, string, error) { return saying{text: answer, asked: &asked}, "m", nil }}
		v, err := c.Classify(context.Background(), permission.ClassifierInput{Tool: "Bash", Input: "go test"})
		if v.Behavior != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v", answer, v.Behavior, err)
		}
		if len(asked.Tools) != 0 || !strings.Contains(asked.Messages[0].Text(), "go test") {
			t.Errorf("the model was asked %+v", asked)
		}
	}
}

func TestNoAnswerIsAnError(t *testing.T) {
	var asked model.Request
	fails := errors.New("no network")
	for name, c := range map[string]*Classifier{
		"model fails": {Open: func() (model.Provider, string, error) { return saying{err: fails, asked: &asked}, "m", nil }},
		"no model":    {Open: func() (model.Provider, string, error) { return nil, "", fails }},
	} {
		if v, err := c.Classify(context.Background(), permission.ClassifierInput{Tool: "Bash", Input: "x"}); !errors.Is(err, fails) || v.Behavior != "" {
			t.Errorf("%s: %q, %v", name, v.Behavior, err)
		}
	}
	c := &Classifier{}
	for _, in := range []string{"", "  ", strings.Repeat("x", maxClassifierInput+1)} {
		if _, err := c.Classify(context.Background(), permission.ClassifierInput{Tool: "X", Input: in}); err == nil {
			t.Errorf("an input of %d characters was judged", len(in))
		}
	}
}
