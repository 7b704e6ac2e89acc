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
COMMANDS
echo "$n commands, $bad failed"
[ $bad = 0 ] && echo all done
