#!/bin/sh
# Lists the virtual machines of a project, creates a Postgres database and waits until it runs.
#
# `cargo xtask serve` prints the values of STRATUS_URL, STRATUS_TOKEN and STRATUS_PROJECT_ID.
set -eu
export STRATUS_LOCATION=eu-central-h1

# Prints the state that a command responds with.
state() {
    stratus "$@" --query '$.state' --output text
}

stratus vm list --all --page-size 2 --query '$[*].name' --output text | while read -r name; do
    echo "$name is $(state vm view "$name")"
done

name=orders-$(date +%s)-$$
echo "$name is $(state postgres create "$name" --size standard-2 --storage-size 64)"
echo "$name is $(state postgres view "$name" --wait)"

# The name is taken. An exit code says whose mistake it was: 4 is that of a 4XX response.
code=0
refusal=$(stratus postgres create "$name" --size standard-2 --storage-size 64 2>&1) || code=$?
test "$code" = 4
part() {
    echo "$refusal" | sed -n "s/$1/\\1/p"
}
echo "$(part '^error: \([0-9]*\) .*') $(part '^  type: \(.*\)'): $(part '^ *\(name: .*\)')"
