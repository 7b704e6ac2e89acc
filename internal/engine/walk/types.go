package walk

import (
	"slices"
	"strings"
	"sync"
)

// exampleTypes are named in the error for an unknown type.
const exampleTypes = "go, py, js, ts, rust, java, c, cpp, md, json, yaml"

// FileType is a named set of globs that are compared with a file's name.
type FileType struct {
	Name  string
	Globs []string
}

// Types returns all file types in name order. The names are those of ripgrep's --type.
func Types() []FileType {
	var out []FileType
	for name, globs := range typeTable() {
		out = append(out, FileType{name, slices.Clone(globs)})
	}
	slices.SortFunc(out, func(a, b FileType) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func lookupType(name string) ([]string, bool) {
	g, ok := typeTable()[name]
	return g, ok
}

// typeTable is built on first use. Each line of typeList is "name alias...: glob glob..."; a word that begins with a dot
// is short for "*" and the word, unless "=" precedes it.
var typeTable = sync.OnceValue(func() map[string][]string {
	m := make(map[string][]string)
	for line := range strings.Lines(typeList) {
		names, globs, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		var gs []string
		for _, g := range strings.Fields(globs) {
			if g[0] == '.' {
				g = "*" + g
			}
			gs = append(gs, strings.TrimPrefix(g, "="))
		}
		for _, n := range strings.Fields(names) {
			m[n] = gs
		}
	}
	return m
})

const typeList = `
ada: .adb .ads
agda: .agda .lagda
asciidoc: .adoc .asc .asciidoc
asm: .asm .s .S
awk: .awk
bazel: *.bazel *.bzl *.BUILD BUILD WORKSPACE MODULE.bazel WORKSPACE.bazel BUILD.bazel WORKSPACE.bzlmod
bitbake: .bb .bbappend .bbclass .conf .inc
c: .c .h .H .cats *.[chH].in
cabal: .cabal
cbor: .cbor
clojure: .clj .cljc .cljs .cljx
cmake: .cmake CMakeLists.txt CMakeLists.txt.in
coffeescript: .coffee
config: .cfg .conf .config .ini
coq: .v
cpp: .C .cc .cpp .cxx .c++ .h .H .hh .hpp .hxx .h++ .inl *.[ch]pp.in *.[ch]xx.in *.hh.in
creole: .creole
crystal: .cr .ecr Projectfile shard.yml
cs csharp: .cs
cshtml: .cshtml
css: .css .scss
csv: .csv
cuda: .cu .cuh
cython: .pyx .pxd .pxi
d: .d
dart: .dart
dhall: .dhall
diff: .patch .diff
docker: *Dockerfile* *Containerfile*
edn: .edn
elisp: .el
elixir: .ex .eex .exs .heex .leex .livemd
elm: .elm
erb: .erb
erlang: .erl .hrl
fennel: .fnl
fish: .fish
flatbuffers: .fbs
fortran: .f .F .f77 .F77 .pfo .f90 .F90 .f95 .F95
fsharp: .fs .fsx .fsi
gap: .g .gap .gi .gd .tst
gn: .gn .gni
go: .go
gradle: .gradle .gradle.kts gradle.properties gradle-wrapper.* gradlew gradlew.bat
graphql: .graphql .graphqls
groovy: .groovy .gradle
h: .h .hh .hpp
haml: .haml
haskell hs: .hs .lhs .cpphs .c2hs .hsc
hbs: .hbs
html: .htm .html .ejs
idris: .idr .lidr
janet: .janet
java: .java .jsp .jspx .properties
jinja: .j2 .jinja .jinja2
jl julia: .jl
js: .js .jsx .vue .cjs .mjs
json: .json .sarif composer.lock
jsonl: .jsonl
jupyter: .ipynb .jpynb
k: .k
kotlin: .kt .kts
lean: .lean
less: .less
lisp: .el .jl .lisp .lsp .sc .scm
lock: .lock package-lock.json
log: .log
lua: .lua
m4: .ac .m4
make: GNUmakefile Makefile makefile *[Gg][Nn][Uu]makefile *[Mm]akefile *[Mm]akefile.am *[Mm]akefile.in .mk .mak
mako: .mako .mao
markdown md: .markdown .md .mdown .mdwn .mkd .mkdn .mdx
matlab: .m
meson: meson.build meson_options.txt meson.options
minified: .min.html .min.css .min.js
ml ocaml: .ml .mli .mll .mly
nim: .nim .nimf .nimble .nims
nix: .nix
objc: .h .m
objcpp: .h .mm
odin: .odin
org: .org .org_archive
pascal: .pas .dpr .lpr .pp .inc
pdf: .pdf
perl: .perl .pl .PL .plh .plx .pm .t
php: .php .php3 .php4 .php5 .php7 .php8 .pht .phtml
po: .po
pod: .pod
prolog: .pl .pro .prolog .P
protobuf: .proto
ps: .cdxml .ps1 .ps1xml .psd1 .psm1
puppet: .epp .erb .pp .rb
purs: .purs
py python: .py .pyi
qml: .qml
r: .R .r .Rmd .rmd .Rnw .rnw
racket: .rkt
readme: README* *README
robot: .robot
rst: .rst
ruby: config.ru Gemfile .irbrc Rakefile .gemspec .rb .rbw
rust: .rs
sass: .sass .scss
scala: .scala .sbt
sh: .bash .csh .ksh .sh .tcsh .zsh =.bashrc =.bash_profile =.bash_login =.bash_logout =.profile =.login =.logout =.cshrc =.kshrc =.tcshrc =.zshrc =.zshenv =.zprofile =.zlogin =.zlogout
slim: .skim .slim .slime
sml: .sml .sig
solidity: .sol
spec: .spec
sql: .sql .psql
stylus: .styl
svelte: .svelte
sv: .v .vg .sv .svh .h
svg: .svg
swift: .swift
swig: .def .i
systemd: .automount .conf .device .link .mount .path .scope .service .slice .socket .swap .target .timer
tcl: .tcl
tex: .tex .ltx .cls .sty .bib .dtx .ins
textile: .textile
tf: .tf .tfvars .tf.json .tfvars.json terraform.rc =.terraformrc
thrift: .thrift
toml: .toml Cargo.lock
ts typescript: .ts .tsx .cts .mts
twig: .twig
txt: .txt
v: .v .vsh
vala: .vala
vb: .vb
verilog: .v .vh .sv .svh
vhdl: .vhd .vhdl
vim vimscript: .vim =.vimrc =.gvimrc vimrc gvimrc _vimrc _gvimrc
vue: .vue
webidl: .idl .webidl .widl
wgsl: .wgsl
wiki: .mediawiki .wiki
xml: .xml .xml.dist .dtd .xsl .xslt .xsd .xjb .rng .sch .xhtml
yacc: .y
yaml: .yaml .yml
yang: .yang
z: .Z
zig: .zig
zsh: .zsh =.zshenv =.zlogin =.zlogout =.zprofile =.zshrc zshenv zlogin zlogout zprofile zshrc
`
