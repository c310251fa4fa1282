// What is asked and what is answered, as the HTTP interface has them.

import type { components } from "../../../clients/typescript/src/generated/routes.ts";

export type Interaction = components["schemas"]["InteractionAnswer"];
export type AskedCall = components["schemas"]["AskedCall"];
export type Body = components["schemas"]["AnswerInteraction"];

export interface PermissionAsked {
  tool: string;
  permission: string;
  subjects: string[];
  reason: string;
  source: string;
  suggestions: { permission: string; pattern: string }[];
}

interface Option {
  label: string;
  description?: string | null;
}

/** One question of a card, whichever tool asks it. */
export interface Choice {
  key: string;
  title: string;
  heading: string;
  description: string;
  options: Option[];
  multiple: boolean;
  /** Whether an answer in one's own words is taken. */
  own: boolean;
}

/** What the daemon found wrong, by the name of what was asked. */
export type Problems = Record<string, string>;

/** What each kind of card is given. */
export interface Given<Asked> {
  asked: Asked;
  id: string;
  /** The answer can be given: the card was there long enough, and none is on its way. */
  able: boolean;
  problems: Problems;
  send: (body: Body) => void;
  /** Put the focus back on the card. */
  leave: () => void;
}

/** What a card does with the keys while it has the focus itself. */
export interface Keys {
  /** Whether the key is one of the card's. */
  owns(key: string): boolean;
  press(key: string): void;
}
