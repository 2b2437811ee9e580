"""Lists the virtual machines of a project, creates a Postgres database and waits until it runs.

The client is generated from the contract by openapi-python-client, and mypy checks every call.
"""

import os
import time
import uuid
from collections.abc import Iterator
from http import HTTPStatus
from typing import TypeVar

from stratus_client import AuthenticatedClient
from stratus_client.api.postgres import postgres_create, postgres_view
from stratus_client.api.vm import vm_list
from stratus_client.models import Error, Postgres, PostgresCreate, PostgresState, Vm, VmPage
from stratus_client.types import UNSET

LOCATION = "eu-central-h1"
# How long a database may take to run, in seconds.
PATIENCE = 60

T = TypeVar("T")


def setting(name: str) -> str:
    """Returns the value of an environment variable."""
    value = os.environ.get(name)
    if value is None:
        raise SystemExit(f"set {name}: `cargo xtask serve` prints its value")
    return value


PROJECT = setting("STRATUS_PROJECT")
CLIENT = AuthenticatedClient(base_url=setting("STRATUS_URL"), token=setting("STRATUS_TOKEN"))


def success(response: T | Error | None) -> T:
    """Returns the body of a success, or raises what an error says."""
    if isinstance(response, Error):
        raise RuntimeError(f"{response.error.type_}: {response.error.message}")
    if response is None:
        raise RuntimeError("the response is none of the contract's")
    return response


def machines() -> Iterator[Vm]:
    """Walks all pages of the machines of a location."""
    start_after: str | None = None
    while True:
        page: VmPage = success(
            vm_list.sync(
                PROJECT,
                LOCATION,
                client=CLIENT,
                page_size=2,
                start_after=UNSET if start_after is None else start_after,
            )
        )
        # A page may be short; only an empty one is the last.
        if not page.items:
            return
        yield from page.items
        start_after = page.items[-1].id


def create(name: str) -> Postgres:
    """Creates the smallest database. Its key makes the request safe to repeat."""
    return success(
        postgres_create.sync(
            PROJECT,
            LOCATION,
            name,
            client=CLIENT,
            # Everything else has a default.
            body=PostgresCreate(size="standard-2", storage_size=64),
            idempotency_key=str(uuid.uuid4()),
        )
    )


def until(name: str, state: PostgresState) -> Postgres:
    """Gets a database again and again until it has a state."""
    end = time.monotonic() + PATIENCE
    while True:
        database: Postgres = success(postgres_view.sync(PROJECT, LOCATION, name, client=CLIENT))
        if database.state == state:
            return database
        if time.monotonic() > end:
            raise RuntimeError(f"{name} is still {database.state}")
        time.sleep(0.2)


def refuse(name: str) -> None:
    """Shows how an error says what is wrong: the name is taken."""
    response = postgres_create.sync_detailed(
        PROJECT,
        LOCATION,
        name,
        client=CLIENT,
        body=PostgresCreate(size="standard-2", storage_size=64),
    )
    assert response.status_code == HTTPStatus.BAD_REQUEST
    assert isinstance(response.parsed, Error)
    error = response.parsed.error
    details = error.details.to_dict() if error.details else {}
    print(f"{response.status_code.value} {error.type_}: {details}")


def main() -> None:
    for vm in machines():
        print(f"{vm.name} is {vm.state}")
    name = f"orders-{time.time_ns()}"
    created = create(name)
    print(f"{created.name} is {created.state}")
    running = until(name, PostgresState.RUNNING)
    print(f"{running.name} is {running.state}")
    refuse(name)


if __name__ == "__main__":
    main()
