"""TLS and SASL from the settings: what clients are opened with, and one sentence for what does not fit together."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from sluice.codecs.errors import UsageError
from sluice.topology.kafka.connect import certificate_ends, client_options
from sluice.topology.settings.settings import Settings


def test_without_any_of_it_nothing_changes():
    """A broker on the same machine."""
    assert client_options(Settings()) == {}


def test_the_system_may_be_trusted():
    """Certificates and host names are checked all the same."""
    options = client_options(Settings(broker_ca="system"))

    assert options["security_protocol"] == "SSL"
    assert options["ssl_context"].verify_mode == ssl.CERT_REQUIRED
    assert options["ssl_context"].check_hostname


def test_a_password_may_stand_in_a_file(tmp_path: Path):
    """Without the line end that editors put there."""
    (tmp_path / "password").write_text("secret word\r\n")

    options = client_options(
        Settings(broker_ca="system", broker_user="worker", broker_password_file=str(tmp_path / "password"))
    )

    assert options.pop("ssl_context")
    assert options == {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "worker",
        "sasl_plain_password": "secret word",
    }


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (Settings(broker_user="worker"), "has no password"),
        (Settings(broker_user="w", broker_password="x", broker_mechanism="PLAIN"), "would send the password readably"),
        (Settings(broker_password="x"), "needs the user"),
        (Settings(broker_user="w", broker_password="x", broker_password_file="y"), "given twice"),
        (Settings(broker_user="w", broker_password_file="/nowhere"), "broker_password_file cannot be read"),
        (Settings(broker_ca="/nowhere"), "broker_ca cannot be read"),
        (Settings(broker_ca=__file__), "broker_ca cannot be read: it holds something else"),
        (Settings(broker_ca="system", broker_cert=__file__), "broker_cert cannot be read"),
        (Settings(broker_ca="system", broker_key=__file__), "needs the certificate"),
        (Settings(broker_cert=__file__), "without TLS"),
    ],
)
def test_what_does_not_fit_together_is_one_sentence(settings: Settings, said: str):
    """It names the setting, never the secret."""
    with pytest.raises(UsageError, match=said) as caught:
        client_options(settings)

    assert "\n" not in str(caught.value)
    assert "broker_" in str(caught.value)


def test_the_end_of_certificates_is_read_from_their_files(tmp_path: Path):
    """Of several authorities the first that expires; a file that is none, or not there, says nothing."""
    key, day = ec.generate_private_key(ec.SECP256R1()), timedelta(days=1)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sluice")])
    ends = [datetime(2030, 1, 1, tzinfo=UTC) + number * day for number in range(3)]
    made = [
        x509.CertificateBuilder(name, name, key.public_key(), number + 1, ends[0] - 9 * day, end).sign(key, SHA256())
        for number, end in enumerate(ends)
    ]
    client, several, none = tmp_path / "client", tmp_path / "several", tmp_path / "none"
    client.write_bytes(made[0].public_bytes(Encoding.PEM))
    several.write_bytes(made[2].public_bytes(Encoding.PEM) + made[1].public_bytes(Encoding.PEM))
    none.write_text("no certificate")

    for settings, found in (
        (Settings(broker_cert=str(client), broker_ca=str(several)), {"client": 0, "authority": 1}),
        (Settings(broker_ca="system"), {}),
        (Settings(broker_cert=str(tmp_path / "away"), broker_ca=str(none)), {}),
    ):
        assert certificate_ends(settings) == {name: ends[place].timestamp() for name, place in found.items()}


def test_passwords_are_never_shown():
    """Not in a log that holds the settings."""
    assert "hunter2" not in repr(Settings(broker_user="w", broker_password="hunter2"))
