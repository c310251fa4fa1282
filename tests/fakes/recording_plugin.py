"""A plugin that notes every call, and answers as its config says.

Owns: `calls.jsonl` beside it, one line for each call with its name and all parameters. Run as a file with
the plugin's name, its hooks (or `none`), and its tools. In the config, by hook or tool name: `answers`
(JSON, the result), `errors` (a message), `sleeps` (seconds before the answer).
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from app.plugins.sdk import Call, Plugin, PluginError

plugin = Plugin(sys.argv[1], "1.0.0")


def respond(call: Call) -> Any:
    name = call.method.rpartition(".")[2]
    with (Path(__file__).parent / "calls.jsonl").open("a") as file:
        told = {"name": name, "role": call.role, "context": dict(call.context), "params": call.params}
        file.write(json.dumps(told) + "\n")
    time.sleep(plugin.config.get("sleeps", {}).get(name, 0))
    if name in plugin.config.get("errors", {}):
        raise PluginError(plugin.config["errors"][name])
    return plugin.config.get("answers", {}).get(name)


for hook in sys.argv[2].split(",") if sys.argv[2] != "none" else ():
    plugin.hook(hook)(respond)
for tool in sys.argv[3].split(",") if len(sys.argv) > 3 else ():
    plugin.tool(tool)(lambda call, **_: respond(call))
plugin.run()
