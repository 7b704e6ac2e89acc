package shellscan

// textTable holds tools that search, compare and show the contents of files.
var textTable = []program{
	{names: "grep, ggrep", flags: grepFlags, args: patternFiles, safe: true, check: grepCheck},
	{names: "egrep, fgrep", flags: grepFlags, args: patternFiles, safe: true, check: grepCheck},
	{names: "zgrep, zegrep, zfgrep", flags: "-a -A: -B: -c -C: -E -e: -F -G -h -H -i -l -L -m: -n -o -P -q -s -v -w -x", args: patternFiles},
	{names: "zcat, gzcat, bzcat, xzcat, zstdcat, lz4cat", flags: "-f -q -v --force --quiet --verbose --help --version", args: files},
	{names: "rg, ripgrep", flags: "-a -A: -b -B: -c -C: -e: -E: -f< -F -g: -h -H -i -I -j: -l -L -m: -M: -n -N -o -p -P -q -r: -s -S -t: -T: -u -U -v -V -w -x -. -0 -d: " +
		"--after-context: --before-context: --context: --regexp: --file< --fixed-strings --glob: --iglob: --help --heading --no-heading --hidden --no-hidden --ignore-case --ignore-file< --line-number --no-line-number " +
		"--files --files-with-matches --files-without-match --count --count-matches --max-count: --max-columns: --max-columns-preview --max-depth: --maxdepth: --max-filesize: --multiline --multiline-dotall --no-filename " +
		"--with-filename --no-ignore --no-ignore-vcs --no-ignore-parent --no-ignore-dot --no-ignore-files --no-ignore-global --no-messages --no-config --no-mmap --null --null-data --one-file-system --only-matching " +
		"--passthru --passthrough --pcre2 --engine: --pretty --quiet --replace: --smart-case --case-sensitive --sort: --sortr: --stats --text --threads: --trim --type: --type-not: --type-list --type-add: --unrestricted --vimgrep " +
		"--word-regexp --line-regexp --invert-match --color: --colors: --column --json --crlf --encoding: --byte-offset --context-separator: --field-match-separator: --path-separator: --line-buffered --block-buffered --version --debug --no-pcre2-unicode --no-unicode --binary --glob-case-insensitive --include-zero --follow",
		args: patternTrees, here: true, refuse: "--pre --pre-glob: runs a program on every file; -z --search-zip: runs programs to unpack; --hostname-bin: runs a program", check: rgCheck},
	{names: "ag", flags: "-a -A: -B: -c -C: -f -F -g: -G: -h -H -i -l -L -m: -n -o -q -Q -r -s -S -u -v -w --hidden --ignore: --nocolor --nogroup --color --group --heading --noheading --depth: --js --py --python --go --java --cpp --cc", args: patternTrees, here: true, refuse: "--pager -p --passthru --output: runs a program or evaluates code"},
	{names: "diff, gdiff, colordiff", flags: "-a -b -B -c -C: -d -D: -e -E -F: -h -i -I: -l -L: -n -N -p -q -r -s -S: -t -T -u -U: -v -w -W: -x: -X< -y -Z -# --text --ignore-space-change --ignore-blank-lines --brief --context? --color? --unified? --minimal --recursive --report-identical-files --side-by-side --width: --suppress-common-lines --show-c-function --show-function-line: --label: --ignore-case --ignore-all-space --ignore-trailing-space --ignore-matching-lines: --ignore-tab-expansion --strip-trailing-cr --new-file --unidirectional-new-file --exclude: --exclude-from< --normal --ed --rcs --left-column --expand-tabs --initial-tab --no-dereference --line-format: --old-line-format: --new-line-format: --unchanged-line-format: --old-group-format: --new-group-format: --changed-group-format: --palette: --from-file< --to-file< --speed-large-files --tabsize: --help --version", args: trees, refuse: "-l --paginate: runs pr"},
	{names: "sdiff", flags: "-a -b -B -d -E -i -l -s -t -w: -W", args: files, refuse: "-o --output: writes a file; --diff-program: runs a program"},
	{names: "diff3", flags: "-A -e -E -m -T -x -X -3 -i -a -L: --merge --text --show-all --label: --version --help", args: files, refuse: "--diff-program: runs a program"},
	{names: "cmp", flags: "-b -i: -l -n: -s --print-bytes --ignore-initial: --verbose --bytes: --quiet --silent --help --version", args: files, safe: true},
	{names: "diffstat, lsdiff, filterdiff, interdiff", flags: "-p: -l -s -w: --help --version", args: files, refuse: "-o --output: writes a file"},
	{names: "column", flags: "-c: -d -e -E: -H: -i: -J -l: -L -n: -N: -o: -O: -p: -r: -R: -s: -t -T: -W: -x --table --separator: --output-separator: --output-width: --table-columns: --table-right: --table-noheadings --table-name: --json --fillrows --help --version", args: files, safe: true},
	{names: "colrm, col", flags: "-b -f -p -x -h -l: -i -t:", args: text, safe: true},
	{names: "ul", flags: "-i -t:", args: files, safe: true},
	{names: "od, hexdump, hd, gxd", flags: "-A: -a -b -c -C -d -e: -f< -h -i -j: -l -L -n: -N: -o -s: -S? -t: -v -w? -x -X --address-radix: --skip-bytes: --read-bytes: --format: --output-duplicates --width? --strings? --canonical --length: --skip: --no-squeezing --help --version", args: files, safe: true},
	{names: "xxd", flags: "-a -b -c: -C -d -e -E -g: -h -i -l: -n: -o: -p -ps -plain -r -R: -s: -u -v -len -cols -seek -bits", args: files, max: 1},
	{names: "strings", flags: "-a -d -f -n: -t: -e: -o -s: -w -U: -# --all --data --print-file-name --bytes: --radix: --encoding: --help --version", args: files, safe: true},
	{names: "file", flags: "-b -i -I -k -L -h -n -N -p -r -s -S -v -0 -e: -F: -P: --brief --mime --mime-type --mime-encoding --extension --keep-going --dereference --no-dereference --no-pad --print0 --raw --special-files --separator: --exclude: --help --version --apple", args: files, refuse: "-m --magic-file: reads a file of rules; -f --files-from: reads what a file names; -C --compile: writes a file"},
	{names: "iconv", flags: "-c -f: -l -s -t: --from-code: --to-code: --list --silent --verbose --help --version", args: files, refuse: "-o --output: writes a file"},
	{names: "look", flags: "-b -d -f -a -t:", args: patternFiles},
	{names: "spell", flags: "-b -d", args: files},
	{names: "aspell list", flags: "-d: -l:", args: noOperands},
	{names: "bat, batcat", flags: "-A -p -pp -n -l: -r: -H: --plain --number --language: --line-range: --highlight-line: --style: --color: --decorations: --paging: --theme: --show-all --wrap: --tabs: --list-languages --list-themes --version --help", args: files, check: batCheck},
	{names: "tree", flags: "-a -A -C -d -D -f -F -g -h -H: -i -I: -J -l -L: -n -N -p -P: -q -Q -r -s -S -t -T: -u -U -v -x -X --charset: --dirsfirst --du --filelimit: --fromfile --gitignore --gitfile< --help --ignore-case --info --inodes --device --matchdirs --metafirst --noreport --nolinks --prune --sort: --si --timefmt: --version", args: files, here: true, refuse: "-o --output: writes a file; -R: writes files at the depth limit"},
	{names: "pg, pygmentize, ccat, glow, mdcat, hexyl, pr, a2ps, enscript, lp, lpr", args: files, no: "it is not known to only print"},
	{names: "less --version, less -V, more --version, more -V, man --version, man -V, tar --version, rsync --version, zip --version, unzip -v, ssh -V, scp -V, ping -V, nc -h, find --version, gawk --version, awk --version, sed --version, xargs --version, make --help"},
	{names: "gzip, gunzip, bzip2, bunzip2, xz, unxz, zstd, unzstd, lz4, compress, zip", args: files, no: "it writes an archive"},
	{names: "man", flags: "-a -f -k -w -W -s: -S: -L: --all --whatis --apropos --where --path --sections: --locale: --help --version", args: text, refuse: "-P --pager: runs a pager; -H --html -B --browser -X --gxditview: runs a program; -C --config-file: reads settings; -M --manpath: reads other pages; -l --local-file: reads a file; -p --preprocessor -T --troff-device -t --troff: runs programs", check: manCheck},
	{names: "apropos, whatis, info --version", flags: "-a -e -l -r -s: -w", args: text},
	{names: "nm, size, gnm", flags: "-A -a -B -C -d -D -g -G -h -n -o -p -P -r -s -S -t: -u -v --debug-syms --demangle? --dynamic --extern-only --numeric-sort --no-sort --print-size --size-sort --reverse-sort --undefined-only --defined-only --print-file-name --radix: --format: --help --version --common --totals", args: files},
	{names: "objdump", flags: "-a -C -d -D -f -g -h -j: -l -p -r -R -s -S -t -T -w -x -z -M: --archive-headers --demangle? --disassemble? --disassemble-all --file-headers --section-headers --headers --section: --line-numbers --private-headers --reloc --dynamic-reloc --full-contents --source --syms --dynamic-syms --wide --all-headers --start-address: --stop-address: --no-show-raw-insn --help --version", args: files},
	{names: "readelf", flags: "-a -A -c -d -D -e -g -h -I -l -n -p: -r -s -S -t -u -V -W -x: --all --arch-specific --dynamic --headers --file-header --histogram --program-headers --segments --notes --relocs --symbols --syms --sections --section-headers --section-details --unwind --version-info --wide --string-dump: --hex-dump: --dyn-syms --help --version", args: files},
	{names: "otool, lipo -info, dwarfdump", flags: "-L -l -h -f -a -t -v", args: files},
	{names: "pdfinfo", flags: "-f: -l: -box -meta -isodates -rawdates -v -h", args: files, max: 1},
	{names: "exiftool", no: "exiftool can change files"}, {names: "identify", flags: "-verbose -format: -ping", args: files, no: "its delegates can run programs"},
	{names: "mediainfo, ffprobe", flags: "-v: -i: -show_format -show_streams -hide_banner -of: -print_format: -select_streams: -show_entries: -loglevel: --Output:", args: files, no: "it can read from the network"},
	{names: "tar", flags: "-t -v -z -j -J -f< -a -O --list --verbose --file< --gzip --bzip2 --xz --zstd --wildcards", args: text, refuse: "-I --use-compress-program --to-command --checkpoint-action --checkpoint -F --info-script --new-volume-script --rsh-command --rmt-command: runs a program", check: tarCheck},
	{names: "unzip", flags: "-l -v -Z -t -q -qq -p -c", args: files, check: unzipCheck},
	{names: "zipinfo", flags: "-1 -2 -s -m -l -v -h -t -T -z", args: files},
	{names: "gzip -l, gunzip -l, xz -l, zstd -l, gzip --list, xz --list", flags: "-v -q", args: files},
	{names: "jq, gojq, jaq", flags: "-n -r -j -a -s -c -C -M -S -e -R -h -V -0 --null-input --raw-input --slurp --compact-output --raw-output --raw-output0 --join-output --ascii-output --sort-keys --color-output --monochrome-output --tab --indent: --unbuffered --stream --stream-errors --seq --exit-status --arg:: --argjson:: --slurpfile:< --rawfile:< --args --jsonargs --help --version",
		args: text, refuse: "-f --from-file: reads the program from a file; -L --library-path: reads other modules", check: jqCheck},
	{names: "yq", flags: "-r -j -o: -p: -P -C -M -N -y -Y -c -e -n -s --raw-output --output-format: --input-format: --prettyPrint --colors --no-colors --no-doc --exit-status --yaml-output --version --help -oj -oy --tojson", args: text, refuse: "-i --inplace --in-place -s --split-exp: writes files; --from-file -f -L: reads the program from a file", check: yqCheck},
	{names: "xmllint", flags: "--noout --format --xpath: --nonet --version", args: files, check: noAddress, refuse: "--output: writes a file; --shell: runs commands"},
	{names: "tokei, scc", flags: "-f -s: -o: --files --sort: --by-file --quiet --json --version --help --exclude-dir: --include-lang: --exclude-lang:", args: trees, here: true, refuse: "-o --output --out --report-file: writes a file"},
	{names: "ctags, etags, cscope", no: "it writes an index"},
	{names: "pico, micro, helix, hx, kak, code, codium, cursor, subl, gedit, kate, mate", args: files, no: "an editor changes files"},
}

const grepFlags = "-a -A: -b -B: -c -C: -d: -D: -e: -E -f< -F -G -h -H -i -I -l -L -m: -n -o -P -q -r -R -s -T -u -U -v -V -w -x -y -z -Z -# " +
	"--text --after-context: --before-context: --context: --byte-offset --count --color? --colour? --devices: --directories: --regexp: --extended-regexp --file< --fixed-strings --basic-regexp --perl-regexp " +
	"--no-filename --with-filename --ignore-case --no-ignore-case --files-with-matches --files-without-match --max-count: --line-number --only-matching --quiet --silent --recursive --dereference-recursive --no-messages " +
	"--initial-tab --unix-byte-offsets --binary --binary-files: --invert-match --word-regexp --line-regexp --null --null-data --include: --exclude: --exclude-dir: --exclude-from< --label: --line-buffered --no-group-separator --group-separator: --help --version"
