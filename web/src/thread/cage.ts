// What an agent may reach, in a word and in full.

import type { components } from "../../../clients/typescript/src/generated/routes.ts";
import { duration } from "../format.ts";

export type Agent = components["schemas"]["SessionAgent"];
type Cage = components["schemas"]["CageAnswer"];

/** One thing that it may or may not do, and with what: names are shown as they are. */
export interface Fact {
  what: string;
  text: string;
  names: string[];
}

/** Return the widest of what an agent may do to files, and whether it has a network. */
export function wordOf({ cage }: Agent): string {
  if (!cage) return "full access";
  const { hosts } = cage;
  return `${filesOf(cage)} · ${hosts.length ? `${hosts.length} host${hosts.length === 1 ? "" : "s"}` : "no network"}`;
}

function filesOf({ files }: Cage): string {
  const all = files.find(({ path }) => path === ".")?.mode;
  const some = (mode: string) => files.some((file) => file.mode === mode);
  if (all === "rw") return "writes project";
  if (some("rw")) return "writes some files";
  if (all === "ro") return "reads project";
  return some("ro") ? "reads some files" : "no files";
}

/** Return all that is worth knowing of it. */
export function factsOf({ cage }: Agent): Fact[] {
  if (!cage) return [{ what: "May do", text: "Everything that the daemon's user may do. Permission rules hold.", names: [] }];
  const paths = (...modes: string[]) => cage.files.filter(({ mode }) => modes.includes(mode)).map(({ path }) => path);
  const hidden = paths("deny");
  const runs = cage.capabilities;
  const ends = [cage.seconds && `ended after ${duration(cage.seconds * 1000)}`, cage.memory_mb && `at most ${cage.memory_mb} MB of memory`].filter(Boolean);
  return [
    of("Reads", paths("ro", "rw"), "no file of the project"),
    of("Writes", paths("rw"), "nothing"),
    ...(paths("rw").includes(".") && paths("ro").length ? [of("Never writes", paths("ro"), "")] : []),
    ...(hidden.length ? [of("Never sees", hidden, "")] : []),
    { what: "Runs", text: runs.length ? ends.join(", ") : "no commands", names: runs },
    { what: "Reaches", text: cage.hosts.length ? "" : "no network", names: cage.hosts },
  ];
}

function of(what: string, paths: string[], none: string): Fact {
  // What lies in it needs no word of its own.
  if (paths.includes(".")) return { what, text: "the project", names: [] };
  return { what, text: paths.length ? "" : none, names: paths };
}

/** Return it as lines of text. */
export function textOf(agent: Agent): string {
  return factsOf(agent)
    .map(({ what, text, names }) => `${what}: ${[...names, text].filter(Boolean).join(", ")}`)
    .join("\n");
}
