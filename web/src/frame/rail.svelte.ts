// What the rail shows: which view is open, where the others are, how much waits for a person.

export type View = "inbox" | "sessions" | "issues" | "workflows" | "settings";

export const rail = $state<{ view: string; addresses: Record<View, string>; inbox: number }>({
  view: "sessions",
  addresses: { inbox: "#inbox", sessions: "#", issues: "#issues", workflows: "#workflows", settings: "#settings/providers" },
  inbox: 0,
});
