"""The objects for Kubernetes: schemas take them, what they name exists, and a daemon answers their probes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.deployment.examples import KUBERNETES, container, documents, objects, one_object, pod, with_cages
from tests.driver.daemon import running_daemon
from tests.driver.machine import find_deployment_tool

pytestmark = pytest.mark.requirement("deployment.kubernetes")

VERSIONS = ("1.33.0", "1.37.0")
"""The oldest that the patch for cages is for, and the newest that the validator knows."""
POD_ADDRESS = "10.244.1.7:7777"
PROBES = ("startupProbe", "livenessProbe", "readinessProbe")


@pytest.mark.needs("kubernetes-validate")
@pytest.mark.parametrize("version", VERSIONS)
def test_the_schemas_of_kubernetes_take_every_object(version: str, tmp_path: Path) -> None:
    program = find_deployment_tool("kubernetes-validate")
    assert program is not None
    files = []
    for number, one in enumerate([*objects(), with_cages()]):
        files.append(tmp_path / f"{number}-{one['kind']}.yaml")
        files[-1].write_text(json.dumps(one))
    done = subprocess.run(
        [program, "--strict", "--kubernetes-version", version, *files],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("passed for resource") == len(files), done.stdout


def test_every_file_is_a_resource_or_the_patch() -> None:
    [kustomization] = documents(KUBERNETES / "kustomization.yaml")
    named = {*kustomization["resources"], "kustomization.yaml", "cages.yaml"}
    assert {path.name for path in KUBERNETES.iterdir()} == named


def test_what_objects_name_exists() -> None:
    labels = one_object("StatefulSet")["spec"]["template"]["metadata"]["labels"]
    services = {one["metadata"]["name"]: one["spec"] for one in objects() if one["kind"] == "Service"}
    assert one_object("StatefulSet")["spec"]["serviceName"] in services
    selectors = [spec["selector"] for spec in services.values()]
    selectors.append(one_object("StatefulSet")["spec"]["selector"]["matchLabels"])
    selectors.append(one_object("NetworkPolicy")["spec"]["podSelector"]["matchLabels"])
    assert all(selector.items() <= labels.items() for selector in selectors)
    claims = {one["metadata"]["name"] for one in one_object("StatefulSet")["spec"]["volumeClaimTemplates"]}
    mounted = {mount["name"] for mount in container()["volumeMounts"]}
    assert mounted == claims | {volume["name"] for volume in pod()["volumes"]}
    paths = {mount["name"]: mount["mountPath"] for mount in container()["volumeMounts"]}
    assert (paths["data"], paths["project"], paths["tmp"]) == ("/data", "/project", "/tmp")
    hosts = next(one["value"] for one in container()["env"] if one["name"] == "KAGED_AUTH__ALLOWED_HOSTS")
    assert set(hosts.split(",")) & services.keys(), "Prometheus asks for the name of the service"


def test_the_pod_has_no_right_that_it_does_not_need() -> None:
    identity = pod()["securityContext"]
    assert (identity["runAsUser"], identity["runAsGroup"], identity["runAsNonRoot"]) == (10001, 0, True)
    assert identity["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container()["securityContext"] == {
        "readOnlyRootFilesystem": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    assert (pod()["automountServiceAccountToken"], pod()["enableServiceLinks"]) == (False, False)
    assert "memory" in container()["resources"]["limits"]


def test_the_patch_for_cages_adds_what_bubblewrap_needs_and_takes_nothing_away() -> None:
    patched = with_cages()["spec"]["template"]["spec"]
    security: dict[str, Any] = patched["containers"][0]["securityContext"]
    added = {
        "procMount": "Unmasked",
        "seccompProfile": {"type": "Localhost", "localhostProfile": "kaged.json"},
        "appArmorProfile": {"type": "Unconfined"},
    }
    assert security == {**container()["securityContext"], **added}
    assert patched["hostUsers"] is False, "Kubernetes refuses an unmasked /proc without it"


def test_the_network_policy_keeps_agents_from_the_cluster_and_from_the_clouds_metadata() -> None:
    policy = one_object("NetworkPolicy")["spec"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    blocks = [to["ipBlock"] for rule in policy["egress"] for to in rule["to"] if "ipBlock" in to]
    everywhere = {block["cidr"]: set(block["except"]) for block in blocks}
    assert everywhere["0.0.0.0/0"] >= {"10.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"}
    assert everywhere["::/0"] >= {"fc00::/7", "fe80::/10"}
    assert all(rule.get("ports") for rule in (*policy["ingress"], *policy["egress"]))


async def test_a_daemon_answers_the_probes_only_with_the_header_that_they_send(tmp_path: Path) -> None:
    async with running_daemon(tmp_path / "data") as daemon, daemon.client("") as kubelet:
        for name in PROBES:
            probe = container()[name]
            [header] = probe["httpGet"]["httpHeaders"]
            sent = {header["name"]: header["value"]}
            answer = await kubelet.get(probe["httpGet"]["path"], headers=sent)
            assert (name, answer.status_code) == (name, 200)
            refused = await kubelet.get(probe["httpGet"]["path"], headers={"Host": POD_ADDRESS})
            assert (name, refused.status_code) == (name, 403)
