// What the palette finds: commands and settings that it knows, and sessions, issues and files that the daemon finds.

import { address, request, type Page, type Schemas } from "../api.ts";
import { findById } from "../dom.ts";
import { ICONS, type IconName } from "../frame/icons.ts";
import { chooseTheme, THEMES, type Theme } from "../look/theme.ts";
import { to } from "../routes.ts";
import { sessionWord } from "../session_words.ts";
import type { Session } from "../shell/choice.ts";
import { PICTURES, type PictureName } from "../shell/dialogs.ts";
import { SECTIONS } from "../settings/sections.ts";
import { openProjects, openShortcuts } from "../shell/opening.ts";
import type { Sessions } from "../shell/sessions.svelte.ts";
import { split } from "../workspace/names.ts";

type Issue = Schemas["IssueSummary"] | Schemas["IssueDetailAnswer"];

const MOST = 6;

export interface Entry {
  key: string;
  name: string;
  /** What is said of it in grey. */
  about: string;
  icon: IconName | PictureName;
  open: () => void;
}

export interface Group {
  name: string;
  entries: Entry[];
}

/** Return the lines of a picture. */
export function pictureOf(name: IconName | PictureName): string {
  return ({ ...ICONS, ...PICTURES } as Record<string, string>)[name] ?? "";
}

const go = (hash: string) => () => {
  location.hash = hash;
};

/** Return the commands and settings whose names have all words of the text. */
export function commands(list: Sessions, text: string): Group[] {
  const open = list.route.session ? list.find(list.route.session) : undefined;
  const views: [string, IconName, string][] = [
    ["Inbox", "inbox", to.inbox()],
    ["Sessions", "sessions", to.session(list.lastSession)],
    ["Issues", "issues", "#issues"],
    ["Workflows", "workflows", "#workflows"],
  ];
  const press = (id: string, name: string, icon: PictureName): Entry[] => (findById(id)?.checkVisibility() && !(findById(id) as HTMLButtonElement).disabled ? [{ key: id, name, about: "", icon, open: () => findById(id)?.click() }] : []);
  const found: Entry[] = [
    ...list.projects.filter((one) => one.trust.state !== "untrusted").map((one): Entry => ({ key: `new-${one.id}`, name: `New session in ${one.slug}`, about: one.root, icon: "plus", open: () => void list.create(one.id) })),
    ...(open && open.state !== "running" ? [{ key: "archive", name: "Archive this session", about: open.title, icon: "archive" as const, open: () => void archive(list, open) }] : []),
    ...press("stop", "Stop the run", "close"),
    ...press("pause", "Pause the run", "close"),
    ...press("resume", "Resume the run", "right"),
    ...press("session-model", "Choose the model", "right"),
    ...press("session-mode", "Choose the mode", "right"),
    ...press("attach-files", "Attach images or files", "file"),
    ...press("share", "Share or export this session", "right"),
    ...press("open-details", "Show or hide the workspace", "workspace"),
    { key: "projects", name: "Choose or open a project", about: "", icon: "folder", open: () => void openProjects(list) },
    ...views.map(([name, icon, hash]): Entry => ({ key: `go-${name}`, name: `Go to ${name}`, about: "", icon, open: go(hash) })),
    { key: "keys", name: "Show all keys", about: "?", icon: "keyboard", open: () => void openShortcuts() },
  ];
  const settings: Entry[] = [
    ...SECTIONS.map(({ key, name, about }): Entry => ({ key: `settings-${key}`, name: `Settings: ${name.toLowerCase()}`, about, icon: "settings", open: go(to.settings(key)) })),
    ...Object.entries(THEMES).map(([theme, name]): Entry => ({ key: `theme-${theme}`, name: `Theme: ${name.toLowerCase()}`, about: "", icon: "settings", open: () => chooseTheme(theme as Theme) })),
  ];
  return [
    { name: "Commands", entries: matching(found, text).slice(0, text ? MOST : 20) },
    { name: "Settings", entries: matching(settings, text) },
  ];
}

async function archive(list: Sessions, session: Session): Promise<void> {
  try {
    const { state, archived_at } = await request<Session>("POST", `/sessions/${encodeURIComponent(session.id)}/archive`);
    list.update(session.id, { state, archived_at });
  } catch (error) {
    list.fail(error);
  }
}

export function matching(entries: Entry[], text: string): Entry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return entries.filter(({ name, about }) => words.every((word) => `${name} ${about}`.toLowerCase().includes(word)));
}

export async function sessions(list: Sessions, text: string): Promise<Group> {
  const { items } = await request<Page<Session>>("GET", address("/sessions", { text: text || null, archived: text ? null : "false", limit: MOST }));
  const entries = items.map((one): Entry => ({ key: one.id, name: one.title || "New session", about: `${list.projectName(one.project_id)} · ${sessionWord(one)}`, icon: "sessions", open: go(to.session(one.id)) }));
  return { name: "Sessions", entries };
}

export async function issues(list: Sessions, text: string): Promise<Group> {
  if (!text) return { name: "Issues", entries: [] };
  const number = /^#?(\d+)$/.exec(text)?.[1];
  const projects = list.choice.project ? [list.choice.project] : list.projects.map((one) => one.id).slice(0, MOST);
  const pages = await Promise.all(
    projects.map(async (project) => {
      const path = `/projects/${encodeURIComponent(project)}/issues`;
      const asked = number ? request<Issue>("GET", `${path}/${number}`).then((one) => [one]) : request<Page<Issue>>("GET", address(path, { search: text, limit: MOST })).then(({ items }) => items);
      const found = await asked.catch((): Issue[] => []);
      return found.map((one): Entry => ({
        key: `${project}#${one.number}`,
        name: `#${one.number} ${one.title}`,
        about: `${list.projectName(project)} · ${one.status.replaceAll("_", " ")}`,
        icon: "issues",
        open: go(to.issue(project, one.number)),
      }));
    }),
  );
  return { name: "Issues", entries: pages.flat().slice(0, MOST) };
}

/** The files of the open session, or of the one that was open last. */
export async function files(list: Sessions, text: string): Promise<Group> {
  const session = list.find(list.route.session ?? list.lastSession ?? "");
  if (!text || !session) return { name: "Files", entries: [] };
  const path = `/projects/${encodeURIComponent(session.project_id)}/files/search`;
  const { items } = await request<Page<Schemas["FileHit"]>>("GET", address(path, { q: text, session_id: session.id, limit: MOST }));
  const entries = items.map(({ path, kind }): Entry => {
    const [folder, name] = split(path);
    return { key: `file-${path}`, name, about: folder || list.projectName(session.project_id), icon: kind === "folder" ? "folder" : "file", open: go(to.place(session.id, "files", path)) };
  });
  return { name: "Files", entries };
}
