"""The HTTP transport: who comes in, how often and with how much; through real sockets, by the SDK's own client."""

import asyncio
import datetime
import ipaddress
import json
import signal
import socket
import ssl
import subprocess
import sys
import time
from contextlib import asynccontextmanager

import httpx2
import pytest
from adapter_view import NOW, attested
from click.testing import CliRunner
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from ports import free_port

from sluice.codecs.errors import UnreachableError, UsageError
from sluice.topology.cli import main
from sluice.topology.http import adapter_process, http_server
from sluice.topology.http.adapter import Adapter
from sluice.topology.http.adapter_process import ListenConfig, Rates, serve_adapter
from sluice.topology.http.kept_view import Readers
from sluice.topology.http.mcp_server import create_server
from sluice.topology.http.tokens import new_token, revoke

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
ACCEPT = {"accept": "application/json, text/event-stream"}


@pytest.fixture
def serving(filled, path):
    """Serves the filled view at a free port."""
    filled.put("grounded", attested("The entry is there."))
    filled.view.tell(caught_up_at=str(NOW))

    @asynccontextmanager
    async def serving(**options):
        port = free_port()
        readers = Readers(path)
        place = ListenConfig(**{"port": port, **options})
        task = asyncio.create_task(serve_adapter(create_server(Adapter(readers, now=lambda: NOW)), place))
        try:
            async with asyncio.timeout(60):
                while True:
                    if task.done():
                        task.result()
                    try:
                        _, writer = await asyncio.open_connection("127.0.0.1", port)
                        break
                    except OSError:
                        await asyncio.sleep(0.02)
            writer.close()
            yield f"{'https' if place.certificate else 'http'}://127.0.0.1:{port}/mcp"
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            readers.close()

    return serving


@pytest.fixture
def tokens(tmp_path):
    """A file with one token for everything, and the token."""
    file = tmp_path / "tokens.json"
    text, made = new_token(file, "lab-1", ["ground", "check_assertion", "explain", "resources"], None)
    return file, text, made


@asynccontextmanager
async def client(url, token=None, mode="auto", **options):
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, trust_env=False, timeout=60, **options) as web,
        Client(streamable_http_client(url, http_client=web), mode=mode) as connected,
    ):
        yield connected


async def post(url, body=None, **headers):
    content = json.dumps(INITIALIZE) if body is None else body
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with httpx2.AsyncClient(trust_env=False, timeout=60) as web:
        return await web.post(url, content=content, headers={"content-type": "application/json", **ACCEPT, **named})


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_client_with_a_token_is_answered(serving, tokens, mode):
    """In both eras of the protocol, tools and resources."""
    file, text, _ = tokens
    async with serving(tokens=file) as url, client(url, text, mode) as connected:
        result = await connected.call_tool("ground", {"query": "entry"})
        resource = await connected.read_resource("sluice://vocabulary")

    assert len(result.structured_content["attestations"]) == 1
    assert "substrate.grep" in resource.contents[0].text


async def test_without_a_valid_token_nobody_is_answered(serving, tokens):
    """None, a wrong one, another scheme: 401, and the answer says nothing of what is there."""
    file, text, _ = tokens
    async with serving(tokens=file) as url:
        answers = [
            await post(url),
            await post(url, authorization="Bearer nonsense"),
            await post(url, authorization=f"Basic {text}"),
            await post(url, authorization=text),
            await post(url.replace("/mcp", "/"), authorization="Bearer x"),
        ]
        assert (await post(url, authorization=f"bearer {text}")).status_code == 200

    assert {answer.status_code for answer in answers} == {401}
    assert {answer.headers["www-authenticate"] for answer in answers} == {"Bearer"}


async def test_a_token_is_for_its_scopes_alone(serving, tokens):
    """A call of another tool is an error of the protocol."""
    file, _, _ = tokens
    text, _ = new_token(file, "lab-2", ["check_assertion"], None)
    async with serving(tokens=file) as url, client(url, text) as connected:
        assert not (await connected.call_tool("check_assertion", {"text": "x"})).is_error
        with pytest.raises(MCPError, match="not for ground"):
            await connected.call_tool("ground", {"query": "entry"})
        with pytest.raises(MCPError, match="not for resources"):
            await connected.read_resource("sluice://policy")


async def test_tokens_are_rotated_without_a_restart(serving, tokens):
    """A new one opens at once, a revoked one no more, also within its session."""
    file, old, made = tokens
    async with serving(tokens=file) as url, client(url, old, "legacy") as connected:
        await connected.call_tool("ground", {"query": "entry"})
        new, _ = new_token(file, "lab-1", ["ground"], None)
        revoke(file, made.id)

        assert (await post(url, authorization=f"Bearer {new}")).status_code == 200
        assert (await post(url, authorization=f"Bearer {old}")).status_code == 401
        with pytest.raises(Exception):  # noqa: B017  # however the client puts it
            await connected.call_tool("ground", {"query": "entry"})


async def test_a_session_is_its_tokens_alone(serving, tokens):
    """Whoever learns a session's id has not got the session."""
    file, text, _ = tokens
    other, _ = new_token(file, "lab-2", ["ground"], None)
    ping = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "ping"})
    async with serving(tokens=file) as url:
        session = (await post(url, authorization=f"Bearer {text}")).headers["mcp-session-id"]
        own = await post(url, ping, authorization=f"Bearer {text}", mcp_session_id=session)
        others = await post(url, ping, authorization=f"Bearer {other}", mcp_session_id=session)

    assert (own.status_code, others.status_code) == (200, 404)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1.evil.example"}, 421),
        ({"host": "localhost:1"}, 200),
        ({"host": "adapter.example"}, 200),
        ({"host": "adapter.example:8443"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "http://localhost.evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost:3000"}, 200),
        ({"origin": "https://page.example"}, 200),
    ],
)
async def test_only_our_hosts_and_listed_origins(serving, headers, status):
    """No page in a browser reaches an adapter on its reader's machine under another name."""
    async with serving(allowed_hosts=["adapter.example"], allowed_origins=["https://page.example"]) as url:
        assert (await post(url, **headers)).status_code == status


async def test_a_client_that_asks_too_often_has_to_wait(serving):
    async with serving(rate=0.5, burst=3) as url:
        answers = [await post(url) for _ in range(5)]

    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    assert answers[-1].headers["retry-after"] == "1"


async def test_failed_attempts_take_nothing_from_who_has_a_token(serving, tokens):
    """Whoever knocks with wrong tokens, from the same address even, is turned away, and nobody else is: each token has
    a rate of its own."""
    file, text, _ = tokens
    other, _ = new_token(file, "lab-2", ["ground"], None)
    async with serving(rate=0.01, burst=3, tokens=file) as url:
        wrong = f"Bearer slm_000000000000_{'A' * 43}"
        refused = [(await post(url, authorization=wrong)).status_code for _ in range(6)]
        bare = (await post(url)).status_code
        seen = [
            [(await post(url, authorization=f"Bearer {one}")).status_code for _ in range(5)] for one in (text, other)
        ]

    assert refused == [401, 401, 401, 429, 429, 429]
    assert bare == 429
    assert seen == [[200, 200, 200, 429, 429]] * 2


def test_rates_are_of_each_client_and_fill_up(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(http_server, "monotonic", lambda: now[0])
    monkeypatch.setattr(http_server, "CLIENTS", 3)
    rates = Rates(2.0, 2)

    assert [rates.take("a") for _ in range(3)] == [True, True, False]
    assert rates.take("b")
    now[0] = 0.5
    assert [rates.take("a") for _ in range(2)] == [True, False]
    for name in "cde":
        rates.take(name)
    assert len(rates._buckets) == 3


async def test_a_body_is_small(serving):
    async def chunks():
        for _ in range(20):
            yield b" " * 8192

    async with serving() as url:
        assert (await post(url, b" " * 65_537)).status_code == 413
        assert (await post(url, chunks())).status_code == 413


async def test_a_body_comes_at_once(serving, monkeypatch):
    """Who sends a request drop by drop is not waited for."""
    monkeypatch.setattr(adapter_process, "BODY_SECONDS", 0.2)

    async def drops():
        for _ in range(20):
            yield b" "
            await asyncio.sleep(0.1)

    async with serving() as url:
        assert (await post(url, drops())).status_code == 408


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "adapter.example"])
def test_without_tokens_only_this_machine_is_served(host, tmp_path):
    with pytest.raises(UsageError, match="whoever reaches"):
        ListenConfig(host=host).check()
    ListenConfig(host=host, tokens=tmp_path / "tokens").check()


def test_the_default_is_loopback():
    assert ListenConfig().is_loopback
    assert ListenConfig(host="::1").is_loopback
    assert ListenConfig(host="localhost").is_loopback
    ListenConfig().check()


def certificate(folder):
    """A certificate that signs itself, and its key, as a door takes them."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "adapter")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return {"certificate": folder / "cert.pem", "key": folder / "key.pem"}


def test_a_certificate_needs_its_key(tmp_path):
    with pytest.raises(UsageError, match="go together"):
        ListenConfig(certificate=tmp_path / "x").check()
    with pytest.raises(UsageError, match="no such file"):
        ListenConfig(certificate=tmp_path / "x", key=tmp_path / "y").check()


@pytest.mark.parametrize("wrong", ["certificate", "key"])
def test_a_file_that_tls_cannot_use_is_named_before_anything_runs(tmp_path, wrong):
    files = certificate(tmp_path)
    (tmp_path / "no.pem").write_text("no PEM\n")

    ListenConfig(**files).check()
    with pytest.raises(UsageError, match=r"no\.pem: no .* can be read from it \(expected PEM"):
        ListenConfig(**files | {wrong: tmp_path / "no.pem"}).check()


async def test_tls(serving, tokens, tmp_path):
    """With a certificate and its key, what is asked and answered is not in clear."""
    files = certificate(tmp_path)
    trusting = ssl.create_default_context(cafile=str(files["certificate"]))
    file, text, _ = tokens

    async with serving(tokens=file, **files) as url, client(url, text, verify=trusting) as connected:
        result = await connected.call_tool("ground", {"query": "entry"})

    assert url.startswith("https://")
    assert not result.is_error


async def test_a_port_that_is_taken_is_one_sentence(serving):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(UnreachableError, match="cannot be bound"):
            await serve_adapter(create_server(Adapter(Readers("/nowhere"))), ListenConfig(port=taken.getsockname()[1]))


pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--transport", "http", "--host", "0.0.0.0"], "whoever reaches"),
        (["--transport", "http", "--tls-cert", "cert.pem"], "go together"),
        (["--transport", "carrier-pigeon"], "carrier-pigeon"),
        (["--port", "0"], "--port"),
        (["--broker", "nonsense"], "broker"),
    ],
)
def test_wrong_usage_is_one_sentence(arguments, said):
    result = CliRunner().invoke(main, ["mcp", *arguments])

    assert result.exit_code == 2
    assert said in result.stderr


def test_a_view_that_cannot_be_written_ends_it(tmp_path):
    """A client that waits for ever would not learn why."""
    (tmp_path / "file").write_text("")
    view = str(tmp_path / "file" / "view.sqlite")

    result = CliRunner().invoke(main, ["mcp", "--transport", "http", "--port", "18710", "--view", view])

    assert result.exit_code == 2
    assert "the view cannot be written" in result.stderr


SLUICE = [sys.executable, "-c", "from sluice.topology.cli import main; main()", "mcp", "--broker", "127.0.0.1:1"]


def test_http_ends_in_order_when_it_is_told(tmp_path):
    port = free_port()
    command = [*SLUICE, "--transport", "http", "--port", str(port), "--view", str(tmp_path / "view.sqlite")]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        for _ in range(300):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)

    assert process.returncode == 0, said.decode()
    assert b"Traceback" not in said


@pytest.mark.parametrize("how", ["the client leaves", signal.SIGINT, signal.SIGTERM])
def test_stdio_ends_with_its_client(tmp_path, how):
    command = [*SLUICE, "--view", str(tmp_path / "view.sqlite")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        process.stdin.flush()
        assert b'"id":1' in process.stdout.readline()
        if how == "the client leaves":
            process.stdin.close()
        else:
            process.send_signal(how)
        process.wait(60)
        said = process.stderr.read() if process.stderr else b""

    assert process.returncode == (0 if how == "the client leaves" else -how)
    assert b"Traceback" not in said


@pytest.mark.parametrize("arguments", [[], ["token"], ["token", "new"], ["token", "list"], ["token", "revoke"]])
def test_every_command_has_an_example(arguments):
    result = CliRunner().invoke(main, ["mcp", *arguments, "--help"])

    assert result.exit_code == 0
    assert "sluice mcp" in result.stdout.partition("Example:")[2]
