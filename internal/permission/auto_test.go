package permission

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/sevengate/sevengate/internal/settings"
	"github.com/sevengate/sevengate/tool"
)

type classifierFunc func(context.Context, ClassifierInput) (tool.Verdict, error)

func (f classifierFunc) Classify(ctx context.Context, in ClassifierInput) (tool.Verdict, error) {
	return f(ctx, in)
}

func shown(name string) tool.Tool {
	return plainTool(name, func(d *tool.Def[anyInput, string]) {
		d.ClassifierInput = func(in anyInput) string { return in.Name }
	})
}

func TestAuto(t *testing.T) {
	s := newScratch(t)
	says := func(b tool.Behavior) classifierFunc {
		return func(context.Context, ClassifierInput) (tool.Verdict, error) { return tool.Verdict{Behavior: b}, nil }
	}
	cases := []struct {
		name       string
		classifier Classifier
		tool       tool.Tool
		in         anyInput
		allow, ask []string
		change     func(*settings.Snapshot)
		want       tool.Behavior
		layer      tool.Layer
	}{
		{"allows", says(tool.Allow), shown("X"), anyInput{Name: "n"}, nil, nil, nil, tool.Allow, tool.LayerMode},
		{"refuses", says(tool.Deny), shown("X"), anyInput{Name: "n"}, nil, nil, nil, tool.Deny, tool.LayerMode},
		{"has no opinion", says(""), shown("X"), anyInput{Name: "n"}, nil, nil, nil, tool.Ask, tool.LayerDefault},
		{"asks", says(tool.Ask), shown("X"), anyInput{Name: "n"}, nil, nil, nil, tool.Ask, tool.LayerDefault},
		{"is not there", nil, shown("X"), anyInput{Name: "n"}, nil, nil, nil, tool.Ask, tool.LayerDefault},
		{"is shown nothing", says(tool.Allow), shown("X"), anyInput{}, nil, nil, nil, tool.Ask, tool.LayerDefault},
		{"fails", classifierFunc(func(context.Context, ClassifierInput) (tool.Verdict, error) {
			return tool.Verdict{Behavior: tool.Allow}, errors.New("no")
		}), shown("X"), anyInput{Name: "n"}, nil, nil, nil, tool.Ask, tool.LayerDefault},
		{"panics", classifierFunc(func(context.Context, ClassifierInput) (tool.Verdict, error) { panic("no") }),
			shown("X"), anyInput{Name: "n"}, nil, nil, nil, tool.Ask, tool.LayerDefault},
		{"passes no ask rule", says(tool.Allow), shown("X"), anyInput{Name: "n"}, nil, []string{"X"}, nil, tool.Ask, tool.LayerAskRule},
		{"passes no safety check", says(tool.Allow), editTool("Edit"), anyInput{Path: ".git/config"}, nil, nil, nil, tool.Ask, tool.LayerSafety},
		{"allow rules come first", says(tool.Deny), shown("X"), anyInput{Name: "n"}, []string{"X"}, nil, nil, tool.Allow, tool.LayerAllowRule},
		{"broad rules do not count", says(tool.Deny), shown("Agent"), anyInput{Name: "n"}, []string{"Agent"}, nil, nil, tool.Deny, tool.LayerMode},
		{"is switched off", says(tool.Allow), shown("X"), anyInput{Name: "n"}, nil, nil,
			func(s *settings.Snapshot) { s.Settings.Permissions.DisableAutoMode = true }, tool.Ask, tool.LayerDefault},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			get := rulesOf(s.at.Cwd, c.allow, c.ask, nil)
			if c.change != nil {
				c.change(get())
			}
			p := New(Config{Settings: get, Cwd: s.at.Cwd, Home: s.at.Home, Classifier: c.classifier})
			d := s.decide(t, p, c.tool, c.in, mode(ModeAuto))
			if d.Behavior != c.want || d.Reason.Layer != c.layer {
				t.Errorf("got %s by %s, want %s by %s: %s", d.Behavior, d.Reason.Layer, c.want, c.layer, d.Reason.Message)
			}
		})
	}
}

func TestAutoRefusals(t *testing.T) {
	s := newScratch(t)
	answer := tool.Deny
	calls := 0
	p := New(Config{Cwd: s.at.Cwd, Home: s.at.Home, Classifier: classifierFunc(func(context.Context, ClassifierInput) (tool.Verdict, error) {
		calls++
		return tool.Verdict{Behavior: answer}, nil
	})})
	ask := func() tool.Behavior {
		return s.decide(t, p, shown("X"), anyInput{Name: "n"}, mode(ModeAuto)).Behavior
	}
	for range MaxRefusalsInRow {
		if got := ask(); got != tool.Deny {
			t.Fatalf("got %s, want a refusal", got)
		}
	}
	if got := ask(); got != tool.Ask || calls != MaxRefusalsInRow {
		t.Errorf("after %d refusals in a row: %s, the classifier was asked %d times", MaxRefusalsInRow, got, calls)
	}
	other := func(r *Request) { r.Mode, r.Env = ModeAuto, &tool.Env{AgentID: "a"} }
	if got := s.decide(t, p, shown("X"), anyInput{Name: "n"}, other).Behavior; got != tool.Deny {
		t.Errorf("refusals of one agent count for another: %s", got)
	}
	p.ResumeAuto("")
	for i := range MaxRefusals + 5 {
		answer = tool.Deny
		if i%2 == 1 {
			answer = tool.Allow
		}
		ask()
	}
	total := 0
	for range MaxRefusals {
		answer = tool.Deny
		if ask() == tool.Ask {
			break
		}
		total++
		answer = tool.Allow
		ask()
	}
	if total >= MaxRefusals {
		t.Errorf("%d refusals were not enough to ask a person", MaxRefusals)
	}
}

func TestAutoTimeout(t *testing.T) {
	s := newScratch(t)
	synctest.Test(t, func(t *testing.T) {
		p := New(Config{Cwd: s.at.Cwd, Home: s.at.Home, Classifier: classifierFunc(func(ctx context.Context, _ ClassifierInput) (tool.Verdict, error) {
			<-ctx.Done()
			return tool.Verdict{Behavior: tool.Allow}, nil
		})})
		if d := s.decide(t, p, shown("X"), anyInput{Name: "n"}, mode(ModeAuto)); d.Behavior != tool.Ask {
			t.Errorf("a late answer counted: %s", d.Behavior)
		}
	})
}
