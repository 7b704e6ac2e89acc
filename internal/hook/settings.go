package hook

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sevengate/sevengate/internal/settings"
)

// FromSettings reads the hooks of settings files. Those of a repository that
// is not trusted are left out. The weakest source comes first, so that where
// the last answer counts, as with a changed input, the strongest source has
// the last word.
func FromSettings(hooks []settings.Hook) ([]Group, []Warning) {
	var levels [][]Group // one a run of hooks from the same source, in order
	var warnings []Warning
	var last settings.Source
	for _, h := range hooks {
		if h.Untrusted {
			continue
		}
		path := "hooks." + h.Event
		if h.Line > 0 {
			path = fmt.Sprintf("line %d: hooks.%s", h.Line, clip(h.Event, maxLabel))
		}
		groups, warns := ParseGroup(h.Event, h.Raw, string(h.Source), h.File, path)
		warnings = append(warnings, warns...)
		if len(levels) == 0 || h.Source != last {
			levels = append(levels, nil)
		}
		last = h.Source
		levels[len(levels)-1] = append(levels[len(levels)-1], groups...)
	}
	slices.Reverse(levels)
	return slices.Concat(levels...), warnings
}

// PolicyFrom reads the switches of the settings.
func PolicyFrom(s settings.Settings) Policy {
	p := Policy{
		DisableAll:     s.DisableAllHooks,
		DisableManaged: s.DisableAllHooks && s.DisableAllHooksSource == settings.PolicySettings,
		ManagedOnly:    s.AllowManagedHooksOnly,
	}
	p.AllowedURLs, p.LimitURLs = limit(s, "allowedHttpHookUrls")
	p.AllowedEnvVars, p.LimitEnvVars = limit(s, "httpHookAllowedEnvVars")
	return p
}

// limit reads an allow list. One that cannot be read allows nothing.
func limit(s settings.Settings, key string) (list []string, limited bool) {
	raw, ok := s.Raw(key)
	if !ok {
		return nil, false
	}
	if json.Unmarshal(raw, &list) != nil {
		list = nil
	}
	return list, true
}
