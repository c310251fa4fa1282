"""The oracles themselves: each sees the harm that it is there for."""

from __future__ import annotations

import socket
import subprocess
import time

import pytest

from tests.attacks import oracles as watching
from tests.attacks.conftest import KINDS
from tests.attacks.oracles import LEFT_BEHIND, Oracles

pytestmark = [
    pytest.mark.requirement("attacks.oracles"),
    pytest.mark.parametrize("oracles", [KINDS[0]], indirect=True, ids=str),
]


def found(oracles: Oracles, beginning: str) -> None:
    findings = oracles.findings()
    assert findings
    assert all(finding.startswith(beginning) for finding in findings), findings
    assert oracles.findings() == []


def test_a_canary_in_an_answer_is_seen(oracles: Oracles) -> None:
    answer = oracles.scene.request("GET", f"/sessions/{oracles.scene.other_session_id}")
    assert answer.status_code == 200
    found(oracles, "said a canary")


def test_a_canary_in_the_data_folder_is_seen(oracles: Oracles) -> None:
    file = oracles.scene.place.data / "made.txt"
    file.write_text(oracles.scene.place.canary("made"))
    found(oracles, "stored a canary")
    file.unlink()


def test_a_canary_in_a_frame_is_seen(oracles: Oracles) -> None:
    scene = oracles.scene
    scene.watch(f"/sessions/{scene.other_session_id}/ws?after_seq=0")
    scene.request("PATCH", f"/sessions/{scene.other_session_id}", json={"title": "quiet"})
    scene.said.clear()
    title = scene.place.canary("other-title")
    with scene.websocket(f"/sessions/{scene.other_session_id}/ws") as socket:
        scene.request("PATCH", f"/sessions/{scene.other_session_id}", json={"title": title})
        frame = ""
        while not (frame.startswith('{"seq"') and title in frame):
            frame = str(socket.recv(60))
    deadline = time.monotonic() + 60
    while frame not in scene.said:  # this very one: what has the title may be sent more than once
        assert time.monotonic() < deadline
        time.sleep(0.005)
    assert all(finding.startswith("said a canary") for finding in oracles.findings())


def test_a_canary_in_the_log_and_a_defect_are_seen(oracles: Oracles) -> None:
    with oracles.scene.place.log.open("a") as log:
        log.write(f"read {oracles.scene.place.canary('log')}\n")
    found(oracles, "said a canary")
    with oracles.scene.place.log.open("a") as log:
        log.write("Traceback (most recent call last):\n")
    found(oracles, "a defect in the log")


def test_a_change_outside_is_seen(oracles: Oracles) -> None:
    made = oracles.scene.place.outside / "made.txt"
    made.write_text("x")
    found(oracles, "something outside")
    made.chmod(0o600)
    found(oracles, "something outside")
    made.unlink()
    found(oracles, "something outside")


def test_a_client_that_reaches_a_listener_is_seen(oracles: Oracles) -> None:
    listeners = oracles.scene.listeners
    for address in (listeners.tcp, listeners.tcp_outward):
        socket.create_connection(address).close()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", listeners.udp)
    for path in (str(listeners.path), f"\0{listeners.abstract}"):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
    listeners.settle(5)
    findings = oracles.findings()
    assert len(findings) == 5
    assert all(finding.startswith("a listener was reached") for finding in findings)


def test_a_process_that_is_left_is_seen(oracles: Oracles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "PATIENCE", 0.2)
    with subprocess.Popen(["sleep", LEFT_BEHIND]) as process:
        try:
            found_left = oracles.findings()
        finally:
            process.kill()
    assert len(found_left) == 1
    assert found_left[0].startswith("a process survived")
