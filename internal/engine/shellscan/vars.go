package shellscan

import "strings"

// harmlessVars choose how things are shown, or a mode of the program, and name
// no file, program, identity or endpoint.
var harmlessVars = map[string]bool{
	"LANG": true, "LANGUAGE": true, "TZ": true, "NO_COLOR": true, "FORCE_COLOR": true, "CLICOLOR": true, "CLICOLOR_FORCE": true,
	"COLORTERM": true, "COLUMNS": true, "LINES": true, "TERM": true, "CI": true, "NODE_ENV": true, "RAILS_ENV": true, "RACK_ENV": true,
	"APP_ENV": true, "GO_ENV": true, "MIX_ENV": true, "ENVIRONMENT": true, "GOOS": true, "GOARCH": true, "GOARM": true, "GOAMD64": true,
	"CGO_ENABLED": true, "GO111MODULE": true, "RUST_BACKTRACE": true, "RUST_LOG": true, "CARGO_TERM_COLOR": true, "PYTHONUNBUFFERED": true,
	"PYTHONDONTWRITEBYTECODE": true, "PYTHONIOENCODING": true, "PYTHONUTF8": true, "PYTHONHASHSEED": true, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": true,
	"DEBIAN_FRONTEND": true, "POSIXLY_CORRECT": true, "BLOCKSIZE": true, "BLOCK_SIZE": true, "TIME_STYLE": true, "QUOTING_STYLE": true,
	"LS_COLORS": true, "GREP_COLORS": true, "GREP_COLOR": true, "JQ_COLORS": true, "SOURCE_DATE_EPOCH": true, "TERM_PROGRAM": true,
	"ANTHROPIC_LOG": false,
}

// harmlessVar tells whether an assignment of the variable in front of a command
// changes nothing of what the command does.
func harmlessVar(name string) bool {
	return harmlessVars[name] || strings.HasPrefix(name, "LC_") && name != "LC_"
}

// localeVar tells of the variables whose value may also be the path of a file.
func localeVar(name string) bool {
	return name == "LANG" || name == "LANGUAGE" || name == "TERM" || strings.HasPrefix(name, "LC_")
}

// localVar tells that a name is by its look a variable of the script alone, which
// no program reads from its environment.
func localVar(name string) bool {
	switch {
	case name == "" || strings.HasSuffix(name, "_proxy"), name == "histchars", name == "auto_resume":
		return false
	case strings.HasPrefix(name, "npm_") || strings.HasPrefix(name, "pnpm_"):
		return false
	}
	return name != "_" && name == strings.ToLower(name)
}

// sensitive tells that a variable decides what later commands do.
func sensitive(name string) bool { return !localVar(name) && !harmlessVar(name) && !loopName(name) }

// loopName tells of the short upper-case names that scripts use for themselves.
func loopName(name string) bool { return len(name) == 1 }
