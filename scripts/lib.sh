# Functions that the scripts share. This file is sourced, not run, and changes to the root of the
# repository.
# shellcheck shell=bash

set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
TOOLS=$ROOT/.tools
PATH=$TOOLS/bin:$PATH
cd "$ROOT"

say() { printf '==> %s\n' "$*" >&2; }

die() {
	printf 'error: %s\n' "$*" >&2
	exit 1
}

# Prints the version of a package in Cargo.lock.
locked_version() {
	awk -v name="$1" '$1 == "name" { found = $3 == "\"" name "\"" }
		found && $1 == "version" { gsub(/"/, "", $3); print $3; exit }' Cargo.lock
}

# Prints a free port of 127.0.0.1.
free_port() {
	node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => {
		console.log(s.address().port); s.close(); })'
}

# Prints the folder of the newest PostgreSQL's programs; nothing if they are not installed.
postgres_bin() {
	if [ -n "${PG_BIN:-}" ]; then
		echo "$PG_BIN"
	elif [ -d /usr/lib/postgresql ]; then
		find /usr/lib/postgresql -path '*/bin/initdb' -printf '%h\n' | sort -V | tail -n 1
	elif command -v initdb >/dev/null; then
		dirname "$(readlink -f "$(command -v initdb)")"
	fi
}
