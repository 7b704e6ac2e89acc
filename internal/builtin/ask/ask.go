// Package ask lets the model put questions to the person: AskUserQuestion.
//
// The call itself is the question. The permission layer puts it to the person
// and fills in the answers, so that nothing can answer in a person's place; the
// tool only reports them. Without a person the call is refused.
package ask

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sevengate/sevengate/tool"
)

// Name of the tool.
const Name = "AskUserQuestion"

// Limits of one call.
const (
	MaxQuestions   = 4
	MinOptions     = 2
	MaxOptions     = 4
	MaxHeaderChars = 12
)

// Input is a set of questions, and the answers once they were given.
type Input struct {
	Questions []Question `json:"questions" jsonschema:"the questions, 1 to 4"`
	// Answers are filled in by whoever asked the person: question text to the
	// label of an option, several joined by ", ", or the person's own words.
	Answers     map[string]string `json:"answers,omitempty" jsonschema:"filled in when the user answers; leave it out"`
	Annotations map[string]any    `json:"annotations,omitempty" jsonschema:"filled in when the user answers; leave it out"`
	Metadata    map[string]any    `json:"metadata,omitempty" jsonschema:"for the host program; leave it out"`
}

// Question is one question with its options.
type Question struct {
	Question    string   `json:"question" jsonschema:"the whole question, ending in a question mark"`
	Header      string   `json:"header" jsonschema:"a label of at most 12 characters"`
	Options     []Option `json:"options" jsonschema:"2 to 4 different answers; the user can always answer in own words too"`
	MultiSelect bool     `json:"multiSelect,omitempty" jsonschema:"several options may be chosen"`
}

// Option is one answer to choose.
type Option struct {
	Label       string `json:"label" jsonschema:"1 to 5 words"`
	Description string `json:"description,omitempty" jsonschema:"what choosing it means"`
	Preview     string `json:"preview,omitempty" jsonschema:"an example to look at"`
}

// Output is what the person said.
type Output struct {
	Questions   []Question        `json:"questions"`
	Answers     map[string]string `json:"answers"`
	Annotations map[string]any    `json:"annotations,omitempty"`
}

var prompt = fmt.Sprintf(`Asks the user up to %d questions with %d to %d options each, and waits for the answers.

Use it when the work depends on a choice that only the user can make. Do not ask for permission this way, and do not ask what you can find out yourself. The user can always answer in own words, so offer no "other" option. Put the option that you recommend first and end its label with "(recommended)".`, MaxQuestions, MinOptions, MaxOptions)

// New makes the tool.
func New() tool.Tool {
	return tool.Define(tool.Def[Input, Output]{
		Name:                    Name,
		SearchHint:              "ask the user a question with options to choose",
		Prompt:                  tool.Text(prompt),
		ReadOnly:                tool.Always[Input],
		RequiresUserInteraction: tool.Always[Input],
		Effects:                 func(Input) tool.Effects { return tool.Nothing() },
		Validate:                validate,
		CheckPermissions: func(context.Context, Input, *tool.Env) tool.Verdict {
			return tool.AskCall("The model asks you a question.")
		},
		Call:      call,
		MapResult: mapResult,
		View: tool.View[Input, Output]{
			Use: func(in Input) string {
				if len(in.Questions) == 1 {
					return in.Questions[0].Question
				}
				return fmt.Sprintf("%d questions", len(in.Questions))
			},
			Result: func(_ Input, out Output) tool.Rendering {
				return tool.Rendering{Summary: "the user answered", Detail: describe(out)}
			},
		},
	})
}

func validate(_ context.Context, in Input, _ *tool.Env) error {
	if n := len(in.Questions); n < 1 || n > MaxQuestions {
		return fmt.Errorf("there are %d questions; 1 to %d are allowed", n, MaxQuestions)
	}
	seen := map[string]bool{}
	for i, q := range in.Questions {
		switch n := len(q.Options); {
		case strings.TrimSpace(q.Question) == "":
			return fmt.Errorf("questions[%d]: the question is empty", i)
		case seen[q.Question]:
			return fmt.Errorf("questions[%d]: the same question stands twice", i)
		case n < MinOptions || n > MaxOptions:
			return fmt.Errorf("questions[%d] has %d options; %d to %d are allowed", i, n, MinOptions, MaxOptions)
		case utf8.RuneCountInString(q.Header) > MaxHeaderChars:
			return fmt.Errorf("questions[%d]: the header has more than %d characters", i, MaxHeaderChars)
		}
		seen[q.Question] = true
		labels := map[string]bool{}
		for j, o := range q.Options {
			if strings.TrimSpace(o.Label) == "" || labels[o.Label] {
				return fmt.Errorf("questions[%d].options[%d]: labels must be different and not empty", i, j)
			}
			labels[o.Label] = true
		}
	}
	return nil
}

func call(_ context.Context, in Input, _ *tool.Env) (tool.Result[Output], error) {
	if len(in.Answers) == 0 {
		return tool.Result[Output]{}, errors.New("nobody answered the questions; go on with your own judgement and say what you assumed")
	}
	return tool.OK(Output{Questions: in.Questions, Answers: in.Answers, Annotations: in.Annotations}), nil
}

func mapResult(out Output) []tool.Block {
	return []tool.Block{tool.TextBlock("The user answered:\n" + describe(out))}
}

func describe(out Output) string {
	var b strings.Builder
	for _, q := range out.Questions {
		answer, ok := out.Answers[q.Question]
		if !ok {
			answer = "(no answer)"
		}
		fmt.Fprintf(&b, "- %s %s\n", q.Question, answer)
	}
	return strings.TrimRight(b.String(), "\n")
}
