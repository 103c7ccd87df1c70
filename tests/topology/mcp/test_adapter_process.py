"""`sluice mcp` at the command line: wrong usage is one sentence, before anything runs."""

import signal
import socket
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner
from ports import free_port

from sluice.topology.cli import main

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
    """With exit status 2."""
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
    """SIGTERM: exit status 0, within seconds."""
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
    """Or at once when it is told."""
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
    """One that can be copied."""
    result = CliRunner().invoke(main, ["mcp", *arguments, "--help"])

    assert result.exit_code == 0
    assert "sluice mcp" in result.stdout.partition("Example:")[2]
