package shellscan

// remoteTable holds clients of services, in their forms that only ask.
var remoteTable = []program{
	{names: "gh pr view, gh pr list, gh pr diff, gh pr checks, gh pr status, gh issue view, gh issue list, gh issue status, gh run view, gh run list, gh repo view, gh repo list, gh release view, gh release list, gh workflow list, gh workflow view, gh label list, gh gist list, gh gist view, gh ruleset list, gh cache list, gh variable list, gh secret list, gh org list, gh project list, gh project view",
		flags: "-R: --repo: -a: -A: -b: -c -B: -e: -E: -H: -j: -l: -L: -q: -s: -S: -t: -u: -v -w: --assignee: --author: --base: --branch: --comments --head: --json: --jq: --label: --limit: --log --log-failed --job: --milestone: --name-only --patch --search: --state: --status: --template: --user: --workflow: --verbose --exit-status --color: --draft --app: --required --event: --commit: --attempt: --sort: --order: --yaml --help", args: text, refuse: "-w --web: opens a browser", check: ghCheck},
	{names: "gh auth status, gh --version, gh version, gh config list, gh extension list, gh alias list, gh status", flags: "--hostname: -h:"},
	{names: "docker ps, docker images, docker image ls, docker image inspect, docker container ls, docker container inspect, docker container logs, docker inspect, docker logs, docker version, docker info, docker history, docker top, docker port, docker diff, docker stats, docker network ls, docker network inspect, docker volume ls, docker volume inspect, docker system df, docker system info, docker compose ls, docker context ls, docker context show, docker --version, docker -v, docker node ls, docker service ls, docker stack ls, docker plugin ls, docker buildx ls, docker buildx version, docker compose version, " +
		"podman ps, podman images, podman image ls, podman inspect, podman logs, podman version, podman info, podman history, podman top, podman port, podman diff, podman network ls, podman volume ls, podman system df, podman pod ps, podman --version, nerdctl ps, nerdctl images, nerdctl inspect, nerdctl logs",
		flags: "-a -f: -n: -l -q -s -t -v --all --filter: --format: --last: --latest --no-trunc --quiet --size --digests --tail: --since: --until: --timestamps --details --follow --type: --no-stream --verbose --human --help", args: text},
	{names: "docker, podman", no: "the call is not known to only look"},
	{names: "kubectl get, kubectl describe, kubectl logs, kubectl top, kubectl version, kubectl api-resources, kubectl api-versions, kubectl cluster-info, kubectl explain, kubectl config current-context, kubectl config get-contexts, kubectl config get-clusters, kubectl rollout status, kubectl rollout history, kubectl auth can-i, kubectl events, oc get, oc describe, oc logs",
		flags: "-A -c: -f -l: -L: -n: -o: -p -w --all-namespaces --namespace: --output: --selector: --show-labels --sort-by: --field-selector: --container: --tail: --since: --since-time: --previous --timestamps --prefix --watch --no-headers --client --short --all-containers --limit-bytes: --chunk-size: --ignore-not-found --help", args: text, check: kubeCheck},
	{names: "helm list, helm ls, helm status, helm history, helm get notes, helm version, helm env, helm repo list, helm search repo", flags: "-A -a -n: -o: --all-namespaces --all --namespace: --output: --short --revision: --max: --versions --version:", args: text},
	{names: "aws --version, aws configure list", flags: "--output: --query: --recursive --human-readable --summarize --format:", args: text},
	{names: "ssh, scp, rsync, mosh", no: "it reaches another machine", refuse: "-o -F -S -e --rsh --rsync-path -D: may run a program"},
	{names: "psql, mysql, sqlite3, mongosh, redis-cli", no: "it can change a database"},
	{names: "psql --version, mysql --version, sqlite3 --version, sqlite3 -version, redis-cli --version"},
	{names: "zip", no: "it writes an archive", refuse: "-T -TT --unzip-command: runs a program"},
	{names: "parallel", no: "parallel runs commands", check: beyond("parallel runs commands")},
	{names: "perl, ruby, lua, php, node, deno, bun, python, python2, python3, Rscript, julia, osascript, tclsh, expect, guile, ghci, scala, irb, ipython, pypy, pypy3, java, dotnet, swift", no: "an interpreter runs code"},
}
