package cli

import "github.com/spf13/pflag"

// normalize makes the other spelling of a flag the same flag.
func normalize(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	switch name {
	case "allowed-tools":
		name = "allowedTools"
	case "disallowed-tools":
		name = "disallowedTools"
	}
	return pflag.NormalizedName(name)
}
