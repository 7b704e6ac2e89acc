# Everyday commands, each of which must succeed. The shell runs it with an empty working directory.
n=0 bad=0
ok() { # ok COMMAND-TEXT
	n=$((n + 1))
	if ! out=$(eval "$1" 2>&1 </dev/null); then
		bad=$((bad + 1))
		printf 'FAILED %s\n%s\n' "$1" "$out"
	fi
}
have() { command -v "$1" >/dev/null; }

while IFS= read -r line; do
	[ -n "$line" ] && ok "$line"
done <<'COMMANDS'
true
pwd
ls -la
id
whoami || id -u
uname -a
date
env | sort | head
echo hello > a.txt
cat a.txt
cp a.txt b.txt
mv b.txt c.txt
rm c.txt
mkdir -p d/e/f
rmdir d/e/f
touch d/x d/y
ln -s a.txt l
readlink -f l
ln a.txt h
stat a.txt
chmod 600 a.txt
chmod +x a.txt
du -sh .
df .
find . -name '*.txt'
find . -type f -exec wc -l {} +
find . -type f -print0 | xargs -0 ls
grep -r hello .
grep -c hello a.txt
sed -i s/hello/world/ a.txt
sed -n 1p a.txt
awk '{print $1}' a.txt
cut -c1-3 a.txt
tr a-z A-Z < a.txt
sort a.txt | uniq -c
head -1 a.txt
tail -1 a.txt
wc a.txt
diff a.txt a.txt
cmp a.txt a.txt
tee t1 < a.txt > t2
basename /x/y
dirname /x/y
seq 1 3 | paste -sd+
printf '%s\n' b a | sort
expr 1 + 2
sleep 0.01
timeout 5 true
nice true
nohup true
yes | head -1
test -f a.txt
[ -d d ]
[[ a == a* ]]
(( 1 + 1 ))
x=$(echo sub); [ $x = sub ]
diff <(echo a) <(echo a)
cat <<< here
eval $'cat << END | grep -q doc\ndoc\nEND'
f() { return 0; }; f
for i in 1 2; do echo $i; done
while read -r l; do echo $l; done < a.txt
a=(1 2 3); [ ${#a[@]} = 3 ]
declare -A m; m[k]=v
set -o pipefail; true | true
trap 'echo t' EXIT; trap - EXIT
(exit 0)
{ true; }
! false
echo {a,b}{1,2}
shopt -s globstar; ls **/* > /dev/null
mapfile -t lines < a.txt
sleep 0.01 & wait
(sleep 5 & kill $!; wait $! ; true)
coproc cat; echo x >&${COPROC[1]}; read -r y <&${COPROC[0]}; kill $COPROC_PID; [ $y = x ]
exec 5> five; echo x >&5; exec 5>&-
mkfifo p && (echo x > p & cat p)
tar czf d.tgz d && tar tzf d.tgz && mkdir un && tar xzf d.tgz -C un
gzip -k a.txt && gunzip -c a.txt.gz
md5sum a.txt
sha256sum a.txt | sha256sum
base64 a.txt | base64 -d
od -c a.txt
dd if=/dev/zero of=z bs=1k count=4
truncate -s 10 z
split -b 2 z zz
mktemp
mktemp -d
install -m 644 a.txt inst
ps
ps aux
kill -0 $$
getconf ARG_MAX
nproc
hostname
umask 022
ulimit -a
cat /etc/passwd
cat /proc/cpuinfo | head -1
cat /proc/self/status | head -1
ls /proc/self/fd
ls /
ls /usr/bin | head -2
tty || true
stty -a || true
df -h || true
who || true
echo x > /dev/null
head -c 10 /dev/urandom | wc -c
echo x > /dev/stderr
type ls
command -v bash
bash -c 'echo nested'
sh -c 'echo posix'
COMMANDS
have script && ok 'script -qec "echo in a terminal" /dev/null'
have setsid && ok 'setsid true'
have flock && ok 'flock lock true'
have perl && ok 'perl -e "print 1"'
have git && while IFS= read -r line; do ok "$line"; done <<'COMMANDS'
mkdir repo && cd repo && git init -q .
cd repo && git config user.email a@example.com && git config user.name A
cd repo && echo 1 > f && git add f && git commit -qm one
cd repo && git status --short
cd repo && git log --oneline
cd repo && git checkout -qb other && echo 2 >> f && git commit -qam two
cd repo && git diff HEAD~1
cd repo && git stash list && git branch -a && git tag v1
cd repo && git checkout -q - && git merge -q other
cd repo && git worktree add -q ../wt && git -C ../wt status
cd repo && git gc -q && git fsck
git clone -q repo copy
cd copy && git fetch -q && git pull -q
cd repo && git rebase -q HEAD~1 && git blame f
COMMANDS
have make && ok 'printf "all:\n\techo made > made\n" > Makefile && make && [ -f made ]'
have gcc && ok 'echo "int main(void){return 0;}" > m.c && gcc -o m m.c && ./m'
have python3 && while IFS= read -r line; do ok "$line"; done <<'COMMANDS'
python3 -c 'print(1)'
python3 -c 'import subprocess; subprocess.run(["true"], check=True)'
python3 -c 'import multiprocessing as m; l = m.Lock(); q = m.get_context("fork").Queue(); q.put(1); print(q.get())'
python3 -c 'import tempfile; tempfile.NamedTemporaryFile().write(b"x")'
python3 -c 'import socket,threading; s=socket.socket(); s.bind(("127.0.0.1",0)); s.listen(); c=socket.create_connection(s.getsockname()); s.accept(); a,b=socket.socketpair(); a.send(b"x")'
python3 -c 'import os,pty; os.openpty()'
python3 -c 'import asyncio; asyncio.run(asyncio.sleep(0))'
COMMANDS
have node && while IFS= read -r line; do ok "$line"; done <<'COMMANDS'
node -e 'console.log(1)'
node -e 'require("os").networkInterfaces(); require("child_process").execSync("true")'
node -e 'const h=require("http").createServer((q,r)=>r.end("ok")).listen(0,()=>require("http").get("http://127.0.0.1:"+h.address().port,r=>{process.exit(r.statusCode==200?0:1)}))'
COMMANDS
have npm && ok 'mkdir npm1 && cd npm1 && npm init -y && npm pkg set scripts.t="echo ran" && npm run t'
[ -n "$TEST_GO" ] && while IFS= read -r line; do ok "$line"; done <<'COMMANDS'
mkdir gomod && cd gomod && go mod init example.com/m && printf 'package m\n\nfunc F() int { return 1 }\n' > m.go && printf 'package m\n\nimport "testing"\n\nfunc TestF(t *testing.T) {\n\tif F() != 1 {\n\t\tt.Fatal()\n\t}\n}\n' > m_test.go
cd gomod && gofmt -l .
cd gomod && go build ./...
cd gomod && go test ./...
cd gomod && go env GOCACHE && go list ./...
cd gomod && go vet ./... && go mod tidy && go mod verify && go doc . F
cd gomod && printf 'package main\n\nfunc main() { println("ran") }\n' > main_x.go && go run main_x.go && rm main_x.go
cd gomod && go test -run F -count 1 -coverprofile c.out ./... && go tool cover -func c.out
COMMANDS
# Each line here needs the program that it starts with a name of, and is left out where that is not installed.
while IFS='	' read -r program line; do
	have "$program" && ok "$line"
done <<'COMMANDS'
find	find . -name '*.txt' -mtime -1 -exec grep -l . {} +
find	mkdir -p del/a && touch del/a/x && find del -type f -delete && find del -depth -type d -empty -exec rmdir {} +
xargs	seq 4 | xargs -P 2 -n 1 echo
sed	printf 'a\nb\n' > s.txt && sed -i.bak -e 's/a/c/' -e '/b/d' s.txt && [ -f s.txt.bak ]
awk	awk 'BEGIN { "date" | getline d; print d; system("true") }'
sort	seq 20000 | sort -R -S 64k -T . | sort -n | tail -1
comm	comm -12 <(seq 3) <(seq 2 4)
join	join <(echo 1 a) <(echo 1 b)
column	printf 'a b\nc d\n' | column -t
patch	printf 'a\n' > pa && printf 'b\n' > pb; diff -u pa pb > p.diff; patch -s pa p.diff && cmp pa pb
tar	tar cf - d | (mkdir -p untar && tar xf - -C untar)
tar	tar --create --file x.tar --owner=0 --group=0 a.txt && tar --list --verbose --file x.tar
zip	zip -q z.zip a.txt && unzip -l z.zip
xz	xz -k a.txt && xz -dc a.txt.xz
bzip2	bzip2 -k a.txt && bzcat a.txt.bz2
cpio	find d | cpio -o > d.cpio
rsync	rsync -a d/ d.copy/
cp	cp -a d d.a && cp -r --preserve=timestamps,mode d d.b && cp -l a.txt a.hard
mv	mkdir -p m1 m2 && touch m1/x && mv m1/x m2/ && mv m2 m3
chown	chown $(id -u):$(id -g) a.txt
chmod	mkdir -p cm && chmod -R u+rwX,go-w cm
touch	touch -d yesterday old.txt && [ a.txt -nt old.txt ]
mktemp	t=$(mktemp -d) && touch $t/x && rm -r $t
less	less -FX a.txt | cat
file	file a.txt
bc	echo '2^64' | bc
xxd	xxd a.txt
strings	strings /bin/true | head -1
ldd	ldd /bin/ls
jq	echo '{"a":[1,2]}' | jq '.a[1]'
rg	rg -n world a.txt
openssl	openssl rand -hex 8 && openssl dgst -sha256 a.txt
openssl	openssl req -x509 -newkey rsa:2048 -nodes -keyout k.pem -out c.pem -subj /CN=localhost -days 1
ssh-keygen	ssh-keygen -q -t ed25519 -N '' -f id_key && ssh-keygen -lf id_key.pub
sqlite3	sqlite3 x.db 'pragma journal_mode=wal; create table t(a); insert into t values(1); select * from t'
curl	(python3 -m http.server 18080 --bind 127.0.0.1 >/dev/null 2>&1 & p=$!; for i in $(seq 100); do curl -sf http://127.0.0.1:18080/ && break; sleep 0.05; done; r=$?; kill $p; exit $r)
ss	ss -ltn
ip	ip addr
lsof	lsof -p $$ | head -2
pgrep	sleep 7 & pgrep -x sleep && kill $!
pkill	sleep 9 & pkill -P $BASHPID -x sleep; ! wait %1
top	TERM=dumb top -bn1 | head -1
free	free -m
vmstat	vmstat
lscpu	lscpu | head -1
watch	TERM=dumb timeout 0.3 watch -n 0.1 true > /dev/null; [ $? = 124 ]
strace	! strace -o /dev/null true
time	time true
env	env -i PATH="$PATH" bash -c 'echo clean'
stdbuf	stdbuf -oL echo x
nohup	nohup sleep 0.01 > nohup.out
perl	perl -pi -e 's/x/y/' t1 && perl -MFile::Temp -e 'File::Temp->new'
perl	perl -e 'pipe(R, W); fork or do { print W "x"; exit }; wait; close W; print <R>'
make	printf 'all: a b c\na b c:\n\t@sleep 0.05; echo $@\n' > mk && make -s -j4 -f mk
gcc	printf '#include <stdio.h>\n#include <pthread.h>\nvoid *f(void *a){return a;}\nint main(void){pthread_t t;pthread_create(&t,0,f,0);pthread_join(t,0);puts("ok");}\n' > th.c && gcc -O1 -pthread -o th th.c && ./th
gcc	printf 'int f(void){return 1;}\n' > lib.c && gcc -c -fPIC lib.c && gcc -shared -o lib.so lib.o && ar rcs lib.a lib.o && nm lib.a
java	java -version
git	git -C repo stash -q || true; echo 3 >> repo/f; git -C repo stash push -qm wip && git -C repo stash list && git -C repo stash pop -q && git -C repo checkout -q -- f
git	cd repo && echo x > n && git add -N n && git diff --stat && git rm -q --cached n && git clean -fdq
git	cd repo && git commit -q --allow-empty -m empty && git commit -q --amend --allow-empty -m amended && git reset -q --hard HEAD~1
git	cd repo && git switch -qc topic && echo t > t && git add t && git commit -qm t && git switch -q - && git cherry-pick topic
git	cd repo && git format-patch -1 --stdout | git apply --check -R && git show --stat && git log --graph --oneline --all | cat
git	cd repo && git bisect start -q HEAD HEAD~1 2>/dev/null; git bisect reset
git	cd repo && git worktree add -q ../wt2 -b w2 && git worktree remove ../wt2 && git worktree prune && git branch -qD w2
git	git init -q --bare bare.git && git -C repo push -q ../bare.git HEAD:refs/heads/pushed && git ls-remote bare.git
git	git -C repo archive --format=tar HEAD | tar tf - && git -C repo bundle create ../b.bundle HEAD
git	cd repo && git tag -a v2 -m two && git describe && git grep -n 1 && git shortlog -sn HEAD && git reflog | head -2
git	mkdir sub && cd sub && git init -q && git -c protocol.file.allow=always submodule --quiet add ../repo vendor && git submodule status
python3	python3 -m venv --without-pip venv && venv/bin/python -c 'import sys; assert sys.prefix != sys.base_prefix'
python3	python3 -c 'import sqlite3, ssl, ctypes, urllib.request; sqlite3.connect("p.db").execute("create table t(a)")'
python3	echo x=1 > c.py && python3 -m py_compile c.py && python3 -m json.tool <<< '{"a":1}'
python3	printf 'import unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(1, 1)\n' > test_x.py && python3 -m unittest -q test_x
python3	python3 -c 'from concurrent.futures import ProcessPoolExecutor as P; print(list(P(2).map(abs, [-1, -2])))'
python3	python3 -c 'import mmap, fcntl; f = open("mm", "w+b"); f.write(b"x" * 4096); f.flush(); mmap.mmap(f.fileno(), 0)[0]; fcntl.flock(f, fcntl.LOCK_EX)'
node	node -e 'const w=new (require("worker_threads").Worker)("require(\"worker_threads\").parentPort.postMessage(1)",{eval:true}); w.on("message",()=>process.exit(0))'
node	node -e 'require("fs").watch(".").close(); require("fs").writeFileSync("n.txt","x"); require("fs").writeFileSync("c.js","process.exit(0)"); require("child_process").fork("c.js").on("exit",c=>process.exit(c))'
node	printf 'import test from "node:test"; test("t", () => {});\n' > t.test.mjs && node --test t.test.mjs
npm	mkdir npm2 && cd npm2 && npm init -y && npm pack --silent && mkdir dep && cd dep && npm init -y && cd ../ && npm install --silent --offline ./dep
npx	npx --version
docker	! docker ps
sudo	! sudo -n true
ssh	! ssh -o BatchMode=yes -o ConnectTimeout=1 127.0.0.1 true
COMMANDS
echo "$n commands, $bad failed"
[ $bad = 0 ] && echo all done
