// Package todo is the model's own list of steps: TodoWrite. The list lives in
// the state of the agent that wrote it and touches nothing else.
package todo

import (
	"context"
	"fmt"
	"strings"

	"github.com/sevengate/sevengate/tool"
)

// MaxItems bounds one list.
const MaxItems = 200

// stateKey is where the list lives in an agent's state.
const stateKey = "todos"

// Status is how far a step is.
type Status string

// The statuses of a step.
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
)

// Values lists the statuses for the schema.
func (Status) Values() []string {
	return []string{string(Pending), string(InProgress), string(Completed)}
}

// Item is one step.
type Item struct {
	Content    string `json:"content" jsonschema:"the step, as an order: Run the tests"`
	Status     Status `json:"status" jsonschema:"how far it is"`
	ActiveForm string `json:"activeForm" jsonschema:"the step while it is being done: Running the tests"`
}

// Input is the whole new list.
type Input struct {
	Todos []Item `json:"todos" jsonschema:"the whole list as it is to be; it replaces the old one"`
}

// Output is the list before and after.
type Output struct {
	OldTodos []Item `json:"oldTodos"`
	NewTodos []Item `json:"newTodos"`
}

var prompt = fmt.Sprintf(`Keeps the list of steps for the task at hand, and shows it to the user.

Use it for work of three steps or more, or when the user asks for several things; not for a single simple step. Send the whole list every time: it replaces the old one. Mark a step in_progress before you begin it, keep exactly one step in_progress, and mark it completed as soon as it is really done (not when it failed or was left in part). Drop steps that no longer matter. At most %d steps.`, MaxItems)

// New makes the tool.
func New() tool.Tool {
	return tool.Define(tool.Def[Input, Output]{
		Name:             "TodoWrite",
		SearchHint:       "keep a list of steps, tasks and progress",
		Prompt:           tool.Text(prompt),
		Defer:            true,
		MaxResultChars:   tool.MaxResultCharsCeiling,
		ReadOnly:         tool.Always[Input], // nothing outside the session changes
		Effects:          func(Input) tool.Effects { return tool.Writes(tool.Resource(stateKey)) },
		CheckPermissions: tool.AlwaysAllow[Input],
		Validate:         validate,
		Call:             call,
		MapResult:        mapResult,
		View: tool.View[Input, Output]{
			Use:    func(in Input) string { return fmt.Sprintf("%d steps", len(in.Todos)) },
			Result: func(_ Input, out Output) tool.Rendering { return render(out.NewTodos) },
		},
	})
}

func validate(_ context.Context, in Input, _ *tool.Env) error {
	if len(in.Todos) > MaxItems {
		return fmt.Errorf("the list has %d steps; at most %d are allowed", len(in.Todos), MaxItems)
	}
	for i, item := range in.Todos {
		if strings.TrimSpace(item.Content) == "" || strings.TrimSpace(item.ActiveForm) == "" {
			return fmt.Errorf("todos[%d]: content and activeForm must not be empty", i)
		}
	}
	return nil
}

func call(_ context.Context, in Input, env *tool.Env) (tool.Result[Output], error) {
	if env.State == nil {
		return tool.Result[Output]{}, fmt.Errorf("there is no session to keep the list in")
	}
	before, _ := env.State.Update(stateKey, func(any) any { return in.Todos })
	old, _ := before.([]Item)
	return tool.OK(Output{OldTodos: old, NewTodos: in.Todos}), nil
}

func mapResult(out Output) []tool.Block {
	count := map[Status]int{}
	for _, item := range out.NewTodos {
		count[item.Status]++
	}
	return []tool.Block{tool.TextBlock(fmt.Sprintf("The list now has %d steps: %d completed, %d in progress, %d pending. Go on with the step in progress.",
		len(out.NewTodos), count[Completed], count[InProgress], count[Pending]))}
}

func render(items []Item) tool.Rendering {
	var b strings.Builder
	done := 0
	for _, item := range items {
		switch item.Status {
		case Completed:
			done++
			fmt.Fprintf(&b, "[x] %s\n", item.Content)
		case InProgress:
			fmt.Fprintf(&b, "[>] %s\n", item.ActiveForm)
		default:
			fmt.Fprintf(&b, "[ ] %s\n", item.Content)
		}
	}
	return tool.Rendering{Summary: fmt.Sprintf("%d of %d steps done", done, len(items)), Detail: strings.TrimRight(b.String(), "\n")}
}
