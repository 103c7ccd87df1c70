"""Production's keys: the commands of docs/kubernetes.md make every Secret that the overlay mounts, with its files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from base64 import b64decode
from pathlib import Path
from typing import Any

import manifests
import pytest
from click.testing import CliRunner

from sluice.streams.policy.policy_toml import load_policy
from sluice.topology.cli import main
from sluice.topology.engine.signing import load_signer

KUBECTL = """#!/bin/sh
# Stands in for kubectl: each object is a folder with its files.
shift 2  # -n sluice
kind=$2; [ "$kind" = secret ] && { name=$4; shift 4; } || { name=$3; shift 3; }
mkdir -p "$OBJECTS/$kind/$name"
for word; do
  given=${word#--from-file=}
  cp "${given#*=}" "$OBJECTS/$kind/$name/$(basename "${given%%=*}")" || exit 1
done
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the documented commands make, an object a folder."""
    folder = tmp_path_factory.mktemp("production")
    programs = folder / "bin"
    programs.mkdir()
    sluice = f"#!{sys.executable}\nfrom sluice.topology.cli import main\nmain()\n"
    for name, text in (("kubectl", KUBECTL), ("sluice", sluice)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    page = (manifests.ROOT / "docs" / "kubernetes.md").read_text("utf-8")
    (commands,) = re.findall(r"```sh\n(sluice key profile .+?)```", page, re.DOTALL)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "OBJECTS": str(folder / "objects")}
    done = subprocess.run(["sh", "-ec", commands], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "objects"


def worker() -> dict[str, Any]:
    """Production's patch of the workers."""
    patches = [pod for name, pod in manifests.pods("overlays/prod") if name == "sluice-worker"]
    (found,) = [pod for pod in patches if any(one["name"] == "signing-key" for one in pod["volumes"])]
    return found


def console() -> dict[str, Any]:
    """The volume with the key of production's service."""
    (pod,) = [pod for name, pod in manifests.pods("overlays/prod") if name == "sluice-serve"]
    (volume,) = [one for one in pod["volumes"] if one["name"] == "console-key"]
    return volume


def test_the_service_can_fold_what_the_workers_folded():
    """A time line is folded anew, for which the ids' secret is needed: the same Secret, at the place that is named."""
    of_service, of_worker = (
        next(pod for name, pod in manifests.pods("overlays/prod") if name == wanted)
        for wanted in ("sluice-serve", "sluice-worker")
    )
    found = []
    for pod in (of_service, of_worker):
        (container,) = pod["containers"]
        given = {one["name"]: one.get("value") for one in container["env"]}
        mounts = {one.get("name"): one.get("mountPath") for one in container["volumeMounts"]}
        (secret,) = [one["secret"] for one in pod["volumes"] if one["name"] == "privacy"]
        assert given["SLUICE_PRIVACY_SECRET_FILE"] == f"{mounts['privacy']}/privacy-secret"
        found.append(secret)
    assert found[0] == found[1]


def test_every_secret_of_ours_is_made(made: Path):
    """By the names that the overlay mounts; Strimzi and the tokens' command make the others."""
    mounted = {one["secret"]["secretName"] for one in worker()["volumes"]}
    component = manifests.kustomization("components/signed-observations")["patches"][0]["patch"]
    mounted |= set(re.findall(r"secretName: ([\w-]+)", component))
    mounted.add(console()["secret"]["secretName"])
    assert {one.name for one in (made / "secret").iterdir()} == mounted
    assert {one.name for one in (made / "configmap").iterdir()} == {"sluice-policy"}


def test_variables_name_files_that_are_there(made: Path):
    """Of the worker, and of the observer."""
    (container,) = worker()["containers"]
    given = {one["name"]: one["value"] for one in container["env"]}
    mounts = {one.get("name"): one for one in container["volumeMounts"]}
    assert given["SLUICE_PRIVACY_SECRET_FILE"] == f"{mounts['privacy']['mountPath']}/privacy-secret"
    assert (made / "secret" / "sluice-privacy-secret" / "privacy-secret").is_file()
    assert given["SLUICE_KEY_FILE"] == mounts["signing-key"]["mountPath"]
    component = manifests.kustomization("components/signed-observations")["patches"][0]["patch"]
    (path,) = re.findall(r"SLUICE_OBSERVER_KEY, value: (\S+)\}", component)
    assert (made / "secret" / "sluice-observer-key" / Path(path).name).is_file()


def test_the_console_signs_in_the_name_of_a_role_that_the_policy_lists(made: Path):
    """With the key that its Secret holds."""
    (pod,) = [pod for name, pod in manifests.pods("overlays/prod") if name == "sluice-serve"]
    (container,) = pod["containers"]
    (path,) = [one["value"] for one in container["env"] if one["name"] == "SLUICE_PRODUCER_KEY"]
    (mount,) = [one["mountPath"] for one in container["volumeMounts"] if one["name"] == "console-key"]
    file = made / "secret" / "sluice-console-key" / Path(path).name
    policy = load_policy((made / "configmap" / "sluice-policy" / "policy.toml").read_text("utf-8"))
    (args,) = [one["args"] for one in dict(manifests.pods("base"))["sluice-serve"]["containers"]]
    assert path == f"{mount}/{file.name}"
    (key,) = policy.reviewers.roles["console"]
    assert load_signer(file).verifier.public_key == b64decode(key.public_key)
    assert "--role=console" in args


def test_each_worker_sees_its_own_key(made: Path):
    """By its pod's name, for as many pods as there can be; the policy lists each of them."""
    (container,) = worker()["containers"]
    (mount,) = [one for one in container["volumeMounts"] if one.get("name") == "signing-key"]
    scaled = manifests.objects("ScaledObject", "components/autoscaling")["sluice-worker"]["spec"]
    names = [f"sluice-worker-{place}" for place in range(scaled["maxReplicaCount"])]
    files = [mount["subPathExpr"].replace("$(SLUICE_INSTANCE)", name) for name in names]
    folder = made / "secret" / "sluice-worker-keys"
    policy = load_policy((made / "configmap" / "sluice-policy" / "policy.toml").read_text("utf-8"))

    assert sorted(files) == sorted(one.name for one in folder.iterdir())
    assert {load_signer(folder / file).verifier.name for file in files} == policy.checkpoints.keys.keys()


def test_the_policy_is_the_strict_one(made: Path):
    """With which no party alone has anything admitted; nothing is missing but a secret, which the workers have."""
    file = made / "configmap" / "sluice-policy" / "policy.toml"
    policy, strict = (
        load_policy(file.read_text("utf-8")),
        load_policy((manifests.ROOT / "policies" / "strict.toml").read_text("utf-8")),
    )

    assert policy.exposures() == []
    assert (policy.admissibility, policy.judging) == (strict.admissibility, strict.judging)
    checked = CliRunner().invoke(main, ["policy", "check", str(file)])
    warnings = [line for line in checked.output.splitlines() if "warning" in line and " privacy: " not in line]
    assert (checked.exit_code, warnings) == (0, [])


def test_no_other_policy_is_there():
    """The overlay leaves out the ConfigMap of the base, whose name it has."""
    patches = manifests.kustomization("overlays/prod")["patches"]
    (gone,) = [one for one in patches if one.get("target", {}).get("kind") == "ConfigMap"]
    assert gone["target"]["name"] == "sluice-policy"
    assert "$patch: delete" in gone["patch"]
