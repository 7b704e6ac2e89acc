package shellscan

// Limits of what is looked at. Beyond them a script is never Simple.
const (
	// MaxLength is the length of a command, in characters, above which it is
	// never Simple. Up to MaxParsed bytes its commands are still listed.
	MaxLength = 10_000
	// MaxParsed is the length in bytes above which a command is not parsed.
	MaxParsed = 256 << 10
	// MaxCommands bounds the commands listed for one script.
	MaxCommands = 4096
	// MaxDepth bounds how deep command strings inside command strings are read.
	MaxDepth = 6
	// MaxBraceWords bounds the words that one brace expansion may give.
	MaxBraceWords = 64
	// maxDirs bounds the working directories that are held possible at once.
	maxDirs = 8
)

// Class says how far a script is understood.
type Class int

const (
	// Invalid scripts cannot be parsed as bash or hold what no command may hold (NUL).
	Invalid Class = iota
	// TooComplex scripts parse, but hold something whose meaning is not certain.
	// Their Commands are those that could be told, which may not be all.
	TooComplex
	// Simple scripts are understood: Commands lists all that they can run.
	Simple
)

// String names the class.
func (c Class) String() string {
	switch c {
	case Simple:
		return "simple"
	case TooComplex:
		return "too complex"
	}
	return "invalid"
}

// Knowledge says how much of a word or path is certain before it runs.
type Knowledge int

const (
	// Unknown: nothing is certain.
	Unknown Knowledge = iota
	// Partial: a literal prefix is certain, or the word is a glob pattern.
	Partial
	// Literal: the whole value is certain.
	Literal
)

// Options are the facts about the world that a scan may use.
type Options struct {
	// Cwd is the absolute directory that the command starts in; Home the user's
	// home. An empty one makes all that depends on it unknown.
	Cwd, Home string
	// Env gives the value of variables that are certain to have it. May be nil.
	// HOME and PWD are known from Home and Cwd.
	Env func(name string) (string, bool)
	// InRoots says whether an absolute, clean path lies in the working
	// directories. When nil, only Cwd and what is below it does.
	InRoots func(path string) bool
}

// Script is the meaning of one command line. It is not changed after Scan.
type Script struct {
	Source string
	Class  Class
	// Why says in one clause why the class is not Simple.
	Why string
	// Commands are all simple commands that can run, in source order. A command
	// that runs others (sh -c, find -exec) comes before those.
	Commands []Command
	// ChangesDir tells that the calling shell's directory may change. Dir is
	// then where it surely ends up if every cd works, or "" when that is not known.
	ChangesDir bool
	Dir        string
}

// Word is one word of a command after brace expansion.
type Word struct {
	// Source is the word as written.
	Source string
	// Text is the value when Known is Literal, and otherwise the text as
	// written, without quotes around its literal parts.
	Text string
	// Known says how much of the value is certain.
	Known Knowledge
	// Prefix is the literal beginning of a word that is not Literal.
	Prefix string
	// Glob tells that an unquoted pattern character is in it, so that it may
	// become the names of files.
	Glob bool
	// Quoted tells that some part was quoted or escaped.
	Quoted bool
	// Multi tells that it may become no word or several (an unquoted expansion or a glob).
	Multi bool
	// Braced tells that it came out of a brace expansion.
	Braced bool
	// pattern tells that Text is exactly the pattern that bash expands.
	pattern bool
	// placeholder is {} of find: names below its starting points.
	placeholder bool
	// process is a process substitution, which is no file of the disk.
	process bool
	// alts are the values that a loop gives the word; nil when not known. maybe are
	// those that it may give, where splitting or a pattern may make others of them.
	alts, maybe []Word
}

// Assign is a variable assignment in front of a command, or on its own.
type Assign struct {
	Name  string
	Value Word
	// Append is NAME+=value; Array an array or element assignment.
	Append, Array bool
	// Harmless variables choose how something is shown or which mode a program
	// runs in; never an identity, endpoint, executable, loader or file.
	Harmless bool
	text     string
}

// Redir is one redirection.
type Redir struct {
	// Op is the operator as written, such as ">", ">>", "<", "<<<", "&>".
	Op string
	// Fd is the descriptor in front of the operator, or "".
	Fd string
	// Target is the file, descriptor, here-string or here-document delimiter.
	Target Word
	// Writes and Reads tell that a file is opened so. Both are false for the
	// duplication of descriptors, here-documents and /dev/null.
	Writes, Reads bool
	// Network tells of a /dev/tcp or /dev/udp target, which opens a connection.
	Network bool
	// Heredoc tells that the command's input is text from the script; Body is
	// that text, or "" when it holds expansions.
	Heredoc bool
	Body    string
	// Paths are the files that Target names, for every possible directory.
	Paths []Path
}

// Path is a file that a command reads, writes or removes.
type Path struct {
	// Text is the absolute and lexically clean path when Known is Literal; a
	// pattern with an absolute literal beginning when Glob; otherwise as written.
	Text string
	// Raw is the absolute path before cleaning, so that symbolic links in front
	// of ".." can be followed as the kernel does. "" when not absolute.
	Raw   string
	Known Knowledge
	// Glob tells that Text is a pattern. Base is its literal directory.
	Glob bool
	// Base is the deepest directory that surely holds every file meant, or Text
	// itself for a Literal path; "" when unknown.
	Base string
	// Tree tells that everything below is meant too.
	Tree bool
}

// Wrapper is a program that stands in front of a command and runs it.
type Wrapper struct {
	Name string
	// Harmless wrappers change nothing of what the command means, so that allow
	// rules may look through them.
	Harmless bool
	// Quiet wrappers are covered by no rule for what they run, but a command that
	// changes nothing changes nothing behind them either.
	Quiet bool
	// Args are the wrapper's own words, its name first.
	Args []Word
}

// Form is one text of a command that a rule can be matched with.
type Form struct {
	// Text is the words joined with single blanks, quotes removed.
	Text string
	// Allow tells that an allow rule may match it. Deny and ask rules match every form.
	Allow bool
	// Marked is Text with the blanks that stand inside words replaced by NUL; ""
	// when there are none.
	Marked string
}

// Nesting tells where in the script a command stands.
type Nesting uint16

const (
	// InSubshell is ( … ).
	InSubshell Nesting = 1 << iota
	// InSubstitution is $( … ), ` … `, <( … ) or >( … ).
	InSubstitution
	// InPipe is a part of a pipeline.
	InPipe
	// InBackground is … &.
	InBackground
	// InFunction is the body of a function.
	InFunction
	// InLoop is the body or condition of for, while, until, select.
	InLoop
	// InCondition is a branch that may not run: if, case, && and ||.
	InCondition
	// InString is a command that stood in a string (sh -c, eval, trap, find -exec).
	InString
)

// SedEdit is a `sed -i` understood as an edit of files.
type SedEdit struct {
	// Script is the sed program; Quiet is -n, Extended -E.
	Script          string
	Quiet, Extended bool
	// Suffix is the backup suffix, or "".
	Suffix string
	Files  []Path
}

// GitCall is a call of git, for the check of what a repository can make it run.
type GitCall struct {
	// Subcommand is the word after the global options, "" when not known.
	Subcommand string
	// Dirs are the directories in which it looks for a repository.
	Dirs []string
	// DirKnown tells that Dirs is complete.
	DirKnown bool
}

// Command is one simple command.
type Command struct {
	// Source is the text as written, without redirections.
	Source string
	// Argv are the words as written, wrappers included.
	Argv []Word
	// Run are the words of the innermost command, after all wrappers.
	Run     []Word
	Assigns []Assign
	Redirs  []Redir
	// Wrappers are the programs in front, outermost first.
	Wrappers []Wrapper
	// Forms are the texts to match rules with, as written first.
	Forms   []Form
	Nesting Nesting
	// Dir is the directory it runs in, when DirKnown; Dirs are all possible ones
	// (empty when unknown).
	Dir      string
	DirKnown bool
	Dirs     []string
	// ReadOnly tells that it changes nothing, its redirections included, and that
	// it prints no secrets by nature; WhyNot the reason when it may.
	ReadOnly bool
	WhyNot   string
	// RunsUnknown tells that it runs something that cannot be seen here.
	RunsUnknown bool
	// RunsListed tells that all it runs besides itself are the next Inner entries
	// of Commands, so that it is as harmless as those are.
	RunsListed bool
	Inner      int
	// BeyondPrefix says why a prefix or wildcard allow rule must not cover it (an
	// option that runs a program or writes a file, a wrapper); "" when it may.
	BeyondPrefix string
	// Reads, Writes and Removes are the files that it works on, redirections included.
	Reads, Writes, Removes []Path
	// UnknownReads and UnknownWrites tell that it may also work on files that
	// cannot be told.
	UnknownReads, UnknownWrites bool
	// FileCommand tells that it is one of the everyday file commands (mkdir,
	// touch, rm, rmdir, mv, cp, sed -i) with harmless options, so that Reads,
	// Writes and Removes are all that it does.
	FileCommand bool
	FileEdit    *SedEdit
	// Critical says why a removal is never approved without a person; "" if it is not one.
	Critical string
	// KillsRuntime says why it may end the runtime itself; "" when it does not.
	KillsRuntime string
	Git          *GitCall
	// MayRun are commands that it may run, as far as its words let guess: what
	// stands behind the words of a container, a remote shell, a terminal. Rules that
	// close match them; nothing else follows from them, and they need not be all.
	MayRun []Command
}

// ReadOnly tells whether the whole script changes nothing; if not, why.
// Whether its reads are allowed is another question: see Command.Reads and
// Command.UnknownReads.
func (s *Script) ReadOnly() (bool, string) {
	if s.Class != Simple {
		return false, s.Why
	}
	for i := range s.Commands {
		if !s.Commands[i].ReadOnly {
			return false, s.Commands[i].WhyNot
		}
	}
	return true, ""
}
