package gate

import (
	"encoding/json"
	"fmt"

	"github.com/sevengate/sevengate/internal/permission"
	"github.com/sevengate/sevengate/tool"
)

// Permission updates, as hooks and host programs send and receive them.

type ruleValue struct {
	ToolName    string `json:"toolName"`
	RuleContent string `json:"ruleContent,omitempty"`
}

func (v ruleValue) String() string {
	if v.RuleContent == "" {
		return v.ToolName
	}
	return v.ToolName + "(" + v.RuleContent + ")"
}

type permissionUpdate struct {
	Type        string        `json:"type"`
	Rules       []ruleValue   `json:"rules,omitempty"`
	Behavior    tool.Behavior `json:"behavior,omitempty"`
	Mode        string        `json:"mode,omitempty"`
	Directories []string      `json:"directories,omitempty"`
	Destination string        `json:"destination"`
}

// suggestionUpdates writes suggestions as updates of the local settings.
func suggestionUpdates(suggestions []tool.Suggestion) []permissionUpdate {
	var out []permissionUpdate
	for _, s := range suggestions {
		rule, err := permission.ParseRule(s.Rule)
		if err != nil {
			continue
		}
		out = append(out, permissionUpdate{Type: "addRules", Behavior: tool.Allow, Destination: "localSettings",
			Rules: []ruleValue{{ToolName: rule.Tool, RuleContent: rule.Spec}}})
	}
	return out
}

func (r *run) applyUpdate(raw json.RawMessage) error {
	var u permissionUpdate
	if err := json.Unmarshal(raw, &u); err != nil {
		return fmt.Errorf("a permission update cannot be read: %w", err)
	}
	switch u.Type {
	case "addRules":
		for _, rule := range u.Rules {
			if err := r.grant(Grant{Behavior: u.Behavior, Rule: rule.String(), Save: u.Destination == "localSettings"}); err != nil {
				return err
			}
		}
		return nil
	case "setMode":
		mode, err := permission.ParseMode(u.Mode)
		if err != nil {
			return err
		}
		if mode == permission.ModeBypass && !r.gate.cfg.BypassAvailable {
			return fmt.Errorf("the mode %s was not made available when the session began", mode)
		}
		r.conv.Apply(func(c *tool.Context) { c.Mode = string(mode) })
		return nil
	case "addDirectories":
		r.conv.Apply(func(c *tool.Context) { c.Roots = append(c.Roots, u.Directories...) })
		return nil
	}
	return fmt.Errorf("the permission update %q is not supported; addRules, setMode and addDirectories are", u.Type)
}
