"""A project whose agent does everything that an editor shows, with a replayed model.

Owns: the project file and the transcript. Never: starting anything.
"""

from __future__ import annotations

from pathlib import Path

from tests.driver.kaged import Home

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

PROJECT = """\
version: 1
project: library
primary:
  model: demo
  system_prompt: prompts/primary.md
  cage: disabled
  tools:
    file.*: { enabled: true }
    edit.text: { enabled: true }
    shell.bash: { enabled: true }
    kaged.ask: { enabled: true }
    todo: { enabled: true }
permissions:
  - { permission: edit.text, pattern: "*", action: ask }
"""

_EDIT = (
    "{ name: edit.text, arguments: { path: README.md, old_string: lends books, "
    "new_string: lends books and maps } }"
)
TRANSCRIPT = f"""\
chunk_delay: 0
conversations:
  - when: ^read
    steps:
      - answer:
          - thinking: Where would that be written?
          - text: Let me look.
          - tool_call: {{ name: file.read, arguments: {{ path: README.md }} }}
      - answer:
          - text: "It lends books."
  - when: ^describe
    steps:
      - answer:
          - text: "I see."
  - when: ^run
    steps:
      - answer:
          - tool_call: {{ name: shell.bash, arguments: {{ command: "echo counted; exit 3" }} }}
      - answer:
          - text: "It failed."
  - when: ^plan
    steps:
      - answer:
          - tool_call:
              name: todo
              arguments:
                todos:
                  - {{ content: Count the books, status: completed }}
                  - {{ content: Order new ones, status: in_progress }}
      - answer:
          - text: "Planned."
  - when: ^choose
    steps:
      - answer:
          - tool_call:
              name: kaged.ask
              arguments:
                summary: There are two ways.
                questions:
                  - {{ id: way, title: "Which way?", options: [{{ label: left }}, {{ label: right }}] }}
      - answer:
          - text: We go.
  - when: ^edit
    steps:
      - answer:
          - tool_call: {{ name: file.read, arguments: {{ path: README.md }} }}
      - answer:
          - tool_call: {_EDIT}
      - expect: {{ tool_result: replacements }}
        answer:
          - text: Done.
        otherwise:
          - text: Then not.
  - when: ^stall
    steps:
      - answer:
          - text: "Thinking it over "
          - stall: true
  - when: ^fail
    steps:
      - answer:
          - error: {{ kind: auth, message: the key was refused }}
  - when: ^long
    steps:
      - answer:
          - text: "cut"
        stop_reason: length
"""

OTHER = """\
chunk_delay: 0
conversations:
  - when: .
    steps:
      - answer:
          - text: "I am the other one."
"""


def editing_home(folder: Path) -> Home:
    """Return a home with that project."""
    home = Home(folder).give(PROJECT)
    transcripts = home.folder / "transcripts"
    transcripts.mkdir()
    (transcripts / "demo.yaml").write_text(TRANSCRIPT)
    (transcripts / "other.yaml").write_text(OTHER)
    home.config.write_text(
        '[models]\ndemo = "replay:demo"\nother = "replay:other"\n'
        '[providers.replay]\ntranscript = "transcripts"\n'
        "[daemon]\nport = 0\n"
    )
    return home
