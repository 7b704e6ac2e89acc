package permission

import (
	"errors"
	"fmt"

	"github.com/sevengate/sevengate/internal/settings"
	"github.com/sevengate/sevengate/tool"
)

// RuleStore writes rules to settings files; [settings.Watcher] is one.
type RuleStore interface {
	AddRule(settings.Source, settings.Behavior, string) (settings.Saved, error)
}

// Save adds a rule to the local settings file. It counts once the settings are
// read again. Errors: those of [Policy.AddSession]; no store; the file cannot be
// written.
func (p *Policy) Save(behavior tool.Behavior, rule string) (settings.Saved, error) {
	t := ruleText{text: rule, behavior: behavior, source: settings.LocalSettings, dir: p.cfg.Cwd}
	if err := p.checkNew(t); err != nil {
		return settings.Saved{}, fmt.Errorf("save a rule: %w", err)
	}
	if p.cfg.Store == nil {
		return settings.Saved{}, errors.New("save a rule: rules cannot be saved in this session")
	}
	saved, err := p.cfg.Store.AddRule(settings.LocalSettings, settings.Behavior(behavior), rule)
	if err != nil {
		return saved, fmt.Errorf("save the rule %s: %w", clipText(rule), err)
	}
	return saved, nil
}
