// The words of questions and answers.

import { firstLine, moment, size, words } from "../format.ts";
import { person } from "../issues/words.ts";
import type { Choice, Interaction, PermissionAsked } from "./types.ts";

const SUBAGENTS = ".subagents.";
/** Where a rule holds. */
export const SCOPES = { session: "in this session", project: "in every session of this project" };
const CONSENT: Record<string, string> = { once: "Allowed once", always: "Always allowed", reject: "Rejected" };
const PLANS: Record<string, string> = { accepted: "Plan accepted", edited: "Plan accepted with changes", rejected: "Plan rejected" };

/** Return the name of the agent at this place in the tree. */
export function who(agentPath: string): string {
  const at = agentPath.lastIndexOf(SUBAGENTS);
  return agentPath === "primary" ? "The agent" : `Agent ${at < 0 ? agentPath : agentPath.slice(at + SUBAGENTS.length)}`;
}

/** Return the text with what cannot be seen, or would turn its order round, written out. */
export function writtenOut(text: string): string {
  return text.replace(/[^\P{C}\n\t]|[\u2028\u2029\u115f\u1160\u3164]/gu, (found) => `\\u{${found.codePointAt(0)!.toString(16)}}`);
}

/** Return who asks for what, in one sentence. */
export function sentence({ kind, agent_path: path, request }: Interaction): string {
  const name = who(path);
  if (kind === "permission") return `${name} asks: may it use ${String(request["tool"])}?`;
  if (kind === "plan") return `${name} proposes a plan.`;
  const summary = request["summary"];
  return typeof summary === "string" && summary ? `${name} asks: ${summary}` : `${name} asks`;
}

/** Why nothing can be stored that answers the same question the next time, by who asks. */
const ONCE: Record<string, string> = {
  watchdog: "the watchdog names nothing that a rule could be about",
  hook: "a hook of the project decides about each call anew",
};
const UNCERTAIN = "a part of it may mean something else the next time, as with `*` or `$NAME`";
const PINNED = "a rule that you store does not lift a pinned rule of the project file (`pinned: false` there does)";

/** Return why a call can be allowed once only. */
export function onceOnly({ source, reason }: PermissionAsked): string {
  const rules = reason.includes("A rule of the project file") ? `${PINNED}, or ${UNCERTAIN}` : UNCERTAIN;
  return `It can be allowed once only: ${ONCE[source] ?? rules}.`;
}

/** Return why a call needs consent, said to the operator. */
export function because({ source, reason }: PermissionAsked): string {
  if (!reason.trim()) return source === "watchdog" ? "The watchdog asks before this call." : "A rule asks before this call.";
  return `${source === "watchdog" ? "The watchdog: " : ""}${reason.replace(/^A rule of the operator\b/, "A rule of yours")}`;
}

/** Return what became of a question, by whom and when, in one line. */
export function outcome(question: Interaction): string {
  const when = question.closed_at ? `, ${moment(question.closed_at)}` : "";
  if (question.state !== "answered") return `Not answered: ${words(question.state)}${when}`;
  return `${decision(question)} by ${person(question.answered_by)}${when}`;
}

function decision({ kind, answer }: Interaction): string {
  const given = answer ?? {};
  if (kind === "plan") return PLANS[String(given["state"])] ?? "Answered";
  if (kind !== "permission") return "Answered";
  const word = CONSENT[String(given["answer"])] ?? words(given["answer"]);
  return typeof given["comment"] === "string" && given["comment"] ? `${word} (“${given["comment"]}”)` : word;
}

/** Return what one's own answer was, as a sentence. */
export function receipt({ kind, request, answer }: Interaction): string {
  const given = (answer ?? {}) as any;
  const comment = given.comment ? ` (“${firstLine(given.comment)}”)` : "";
  if (kind === "permission") return `${ofConsent(String(request["tool"]), given)}${comment}`;
  if (kind === "plan") return `You ${given.state === "rejected" ? "rejected the plan" : given.state === "edited" ? "accepted the plan with your changes" : "accepted the plan"}${comment}`;
  if (kind === "form") return "You sent your answers";
  const asked = choices(kind, request);
  const said = asked.map((one, at): string[] => given.answers?.[kind === "ask" ? one.key : at] ?? []);
  const chose = asked.every((one, at) => said[at]?.every((text) => one.options.some(({ label }) => label === text)));
  return `You ${chose ? "chose" : "answered"} ${said.map((texts) => texts.map((text) => firstLine(text)).join(" and ") || "nothing").join(", ")}`;
}

function ofConsent(tool: string, given: any): string {
  if (given.answer === "reject") return `You rejected \`${tool}\``;
  if (given.answer !== "always" || !given.rules?.length) return `You allowed \`${tool}\` once`;
  const rules = given.rules.map((rule: any) => `\`${rule.permission} ${rule.pattern}\``).join(" and ");
  return `You always allow ${rules} ${SCOPES[given.scope === "project" ? "project" : "session"]}`;
}

/** Return what was asked about, in short: it stands before the outcome in a folded card. */
export function subject({ kind, request }: Interaction): string {
  if (kind === "permission") return [(request as unknown as PermissionAsked).tool, ...(request as unknown as PermissionAsked).subjects.slice(0, 1)].join(" ");
  if (kind === "plan") return "Plan";
  const first = choices(kind, request)[0]?.title;
  return String(request["summary"] || first || "Form");
}

/** Return pairs of what was asked and what was answered. */
export function pairs({ kind, request, answer }: Interaction): [string, string][] {
  const given = answer as any;
  if (!given) return [];
  if (kind === "form") return ((request["fields"] ?? []) as { name: string; label: string }[]).map((field) => [field.label || field.name, value(given.values?.[field.name])]);
  if (kind === "plan") return ofPlan(request, given);
  return choices(kind, request).map((choice, at) => [choice.title, texts(given.answers?.[kind === "ask" ? choice.key : at])]);
}

/** Return the questions of an `ask` or a `question`. */
export function choices(kind: string, request: Interaction["request"]): Choice[] {
  if (kind !== "ask" && kind !== "question") return [];
  return ((request["questions"] ?? []) as any[]).map((one, at) =>
    kind === "ask"
      ? { key: one.id, title: one.title, heading: "", description: one.description ?? "", options: one.options ?? [], multiple: one.multiple ?? false, own: one.allow_other ?? false }
      : { key: String(at), title: one.question, heading: one.header ?? "", description: "", options: one.options ?? [], multiple: one.multi_select ?? false, own: !one.options?.length },
  );
}

function ofPlan(request: Interaction["request"], given: any): [string, string][] {
  const found: [string, string][] = [["Plan", `${words(given.state)}${given.mode ? `, in mode ${given.mode}` : ""}`]];
  if (given.plan && given.plan !== request["plan"]) found.push(["With changes", given.plan]);
  if (given.comment) found.push(["Comment", given.comment]);
  return found;
}

function texts(list: string[] | undefined): string {
  return list?.length ? list.join("\n") : "nothing";
}

function value(given: any): string {
  if (given === null || given === undefined) return "nothing";
  if (typeof given === "boolean") return given ? "yes" : "no";
  if (typeof given === "object") return `${given.name} (${size(given.size ?? given.size_bytes)})`;
  return String(given);
}
