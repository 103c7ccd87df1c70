"""How clients prove to a broker who they are, and make sure who it is: TLS and SASL, from the settings.

Secrets come from files or variables, and stand in no log and no error: only where they were looked for does.
"""

from __future__ import annotations

import ssl
from typing import Any

from ...codecs.errors import UsageError
from ..settings.files import demand_plain, open_plain
from ..settings.settings import Settings

SYSTEM = "system"
"""As `broker_ca`: whom the operating system trusts."""


def client_options(settings: Settings) -> dict[str, Any]:
    """What every Kafka client is opened with, beside the address: nothing where neither TLS nor SASL is asked for.

    Raises:
        UsageError: a file cannot be read or holds something else, or the settings do not fit together.
    """
    tls = _context(settings) if settings.broker_ca is not None else None
    if tls is None and (settings.broker_cert or settings.broker_key):
        raise _wrong("a certificate of ours is of no use without TLS", "broker_cert", "`broker_ca` as well")
    options: dict[str, Any] = {} if tls is None else {"ssl_context": tls}
    if settings.broker_user is None:
        if settings.broker_password or settings.broker_password_file:
            raise _wrong("a password needs the user that it is of", "broker_password", "`broker_user` as well")
        return options | ({"security_protocol": "SSL"} if tls is not None else {})
    if tls is None and settings.broker_mechanism == "PLAIN":
        raise _wrong("without TLS, PLAIN would send the password readably", "broker_mechanism", "SCRAM, or `broker_ca`")
    return options | {
        "security_protocol": "SASL_PLAINTEXT" if tls is None else "SASL_SSL",
        "sasl_mechanism": settings.broker_mechanism,
        "sasl_plain_username": settings.broker_user,
        "sasl_plain_password": _password(settings),
    }


def _context(settings: Settings) -> ssl.SSLContext:
    """Checks certificate and host name, by the authorities of the settings."""
    authorities = settings.broker_ca
    try:
        if authorities not in (None, SYSTEM):
            demand_plain(authorities)
        context = ssl.create_default_context(cafile=None if authorities == SYSTEM else authorities)
    except OSError as error:  # an SSLError is one
        raise _unreadable("broker_ca", authorities or "", error, "certificates in PEM form") from None
    if settings.broker_cert is not None:
        try:
            for name in (settings.broker_cert, settings.broker_key):
                if name is not None:
                    demand_plain(name)
            # Without a password: it would be asked for at the terminal.
            context.load_cert_chain(settings.broker_cert, settings.broker_key, password="")
        except (OSError, ValueError) as error:
            place = f"{settings.broker_cert}, {settings.broker_key or 'no broker_key'}"
            raise _unreadable("broker_cert", place, error, "a certificate and its key in PEM form") from None
    elif settings.broker_key is not None:
        raise _wrong("a key needs the certificate that it is of", "broker_key", "`broker_cert` as well")
    return context


def certificate_ends(settings: Settings) -> dict[str, float]:
    """When the certificates in the files that the settings name expire, Unix seconds.

    That of `broker_cert` is `client`, that of `broker_ca` that expires first is `authority`. Of a file that is not
    there or cannot be read nothing is said.
    """
    from cryptography import x509

    found: dict[str, float] = {}
    for name, file in (("client", settings.broker_cert), ("authority", settings.broker_ca)):
        if file is None or file == SYSTEM:
            continue
        try:
            with open_plain(file) as opened:
                ends = [one.not_valid_after_utc for one in x509.load_pem_x509_certificates(opened.read())]
        except (OSError, ValueError):
            continue
        found[name] = min(ends).timestamp()
    return found


def _password(settings: Settings) -> str:
    if settings.broker_password_file is not None:
        if settings.broker_password is not None:
            raise _wrong("the password is given twice", "broker_password", "either it or `broker_password_file`")
        try:
            with open_plain(settings.broker_password_file) as file:
                password = file.read().decode("utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise _unreadable("broker_password_file", settings.broker_password_file, error, "text") from None
    else:
        password = settings.broker_password or ""
    if not password:
        raise _wrong("the user has no password", "broker_user", "`broker_password_file` or SLUICE_BROKER_PASSWORD")
    return password


def _wrong(what: str, name: str, expected: str) -> UsageError:
    return UsageError(what, path=name, expected=expected)


def _unreadable(name: str, place: str, error: Exception, expected: str) -> UsageError:
    said = error.strerror if isinstance(error, OSError) and not isinstance(error, ssl.SSLError) else None
    return UsageError(f"{name} cannot be read: {said or 'it holds something else'}", path=place, expected=expected)
