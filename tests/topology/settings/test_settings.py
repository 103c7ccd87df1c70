"""Settings: where each comes from, which wins, and what an error says."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs.errors import UsageError
from sluice.topology.cli import main
from sluice.topology.settings.settings import Settings, bootstrap, explain_settings, load_settings


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory and no SLUICE_ variables."""
    for name in os.environ:
        if name.startswith("SLUICE_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refusal(config_file: str | None = None, **flags: Any) -> str:
    with pytest.raises(UsageError) as caught:
        load_settings(config_file, flags)
    return str(caught.value)


def test_defaults_hold_where_nothing_is_given():
    """Without flags, variables and file, every setting is its default and says so."""
    assert load_settings(None, {}) == Settings()
    assert {setting.origin for setting in explain_settings(None, {})} == {"default"}


def test_flags_win_over_variables_over_the_file_over_defaults(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """The nearest origin wins, setting by setting, and is the one that is named."""
    (folder / "sluice.toml").write_text('partitions = 5\napp_id = "file"\nobserver = "file"\n')
    monkeypatch.setenv("SLUICE_APP_ID", "variable")
    monkeypatch.setenv("SLUICE_OBSERVER", "variable")

    explained = {s.name: (s.value, s.origin) for s in explain_settings(None, {"observer": "flag", "partitions": None})}

    assert explained["partitions"] == (5, "sluice.toml")
    assert explained["app_id"] == ("variable", "SLUICE_APP_ID")
    assert explained["observer"] == ("flag", "--observer")
    assert explained["replication"] == (None, "default")


def test_the_file_is_the_one_that_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """`--config` goes before SLUICE_CONFIG, which goes before sluice.toml."""
    for number, name in enumerate(("sluice.toml", "variable.toml", "flag.toml"), 2):
        (folder / name).write_text(f"partitions = {number}")

    assert load_settings(None, {}).partitions == 2
    monkeypatch.setenv("SLUICE_CONFIG", "variable.toml")
    assert load_settings(None, {}).partitions == 3
    assert load_settings("flag.toml", {}).partitions == 4


def test_a_named_file_must_be_there():
    """A configuration file that is named and missing is an error; sluice.toml may be missing."""
    assert "nowhere.toml: the configuration file is not there" in refusal("nowhere.toml")


def test_a_file_that_is_not_toml_is_refused(folder: Path):
    """The sentence names the file and where it breaks."""
    (folder / "sluice.toml").write_text("partitions = \n")

    assert "sluice.toml: the configuration file is not TOML" in refusal()


def test_unknown_keys_are_reported_all_at_once_with_what_was_meant(folder: Path):
    """Each key that no setting has is named, with the setting that it is nearest to."""
    (folder / "sluice.toml").write_text('partitons = 3\nreplication-factor = 3\nxyzzy = 1\nbroker = "kafka://h:1"\n')

    said = refusal()

    assert "partitons (did you mean partitions?)" in said
    assert "replication-factor (did you mean replication?)" in said
    assert "xyzzy" in said
    assert "broker" not in said


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("partitions", "many", "a whole number from 1 to 10000"),
        ("partitions", "0", "a whole number from 1 to 10000"),
        ("session_timeout", "nan", "a number above 0"),
        ("session_timeout", "inf", "a number above 0"),
        ("max_block_wait", "6", "a number above 0, at most 5"),
        ("snapshot_interval", "-1", "a number from 0 on"),
        ("instance", "a b", "1 to 200 of the characters A-Z a-z 0-9 . _ -"),
        ("observer", "a b", "1 to 256 of the characters A-Z a-z 0-9 . _ ~ : / + = @ % -"),
        ("partitioner", "md5", "crc32 or murmur2"),
        ("broker", "http://h:1", "kafka://host:port[,host:port]"),
        ("broker", "kafka://h", "kafka://host:port[,host:port]"),
        ("broker", "kafka://h:65536", "kafka://host:port[,host:port]"),
        ("topic_prefix", "a b", "up to 200 of the characters"),
        ("web_port", "70000", "a whole number from 1 to 65535"),
    ],
)
def test_a_wrong_value_is_reported_with_setting_origin_and_what_was_expected(
    name: str, value: str, expected: str, monkeypatch: pytest.MonkeyPatch
):
    """The sentence has all that is needed to mend it, from a variable as from a flag."""
    said = refusal(**{name: value})
    assert said.startswith(f"--{name.replace('_', '-')}: the setting {name} is wrong (expected {expected}")
    assert value in said

    monkeypatch.setenv(f"SLUICE_{name.upper()}", value)
    assert refusal().startswith(f"SLUICE_{name.upper()}: the setting {name} is wrong (expected {expected}")


def test_a_file_must_hold_the_right_type(folder: Path):
    """Text is no number in TOML, which can write numbers."""
    (folder / "sluice.toml").write_text('partitions = "4"')

    assert refusal().startswith("sluice.toml: the setting partitions is wrong (expected a whole number from 1")


@given(st.integers(1, 10_000), st.floats(min_value=1e-3, max_value=1e9))
def test_what_a_number_is_written_as_is_what_it_is(partitions: int, timeout: float):
    """A number survives the way through text."""
    settings = load_settings(None, {"partitions": str(partitions), "session_timeout": repr(timeout)})

    assert (settings.partitions, settings.session_timeout) == (partitions, timeout)


@pytest.mark.parametrize("address", ["h:1", "kafka://h:1", "kafka://a:1,b:65535", "kafka://[::1]:9092"])
def test_a_broker_may_be_written_with_or_without_its_scheme(address: str):
    """Both forms mean the same, and clients get the one without."""
    settings = load_settings(None, {"broker": address})

    assert settings.broker.startswith("kafka://")
    assert bootstrap(settings) == address.removeprefix("kafka://")


def test_an_empty_variable_unsets_what_need_not_be_set(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """Charts and compose files write empty variables for what is not given."""
    (folder / "sluice.toml").write_text("web_port = 6066")
    monkeypatch.setenv("SLUICE_WEB_PORT", "")

    assert load_settings(None, {}).web_port is None


def test_variables_that_are_no_settings_are_left_alone(monkeypatch: pytest.MonkeyPatch):
    """Kubernetes sets SLUICE_PORT and others for a service named sluice."""
    monkeypatch.setenv("SLUICE_PORT", "tcp://10.0.0.1:80")

    assert load_settings(None, {}) == Settings()


def test_secrets_are_never_shown(monkeypatch: pytest.MonkeyPatch):
    """Neither the listing nor an error nor the settings' own repr shows one; the value itself is there."""
    secret = "correct horse battery"
    monkeypatch.setenv("SLUICE_PRIVACY_SECRET", secret)

    settings = load_settings(None, {})
    printed = CliRunner().invoke(main, ["config", "show"]).output

    assert settings.privacy_secret == secret
    assert "privacy_secret" in repr(settings)
    assert secret not in repr(settings) + printed
    assert "privacy_secret = (set, not shown)  (SLUICE_PRIVACY_SECRET)" in printed
    monkeypatch.setenv("SLUICE_PRIVACY_SECRET", "hunter2")
    assert "hunter2" not in refusal()
    assert "pass" not in refusal(broker="kafka://user:pass@h:1")


def test_config_show_prints_each_setting_with_its_origin(folder: Path):
    """One line a setting; as JSON with `--json`."""
    (folder / "sluice.toml").write_text("partitions = 8")

    plain = CliRunner().invoke(main, ["config", "show"])
    lines = [json.loads(line) for line in CliRunner().invoke(main, ["config", "show", "--json"]).output.splitlines()]

    assert plain.exit_code == 0
    assert "partitions = 8  (sluice.toml)" in plain.output.splitlines()
    assert [line["setting"] for line in lines] == list(Settings.__struct_fields__)
    assert {"setting": "partitions", "value": 8, "origin": "sluice.toml"} in lines


def test_wrong_configuration_exits_with_2(folder: Path):
    """One sentence on standard error, nothing on standard output."""
    (folder / "sluice.toml").write_text("partitons = 8")

    result = CliRunner().invoke(main, ["config", "show"])

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("sluice: sluice.toml: no such setting: partitons (did you mean partitions?)")


def test_a_flag_that_is_no_setting_is_a_mistake_of_ours():
    """A command that passes on a flag under a wrong name must not lose it silently."""
    with pytest.raises(TypeError, match="partitons"):
        load_settings(None, {"partitons": 1})


def test_the_secret_may_stand_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """As passwords may: nothing of it is in the environment."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "secret"
    file.write_text("0123456789abcdef\n")
    monkeypatch.setenv("SLUICE_PRIVACY_SECRET_FILE", str(file))
    (setting,) = [one for one in explain_settings(None, {}) if one.name == "privacy_secret"]

    assert (setting.value, setting.origin, setting.shown) == ("0123456789abcdef", str(file), "(set, not shown)")

    monkeypatch.setenv("SLUICE_PRIVACY_SECRET", "fedcba9876543210")
    with pytest.raises(UsageError, match="given twice"):
        load_settings(None, {})


@pytest.mark.parametrize("content", [b"", b"\n", b"too short", b"\xff" * 20, None])
def test_a_file_without_a_secret_is_one_sentence(tmp_path: Path, content: bytes | None):
    """It never quotes what stands there."""
    file = tmp_path / "secret"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UsageError) as raised:
        load_settings(None, {"privacy_secret_file": str(file)})
    assert "too short" not in str(raised.value)
