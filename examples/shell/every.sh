#!/bin/sh
# Calls every operation once at least: what is made is used, changed, and removed again.
#
# `cargo xtask serve` prints the values of STRATUS_URL, STRATUS_TOKEN and STRATUS_PROJECT_ID.
set -eu
export STRATUS_LOCATION=eu-central-h1 STRATUS_OUTPUT=text
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
run=$(date +%s)-$$

# Prints what a JSONPath selects of the response of a command.
select_of() {
    path=$1
    shift
    stratus "$@" --query "$path"
}

# Fails unless the last value is one of the lines before it.
has() {
    echo "$1" | grep -Fqx -- "$2" || {
        echo "expected $2 among: $1" >&2
        exit 1
    }
}

# Private subnets.
front=front-$run back=back-$run
front_id=$(select_of '$.id' private-subnet create "$front")
back_id=$(select_of '$.id' private-subnet create "$back")
stratus private-subnet connect "$front" --connected-subnet-id "$back_id"
stratus private-subnet disconnect "$front" "$back_id"
has "$(select_of '$.id' private-subnet view "$front")" "$front_id"
has "$(select_of '$[*].name' private-subnet list --all)" "$front"
has "$(select_of '$[*].name' private-subnet project-list --all)" "$back"

# Firewalls.
web=web-$run
stratus firewall create "$web" --description 'Lets the web in'
rule=$(select_of '$.id' firewall rule-create "$web" --cidr 0.0.0.0/0 --port-range 80..443)
stratus firewall attach-subnet "$web" --private-subnet-id "$front_id"
has "$(select_of '$.firewall_rules[*].id' firewall view "$web")" "$rule"
has "$(select_of '$[*].name' firewall list --all)" "$web"
stratus firewall detach-subnet "$web" --private-subnet-id "$front_id"
stratus firewall rule-delete "$web" "$rule"
stratus firewall delete "$web"

# Virtual machines, which the operator makes, and load balancers.
has "$(select_of '$[*].name' vm list --all)" app-2
machine=$(select_of '$.id' vm view app-2)
backend=$(select_of '$.id' private-subnet view backend)
api=api-$run
stratus load-balancer create "$api" --algorithm round_robin --src-port 443 --dst-port 8080 \
    --health-check-protocol http --private-subnet-id "$backend"
stratus load-balancer attach-vm "$api" --vm-id "$machine"
has "$(select_of '$.vms[*].id' load-balancer view "$api")" "$machine"
stratus load-balancer update "$api" --algorithm hash_based --src-port 443 --dst-port 8081 \
    --health-check-endpoint /health --vms "$machine"
stratus load-balancer detach-vm "$api" --vm-id "$machine"
has "$(select_of '$[*].name' load-balancer list --all)" "$api"
has "$(select_of '$[*].name' load-balancer project-list --all)" "$api"
stratus load-balancer delete "$api"
stratus private-subnet delete "$front"
stratus private-subnet delete "$back"

# Databases.
orders=every-$run
stratus postgres create "$orders" --size standard-2 --storage-size 64 --ha-type async
stratus postgres view "$orders" --wait
has "$(select_of '$[*].name' postgres project-list --all)" "$orders"
has "$(select_of '$[*].name' postgres list --all)" "$orders"
stratus postgres update "$orders" --tags '{"key": "team", "value": "billing"}'
echo 'Example-Passw0rd' > "$folder/password"
stratus postgres reset-superuser-password "$orders" --password-file "$folder/password"
stratus postgres set-maintenance-window "$orders" --maintenance-window-start-at 3
office=$(select_of '$.id' postgres firewall-rule-create "$orders" --cidr 192.0.2.0/24)
has "$(select_of '$[*].id' postgres firewall-rule-list "$orders" --all)" "$office"
stratus postgres firewall-rule-delete "$orders" "$office"
stratus postgres restart "$orders"
stratus postgres view "$orders" --wait
stratus postgres promote "$orders"
stratus postgres view "$orders" --wait
key=$(select_of '$[0].key' postgres backup-list "$orders" --all)
has "$(select_of '$[*].key' postgres backup-list "$orders" --all)" "$key"
first=$(select_of '$.earliest_restore_time' postgres view "$orders")
stratus postgres restore "$orders" --name "$orders-early" --restore-target "$first"
stratus postgres view "$orders-early" --wait
stratus postgres delete "$orders-early"
stratus postgres delete "$orders"

# Inference keys, whose secret is in a file that only its owner can read.
stratus inference-api-key create --save "$folder/key.json"
key=$(select_of '$[0].id' inference-api-key list --all)
has "$(select_of '$.id' inference-api-key view "$key")" "$key"
stratus inference-api-key delete "$key"
echo 'every command has worked'
