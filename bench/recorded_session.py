"""A session of many messages, which a daemon recorded, for the benchmarks of the page.

Owns: recording one turn by a real run, and repeating its rows in an export that every daemon imports.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import orjson

from app.ids import new_id
from bench.processes import Running, wait_for

TITLE = "A long recorded session"
_MARK = "NUMBER-OF-TURN"
TRANSCRIPT = f"""\
chunk_delay: 0
conversations:
  - when: look
    steps:
      - answer:
          - text: I read the file first, to see what part {_MARK} is about.
          - tool_call: {{ name: file.read, arguments: {{ path: README.md }} }}
      - answer:
          - text: |
              The part sells **things**, as `README.md` says:

              - it has one list, with a [link](https://example.com) in it
              - and a second line of the list

              ```python
              def total(prices: list[int]) -> int:
                  return sum(prices)
              ```

              That is all of {_MARK}.
"""
SETTINGS = '\n[providers.replay]\ntranscript = "{file}"\n'
Line = dict[str, Any]


def settings(folder: Path) -> str:
    """Return the settings of a daemon that can record the turn."""
    file = folder / "turn.yaml"
    file.write_text(TRANSCRIPT)
    return SETTINGS.format(file=file)


def last_words(messages: int) -> str:
    """Return what the last message of a session of so many messages says, and no other."""
    return f"That is all of {_turn(messages // 4 - 1)}."


def recorded(running: Running, messages: int) -> bytes:
    """Let the daemon record one turn of four messages; return the export of a session that has it again and
    again, with other ids, positions and times."""
    session_id = running.new_session()
    with running.client() as client:
        body = {"content": f"Please look at {_MARK}.", "model": "replay:turn"}
        client.post(f"/api/v1/sessions/{session_id}/messages", json=body).raise_for_status()
        wait_for(lambda: client.get(f"/api/v1/sessions/{session_id}").json()["state"] == "idle")
        lines = client.get(f"/api/v1/sessions/{session_id}/export").raise_for_status().content.splitlines()
        client.delete(f"/api/v1/sessions/{session_id}").raise_for_status()
    return _sealed(_repeated([orjson.loads(line) for line in lines], messages))


def imported(running: Running, export: bytes) -> str:
    """Return the id of the session that a daemon has made of an export."""
    with running.client() as client:
        answer = client.post("/api/v1/sessions/import", content=export, timeout=600)
        return str(answer.raise_for_status().json()["id"])


def _repeated(lines: list[Line], messages: int) -> list[bytes]:
    header = lines[0]["data"]
    session = header["session"]
    # The frames of the turns are not repeated; clients are told that they were trimmed.
    header["session"] = session | {
        "id": new_id("ses"),
        "title": TITLE,
        "trimmed_through_seq": session["seq_reserved"],
    }
    header["compiled"] = None
    first = [orjson.dumps(lines[0])]
    told = [line for line in lines if line["kind"] == "message"]
    if len(told) != 4:
        raise RuntimeError(f"the recorded turn has {len(told)} messages instead of 4")
    runs = [line for line in lines if line["kind"] in ("run", "step", "tool_call")]
    ids = {str(line["data"]["id"]) for line in (*told, *runs) if "id" in line["data"]}
    turns = [
        _turn_lines(number, ids, session["id"], header["session"]["id"]) for number in range(messages // 4)
    ]
    return [
        *first,
        *(turn(line) for turn in turns for line in runs),
        *(turn(line) for turn in turns for line in told),
    ]


def _turn_lines(number: int, ids: set[str], old_session: str, session: str) -> Any:
    fresh = {one.encode(): new_id(one.partition("_")[0]).encode() for one in ids}  # type: ignore[arg-type]
    fresh[old_session.encode()] = session.encode()
    fresh[_MARK.encode()] = _turn(number).encode()

    def copy(line: Line) -> bytes:
        data = dict(line["data"])
        if "position" in data:
            data["position"] += 4 * number
        data |= {"checkpoint_id": None} if "checkpoint_id" in data else {}
        data |= {name: data[name] + 1000 * number for name in ("created_at", "started_at") if data.get(name)}
        if data.get("ended_at"):
            data["ended_at"] += 1000 * number
        raw = orjson.dumps({"kind": line["kind"], "data": data})
        for old, new in fresh.items():
            raw = raw.replace(old, new)
        return raw

    return copy


def _turn(number: int) -> str:
    return f"turn {number:06}"


def _sealed(lines: list[bytes]) -> bytes:
    body = b"".join(line + b"\n" for line in lines)
    seal = {"lines": len(lines), "digest": f"sha256:{hashlib.sha256(body).hexdigest()}"}
    return body + orjson.dumps({"kind": "end", "data": seal}) + b"\n"
