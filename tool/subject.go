package tool

// SubjectKind says what kind of thing a permission rule's specifier is
// compared with.
type SubjectKind int

// The kinds of subjects. The zero kind is matched by no specifier.
const (
	SubjectNone    SubjectKind = iota
	SubjectPath                // a path pattern, as in Read(src/**)
	SubjectCommand             // a shell command line, as in Bash(git log:*)
	SubjectURL                 // a host, as in WebFetch(domain:example.com)
	SubjectName                // a name with optional arguments, as in Agent(reviewer)
)

// Subject is something a call acts on and permission rules may speak of: a
// file, a command, a host, a name.
type Subject struct {
	Kind SubjectKind
	// Family is the name that rules use: Read or Edit for paths, Bash or
	// PowerShell for commands, WebFetch for addresses, the tool's own name for
	// names. A rule of that family applies whatever the tool is called.
	Family string
	Value  string // the path, command line, URL or name
	Args   string // what follows the name, for SubjectName
}

// Rule families for paths. A Read deny also stops edits; an Edit allow also
// grants reads.
const (
	FamilyRead = "Read"
	FamilyEdit = "Edit"
)

// ReadOf is the subject of reading a path.
func ReadOf(path string) Subject {
	return Subject{Kind: SubjectPath, Family: FamilyRead, Value: path}
}

// EditOf is the subject of creating, changing or removing a path.
func EditOf(path string) Subject {
	return Subject{Kind: SubjectPath, Family: FamilyEdit, Value: path}
}

// CommandOf is the subject of running a command line; family is Bash or
// PowerShell.
func CommandOf(family, command string) Subject {
	return Subject{Kind: SubjectCommand, Family: family, Value: command}
}

// URLOf is the subject of fetching an address.
func URLOf(family, url string) Subject {
	return Subject{Kind: SubjectURL, Family: family, Value: url}
}

// NameOf is the subject of using something by name, such as a skill.
func NameOf(family, name, args string) Subject {
	return Subject{Kind: SubjectName, Family: family, Value: name, Args: args}
}
