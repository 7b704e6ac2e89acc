package shellscan

import "strings"

// git reads a call of git: its options in front of the subcommand, the
// repository that it works in, and whether the subcommand only looks.
func (s *scanner) git(c *Command, u *unwrapped) {
	st := u.st
	g := &GitCall{Dirs: st.dirs, DirKnown: st.dirs != nil}
	c.Git = g
	words := u.argv[1:]
	quiet := true // the options in front only choose how things are shown
	beyond := func(why string) {
		quiet = false
		c.deny(why)
		c.BeyondPrefix = orElse(c.BeyondPrefix, why)
	}
	i := 0
loop:
	for ; i < len(words); i++ {
		w := words[i]
		if w.Known != Literal {
			beyond("the word " + show(w) + " of git is not certain")
			c.UnknownReads = true
			break
		}
		t := w.Text
		switch {
		case !strings.HasPrefix(t, "-"):
			break loop
		case t == "-P" || t == "--no-pager" || t == "--no-optional-locks" || t == "--no-replace-objects" || t == "--literal-pathspecs" ||
			t == "--glob-pathspecs" || t == "--noglob-pathspecs" || t == "--icase-pathspecs" || t == "--no-advice" || t == "--no-lazy-fetch":
		case t == "-C":
			if i++; i < len(words) {
				g.Dirs = s.change(Word{Source: words[i].Source, Text: words[i].Text, Known: words[i].Known}, g.Dirs)
				if words[i].Known == Literal && words[i].Text == "" {
					g.Dirs = st.dirs
				}
				g.DirKnown = g.Dirs != nil
				if !g.DirKnown || !s.inRoots(g.Dirs) {
					beyond("git -C leads out of the working directories")
				}
			}
		case t == "-c":
			if i++; i < len(words) && !harmlessConfig(words[i]) {
				beyond("git -c " + show(words[i]) + " may make git run a program")
			}
		case t == "--version" || t == "-v" || t == "--html-path" || t == "--man-path" || t == "--info-path" || t == "--exec-path":
			if c.ReadOnly = c.WhyNot == "" && len(words) == 1; !c.ReadOnly {
				c.deny("git " + t + " is not known to change nothing with these words")
			}
			return
		case t == "--git-dir" || t == "--work-tree" || t == "--namespace" || t == "--config-env" || t == "--super-prefix" || t == "--attr-source":
			i++
			g.DirKnown = false
			beyond("git " + t + " names another repository or its settings")
		case t == "-p" || t == "--paginate":
			beyond("git " + t + " runs a pager")
		default:
			g.DirKnown = g.DirKnown && !strings.HasPrefix(t, "--git-dir")
			beyond("git " + t + " may change which repository or programs are used")
		}
	}
	if i >= len(words) {
		c.deny("git without a subcommand")
		return
	}
	g.Subcommand = words[i].Text
	if words[i].Known != Literal {
		g.Subcommand = ""
		return
	}
	if i > 0 {
		s.gitForms(c, u, words[i:], quiet)
	}
	st.dirs = g.Dirs
	for _, w := range words[i:] {
		if strings.HasPrefix(w.Text, "ext::") || strings.HasPrefix(w.Text, "fd::") {
			beyond("the address " + show(w) + " runs a program")
		}
	}
	argv := append([]Word{lit("git")}, words[i:]...)
	e, n := lookup("git", argv)
	if e == nil || n == 1 {
		c.deny("git " + g.Subcommand + " is not in the list of subcommands that change nothing")
		return
	}
	rest := argv[n:]
	if u.stdinArgs {
		rest = append(rest[:len(rest):len(rest)], Word{Source: "(words from the input)", Multi: true})
	}
	set := e.parsed()
	if why := e.refused(rest, set); why != "" {
		beyond(why)
	}
	a := set.parse(join(argv[:n]), rest, false, false)
	for _, w := range rest {
		if strings.Contains(w.Text, "%(signature") {
			beyond("the format makes git run gpg")
		}
	}
	if e.no != "" {
		c.deny(e.no)
		if e.check != nil {
			e.check(s, c, &a, st)
		}
		return
	}
	c.ReadOnly = c.WhyNot == ""
	if a.why != "" {
		c.deny(a.why)
		c.UnknownReads = true
		if e.args == files || e.args == trees {
			s.mayRead(c, rest, st)
		}
	}
	for _, w := range a.reads {
		s.reads(c, w, st, false)
	}
	switch {
	case e.args == noOperands && len(a.pos) > 0:
		c.deny("the word " + show(a.pos[0]) + " of " + a.prog + " is not known to be harmless")
	case e.max > 0 && (len(a.pos) > e.max || a.multi):
		c.deny("more words than " + a.prog + " only reads")
	}
	if e.check != nil {
		if why := e.check(s, c, &a, st); why != "" {
			c.deny(why)
		}
	}
	if a.prog == "git grep" && a.guarded < 0 && !a.has("--cached") {
		s.reads(c, lit("."), st, true)
	}
	if e.args == files || e.args == trees {
		s.gitReads(c, &a, st, e.args == trees)
	}
}

// gitReads notes the files that words of git may name. A revision looks like a
// file in the working directory, which does no harm.
func (s *scanner) gitReads(c *Command, a *args, st state, contents bool) {
	for _, w := range a.pos {
		if w.Known != Literal {
			if w.pattern {
				s.reads(c, w, st, contents)
			}
			// What git shows of a repository that it is in is not more than the
			// repository; a path outside makes it refuse, but for --no-index.
			c.UnknownReads = c.UnknownReads || !w.pattern
			continue
		}
		t := w.Text
		if strings.HasPrefix(t, ":") {
			t = strings.TrimLeft(t, ":/!^")
			if k := strings.IndexByte(t, ')'); strings.HasPrefix(t, "(") && k > 0 {
				t = t[k+1:]
			}
			s.reads(c, lit(t), st, contents)
			continue
		}
		if k := strings.IndexByte(t, ':'); k > 0 {
			if f := t[k+1:]; f != "" && !isAbs(f) {
				s.reads(c, lit(f), st, contents)
			}
			continue
		}
		if strings.Contains(t, "..") && !strings.HasPrefix(t, ".") && !strings.Contains(t, "/../") && !strings.HasSuffix(t, "/..") {
			continue // a range of revisions
		}
		s.reads(c, w, st, contents)
	}
}

// gitForms adds the text without the options in front of the subcommand.
func (s *scanner) gitForms(c *Command, u *unwrapped, rest []Word, quiet bool) {
	allow := quiet
	for _, a := range c.Assigns {
		allow = allow && a.Harmless
	}
	for _, l := range u.levels {
		allow = allow && l.allow
	}
	allow = allow && u.argv[0].Text == "git"
	c.Forms = append(c.Forms, Form{Text: "git " + join(rest), Allow: allow, Marked: marked(append([]Word{lit("git")}, rest...))})
}

// harmlessConfig tells of settings that only choose how git shows things.
func harmlessConfig(w Word) bool {
	if w.Known != Literal {
		return false
	}
	key, value, _ := strings.Cut(strings.ToLower(w.Text), "=")
	switch {
	case strings.HasPrefix(key, "color."), strings.HasPrefix(key, "advice."), strings.HasPrefix(key, "column."):
		return true
	case key == "core.pager":
		return value == "cat" || value == ""
	case key == "core.fsmonitor":
		return value == "false" || value == ""
	}
	switch key {
	case "core.quotepath", "core.abbrev", "log.date", "log.decorate", "log.abbrevcommit", "diff.renames", "diff.renamelimit", "diff.algorithm", "diff.noprefix", "diff.mnemonicprefix", "status.short",
		"status.branch", "status.showuntrackedfiles", "i18n.logoutputencoding", "grep.linenumber", "blame.date", "core.precomposeunicode":
		return true
	}
	return false
}

const diffRefuse = "--output: writes a file; --ext-diff --textconv: runs a program; -O: reads a file of patterns"

const logFlags = "-* -# -n: -S: -G: -L: -U: --author: --committer: --grep: --since: --until: --after: --before: --max-count: --skip: --date: --diff-filter: --max-parents: --min-parents: --format? --pretty? --glob? --exclude: --branches? --tags? --remotes? -C? -M? -B? -X?"

// gitTable lists the subcommands of git.
var gitTable = []program{
	{names: "git log, git show, git whatchanged, git stash list, git reflog, git reflog show, git stash show, git shortlog, git range-diff, git cherry", flags: logFlags, args: trees, refuse: diffRefuse + "; --show-signature: runs a program", check: gitLogCheck},
	{names: "git diff, git diff-tree, git diff-index, git diff-files", flags: logFlags, args: trees, refuse: diffRefuse},
	{names: "git status", flags: "-s -b -v -u? -z -uno -uall -unormal --short --branch --show-stash --porcelain? --long --verbose --untracked-files? --ignore-submodules? --ignored? --no-ahead-behind --ahead-behind --renames --no-renames --find-renames? --column? --no-column --no-short --null", args: files},
	{names: "git rev-parse", flags: "-*", args: files}, {names: "git rev-list", flags: logFlags, args: files, refuse: diffRefuse},
	{names: "git ls-files", flags: "-c -d -i -k -m -o -s -t -u -v -z -f -x: -X< --cached --deleted --modified --others --ignored --stage --unmerged --killed --directory --no-empty-directory --eol --exclude: --exclude-from< --exclude-per-directory: --exclude-standard --error-unmatch --full-name --recurse-submodules --abbrev? --deduplicate --debug --sparse --format:", args: files},
	{names: "git ls-tree", flags: "-d -r -t -l -z --name-only --name-status --object-only --full-name --full-tree --abbrev? --long --format:", args: files},
	{names: "git cat-file", flags: "-t -s -e -p -Z -z --batch? --batch-check? --batch-all-objects --buffer --follow-symlinks --unordered", args: trees, refuse: "--textconv --filters: runs a program"},
	{names: "git blame, git annotate", flags: "-b -c -e -f -h -l -n -p -s -t -w -L: -S< -M? -C? --root --show-stats --reverse --date: --contents< --score-debug --show-name --show-number --show-email --porcelain --line-porcelain --incremental --encoding: --first-parent --ignore-rev: --ignore-revs-file< --color-lines --color-by-age --abbrev:", args: trees, refuse: "--textconv --ext-diff: runs a program"},
	{names: "git grep", flags: "-a -A: -B: -c -C: -e: -E -f< -F -G -h -H -i -I -l -L -m: -n -o -p -P -q -v -w -W -z -r -# --and --or --not --all-match --cached --untracked --no-index --exclude-standard --no-exclude-standard --recurse-submodules --text --ignore-case --word-regexp --invert-match --extended-regexp --basic-regexp --perl-regexp --fixed-strings --line-number --column --files-with-matches --name-only --files-without-match --null --only-matching --count --color? --no-color --break --heading --show-function --context: --after-context: --before-context: --function-context --max-depth: --max-count: --threads: --full-name --quiet", args: trees, refuse: "-O --open-files-in-pager: opens files in a program; --textconv --ext-grep: runs a program"},
	{names: "git describe", flags: "--all --tags --contains --abbrev? --always --long --dirty? --broken? --exact-match --first-parent --match: --exclude: --candidates: --debug", args: files},
	{names: "git name-rev", flags: "--tags --refs: --all --name-only --no-undefined --always --exclude:", args: text},
	{names: "git merge-base", flags: "-a --all --octopus --independent --is-ancestor --fork-point", args: text},
	{names: "git show-ref, git for-each-ref, git show-branch, git count-objects, git var, git check-ignore, git check-attr, git check-ref-format, git version, git stripspace", flags: "-a -d -n -q -s -v -z -H -h -l --head --heads --tags --branches --dereference --hash? --verify --quiet --abbrev? --format: --sort: --count: --points-at: --merged? --no-merged? --contains? --no-contains? --ignore-case --exclude: --human-readable --verbose --no-index --non-matching --all --list --remotes --current --topics --build-options --allow-onelevel --branch --normalize", args: text},
	{names: "git branch", flags: "-a -r -v -vv -l -i -q --all --remotes --verbose --list --show-current --contains? --no-contains? --merged? --no-merged? --points-at: --sort: --format: --color? --no-color --column? --no-column --abbrev? --no-abbrev --ignore-case --omit-empty", args: text, check: gitListCheck, refuse: "-d -D -m -M -c -C -f -u -t --delete --move --copy --force --set-upstream-to --unset-upstream --edit-description --track --create-reflog: changes branches"},
	{names: "git tag", flags: "-l -n? -i --list --contains? --no-contains? --merged? --no-merged? --points-at: --sort: --format: --color? --column? --no-column --ignore-case --omit-empty", args: text, check: gitListCheck},
	{names: "git remote, git remote get-url", flags: "-v --verbose --all --push", args: text, check: gitRemoteCheck},
	{names: "git remote show", no: "it asks the remote over the network"},
	{names: "git config", flags: "-l -z --list --get --get-all --get-regexp --get-urlmatch --name-only --null --show-origin --show-scope --global --local --system --worktree --includes --no-includes --type: --bool --int --path --bool-or-int --expiry-date --default: --blob: -f< --file<", args: text, check: gitConfigCheck},
	{names: "git config get, git config list", flags: "--all --regexp --value: --fixed-value --name-only --null -z --show-origin --show-scope --global --local --system --worktree --includes --no-includes --type: --default: --show-names --url:", args: text},
	{names: "git worktree list", flags: "-v -z --porcelain --verbose"}, {names: "git submodule status, git submodule summary", flags: "--cached --recursive --quiet", args: text},
	{names: "git submodule", args: noOperands}, {names: "git notes, git notes list, git notes show", flags: "", args: noOperands}, {names: "git bisect log, git bisect view --stat"},
	{names: "git symbolic-ref", flags: "-q --short --quiet --recurse --no-recurse", args: text, max: 1}, {names: "git lfs ls-files, git lfs version", flags: "-l -s -n --all --long --size --name-only"},
	{names: "git hash-object", flags: "-t: --stdin --no-filters --literally", args: files, check: needs("--no-filters", "filters of the repository can run programs")},
	{names: "git help", flags: "-a -g -c --all --guides --config --verbose --no-verbose --no-external-commands --no-aliases --developer-interfaces --user-interfaces", args: text, refuse: "-w --web: opens a browser; -i --info: runs a viewer"},
	{names: "git apply", flags: "--stat --numstat --summary --check -v -q -z -R -p: -C: --reverse --verbose --quiet --recount --directory: --include: --exclude: --whitespace: --ignore-whitespace --ignore-space-change --unidiff-zero --inaccurate-eof", args: files, check: gitApplyCheck},
	{names: "git init", no: "it writes a new repository", flags: "-q -b: --bare --quiet --initial-branch: --shared? --object-format:", refuse: "--template: copies hooks; --separate-git-dir: writes elsewhere"},
	{names: "git fsck, git verify-commit, git verify-tag, git difftool, git mergetool, git instaweb, git gui, gitk, git send-email, git credential", no: "it may run a program", refuse: "-x --extcmd --sendmail-cmd --smtp-server: runs a program"},
	{names: "git fetch, git pull, git push, git clone, git ls-remote", no: "it uses the network", flags: "-v -q -n -a -f -p -t -j: -b: -o: --depth: --branch: --tags --all --prune --force --dry-run --set-upstream --no-verify --rebase? --heads --refs --tags", refuse: "--upload-pack --receive-pack --exec: names a program; -c --config --template: changes settings"},
	{names: "git clone", no: "it writes a new repository", flags: "-v -q -n -b: -o: -j: --depth: --branch: --recursive --recurse-submodules?", refuse: "-u --upload-pack: names a program; -c --config --template: changes settings; --separate-git-dir: writes elsewhere"},
	{names: "git rebase", no: "it changes commits", flags: "-i -m -q -v -s: -X: -f -r --onto: --continue --abort --skip --autostash --autosquash", refuse: "-x --exec: runs a command"},
	{names: "git archive", no: "it writes an archive", flags: "-v -l --format: --prefix: --list", refuse: "-o --output: writes a file; --exec --remote: names a program"},
	{names: "git format-patch", no: "it writes files", flags: "-n -s -#", refuse: "-o --output-directory --output: writes elsewhere"},
	{names: "git bundle", no: "it writes files", flags: "-q --quiet --progress --all --branches --tags --version:", check: gitBundleCheck},
	{names: "git bisect run, git submodule foreach, git filter-branch, git for-each-repo", no: "it runs a command", check: beyond("it runs a command")},
}

// gitLogCheck refuses formats that check signatures.
func gitLogCheck(_ *scanner, c *Command, a *args, _ state) string {
	for _, w := range c.Run[1:] {
		if strings.Contains(w.Text, "%G") {
			c.BeyondPrefix = orElse(c.BeyondPrefix, "the format makes git run gpg")
			return "the format makes git run gpg"
		}
	}
	if strings.HasPrefix(a.prog, "git reflog") && len(a.pos) > 0 {
		switch a.pos[0].Text {
		case "expire", "delete", "drop", "write":
			return "git reflog " + a.pos[0].Text + " changes the repository"
		}
	}
	return ""
}

// gitListCheck allows names only where branches or tags are listed.
func gitListCheck(_ *scanner, _ *Command, a *args, _ state) string {
	if len(a.pos) == 0 || a.has("-l", "--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at") || a.prog == "git tag" && a.has("-n") {
		return ""
	}
	return a.prog + " with a name creates it"
}

func gitRemoteCheck(_ *scanner, _ *Command, a *args, _ state) string {
	if a.prog == "git remote" && len(a.pos) > 0 {
		return "git remote " + show(a.pos[0]) + " is not known to change nothing"
	}
	return ""
}

// gitConfigCheck allows the forms that show settings.
func gitConfigCheck(_ *scanner, c *Command, a *args, _ state) string {
	switch {
	case a.has("-l", "--list"):
		if len(a.pos) == 0 {
			return ""
		}
	case a.has("--get", "--get-all", "--get-regexp", "--get-urlmatch"):
		return ""
	case len(a.pos) == 1 && !a.multi:
		return ""
	}
	for _, w := range c.Run[1:] {
		switch t := strings.ToLower(w.Text); {
		case w.Known != Literal && w.mayBeOption(), t == "-e", t == "--edit", t == "--rename-section", t == "rename-section", t == "edit":
			c.BeyondPrefix = "it may change any setting, and so make git run a program"
		case w.Known == Literal && (strings.HasPrefix(t, "-") || t == "config"), wordIn("set get unset list remove-section", t):
			continue
		case w.Known != Literal || !harmlessSetting(t):
			c.BeyondPrefix = orElse(c.BeyondPrefix, "the setting "+show(w)+" may make git run a program")
		}
		break
	}
	return "it changes the settings of git"
}

// gitApplyCheck allows the forms that only look at a patch.
func gitApplyCheck(_ *scanner, _ *Command, a *args, _ state) string {
	if a.has("--stat", "--numstat", "--summary", "--check") {
		return ""
	}
	return "it applies a patch"
}

// gitBundleCheck notes the file that git bundle writes.
func gitBundleCheck(s *scanner, c *Command, a *args, st state) string {
	if len(a.pos) > 1 && a.pos[0].Text == "create" {
		s.writes(c, a.pos[1], st)
	}
	return ""
}

// harmlessSetting tells of settings that name no program and no other file.
func harmlessSetting(key string) bool {
	for _, p := range []string{"user.", "color.", "advice.", "branch.", "push.", "pull.", "init.", "rebase.", "fetch.", "column.", "help."} {
		if strings.HasPrefix(key, p) {
			return true
		}
	}
	return key != "core.pager" && key != "core.fsmonitor" && harmlessConfig(lit(key))
}
