"""A provisioner in Python's standard library alone, to begin your own with.

    TOKEN=$(cat provisioner-token) PORT=8082 python3 provisioner.py

It keeps the rules of the protocol (docs/provisioners.md), but its databases exist in memory only:
replace the class `Database` by what runs yours. The certificates are made by the program openssl.
"""

import hmac
import json
import os
import re
import subprocess
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN = os.environ["TOKEN"]
PORT = int(os.environ.get("PORT", "8082"))
MOST_BYTES = 64 << 10  # of a request's body, as the contract says
PATH = re.compile(r"/database/(pg[0-9a-hjkmnp-tv-z]{24})/([a-z-]+)")
FOLDER = tempfile.mkdtemp(prefix="provisioner-")
DONE = {"state": "done"}
FLAVORS = ["standard"]
SIZES = {"standard-2": [64, 128, 256], "standard-4": [128, 256, 512]}  # storage in GiB


class Problem(Exception):
    def __init__(self, status, code, detail):
        self.status, self.body = status, {"code": code, "status": status, "detail": detail}


def pending(seconds):
    return {"state": "pending", "wait_ms": max(1, int(seconds * 1000))}


def timestamp():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], cwd=FOLDER, check=True, capture_output=True)


def certificate(host):
    """Returns the certificate of a host, by the authority of `main`."""
    with open(f"{FOLDER}/{host}.ext", "w", encoding="ascii") as file:
        file.write(f"subjectAltName=DNS:{host}\nextendedKeyUsage=serverAuth\n")
    request = ["-newkey", "rsa:2048", "-nodes", "-keyout", f"{host}.key", "-subj", "/CN=database"]
    openssl("req", *request, "-out", f"{host}.csr")
    signer = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", f"{host}.ext"]
    openssl("x509", "-req", "-in", f"{host}.csr", *signer, "-days", "365", "-out", f"{host}.pem")
    return read(f"{host}.pem")


def read(name):
    with open(f"{FOLDER}/{name}", encoding="ascii") as file:
        return file.read()


class Database:
    """A database, which takes a moment to be created. Every step can be repeated."""

    def __init__(self, id, wanted):
        self.host = f"{id}.databases.example"
        self.shape = dict(wanted["shape"])
        self.certificate = None
        self.numbers = {"restart": 0, "promote": 0}
        self.ready_at = time.monotonic() + 0.1

    def is_created(self):
        return time.monotonic() >= self.ready_at

    def create(self):
        return DONE if self.is_created() else pending(self.ready_at - time.monotonic())

    def observe(self):
        return {
            "is_available": True,
            "shape": self.shape,
            "used_bytes": 0,
            "latest_restore_time": timestamp(),
            "backups": [],
        }

    def resize(self, wanted):
        window, shape = wanted.get("maintenance_window"), dict(wanted["shape"])
        if window is not None and window != time.gmtime().tm_hour:
            shape["vm_size"] = self.shape["vm_size"]  # the rest of the change does not wait
        if int(shape["version"]) < int(self.shape["version"]):
            raise Problem(500, "Failed", "PostgreSQL cannot go back to an older version")
        if shape["storage_size_gib"] < self.shape["storage_size_gib"]:
            raise Problem(500, "Failed", "storage cannot become smaller")
        self.shape = shape
        return DONE if shape == wanted["shape"] else pending(60)

    def numbered(self, step, number):
        self.numbers[step] = max(self.numbers[step], number)  # only a greater number does something
        return DONE

    def restrict(self, networks):
        self.open_to = networks

    def set_password(self, password):
        self.password = password  # a real one stores only what PostgreSQL needs, and logs nothing

    def connection(self):
        self.certificate = self.certificate or certificate(self.host)
        return {
            "host": self.host,
            "ca_certificates": read("ca.pem"),
            "server_certificate": self.certificate,
        }


DATABASES, LOCK = {}, threading.Lock()


def respond(id, step, body):
    """Makes a step of a database. One lock for all is enough for an example."""
    wanted = body["wanted"]
    shape = wanted["shape"]
    if not isinstance(shape["storage_size_gib"], int) or not isinstance(wanted["open_to"], list):
        raise TypeError("a property has the wrong type")
    with LOCK:
        if step == "create" and wanted["flavor"] not in FLAVORS:
            raise Problem(500, "Failed", f"the flavor {wanted['flavor']} is not one of {FLAVORS}")
        if step == "create" and shape["storage_size_gib"] not in SIZES.get(shape["vm_size"], []):
            raise Problem(500, "Failed", f"the sizes and their storage are {SIZES}")
        if step == "create":
            return DATABASES.setdefault(id, Database(id, wanted)).create()
        if step == "delete":
            DATABASES.pop(id, None)
            return DONE
        database = DATABASES.get(id)
        if not database or not database.is_created():
            raise Problem(404, "DatabaseNotFound", "the database does not exist")
        if step in ("restart", "promote"):
            return database.numbered(step, body["number"])
        if step == "restrict":
            return database.restrict(wanted["open_to"])
        if step == "set-password":
            return database.set_password(body["password"])
        return database.resize(wanted) if step == "resize" else getattr(database, step)()


STEPS = "observe create resize restart promote delete restrict set-password connection".split()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def result(self, method):
        if not hmac.compare_digest(self.headers.get("Authorization", "").encode(), f"Bearer {TOKEN}".encode()):
            raise Problem(401, "InvalidCredentials", "the token is not that of this provisioner")
        if method == "GET" and self.path == "/provisioner":
            about = {"name": "example 1.0", "is_simulated": True}
            about |= {"versions": ["16", "17", "18"], "flavors": FLAVORS, "can_shrink_storage": False}
            sizes = [{"vm_size": size, "storage_sizes_gib": storage} for size, storage in SIZES.items()]
            return {**about, "sizes": sizes}
        found = PATH.fullmatch(self.path)
        if method != "POST" or not found or found[2] not in STEPS:
            raise Problem(404, "UnknownPath", "there is no such path")
        length = int(self.headers.get("Content-Length", "0"))
        if length > MOST_BYTES:
            raise Problem(413, "PayloadTooLarge", f"a body has at most {MOST_BYTES} bytes")
        try:
            return respond(found[1], found[2], json.loads(self.rfile.read(length)))
        except (ValueError, KeyError, TypeError) as error:
            raise Problem(400, "BadRequest", f"the body does not fit the contract: {error}") from error

    def handle_method(self, method):
        media_type = "application/json"
        try:
            status, body = 200, self.result(method)
        except Problem as problem:
            status, body, media_type = problem.status, problem.body, "application/problem+json"
            self.close_connection = True  # the body of the request may not have been read
        except Exception as error:  # a step that fails is repeated by the service
            status, body, media_type = 500, {"code": "Failed", "detail": str(error)}, "application/problem+json"
        content = b"" if body is None else json.dumps(body).encode()
        self.send_response(204 if body is None else status)
        if body is not None:
            self.send_header("Content-Type", media_type)
            self.send_header("Content-Length", str(len(content)))
        if status == 401:
            self.send_header("WWW-Authenticate", "Bearer")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self):
        self.handle_method("GET")

    def do_POST(self):
        self.handle_method("POST")


if __name__ == "__main__":
    authority = ["-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-subj", "/CN=Example CA"]
    openssl("req", "-x509", *authority, "-days", "3650", "-out", "ca.pem")
    server = ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
    print(f"provisioning on http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()
