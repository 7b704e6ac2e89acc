package shellscan

// carefulTable holds programs that are never read-only by this table, with the
// options that make them do what a prefix rule did not mean to allow.
var carefulTable = []program{
	{names: "rsync, scp, sftp, ssh, mosh", no: "it reaches another machine", flags: "-a -v -z -r -n -p: -i: -l: -P -q -t -u -x -h -4 -6 -A -C -N -T -X -Y", args: text,
		refuse: "-e --rsh --rsync-path: runs a program; -o -F: reads options; -S: runs a program; -D: opens a proxy"},
	{names: "curl", no: "it uses the network, which can carry data out", flags: "-s -S -f -L -i -I -v -k -g -G -4 -6 -X: -H: -d: -u: -A: -m: -b: -e: -F: -w: -x: -r: -N -C: -# --request: --header: --data: --data-raw: --data-urlencode: --user: --user-agent: --max-time: --connect-timeout: --url: --retry:", args: text,
		refuse: "-o --output -O --remote-name --remote-name-all --output-dir -J --remote-header-name -D --dump-header -c --cookie-jar --trace --trace-ascii --stderr --libcurl --etag-save --hsts --alt-svc: writes a file; -K --config: reads options from a file; -T --upload-file: sends a file; -q --disable: changes settings"},
	{names: "wget", no: "it uses the network, which can carry data out", flags: "-q -v -nv -c -N -S -T: -t: -U: --header: --timeout: --tries:", args: text,
		refuse: "-O --output-document -o --output-file -a --append-output -P --directory-prefix --save-cookies --warc-file: writes a file; -e --execute --config: sets options; -i --input-file: reads what a file names; --post-file --body-file: sends a file; --use-askpass: runs a program"},
	{names: "tee, sponge", no: "it writes files", args: text},
	{names: "zip", no: "it writes an archive", args: files, flags: "-r -q -9 -j", refuse: "-T -TT --test --unzip-command: runs a program"},
	{names: "vim, vi, nvim, view, ex, ed, emacs, nano", args: files, no: "an editor changes files and runs programs", check: beyond("an editor can run programs")},
	{names: "less, more, most", args: files, no: "a pager can run programs"},
	{names: "gdb, lldb", no: "a debugger runs programs", check: beyond("a debugger runs programs")},
	{names: "crontab, at, batch", no: "it runs commands later", check: beyond("it runs commands later")},
	{names: "script, entr, watchexec, nodemon, tmux, screen, expect", no: "it runs commands"},
}
