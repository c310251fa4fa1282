// What the rail shows: which view is open, where the others are, how many sessions ask.

export type View = "sessions" | "issues" | "workflows";

export const rail = $state<{ view: string; addresses: Record<View, string>; asking: number }>({
  view: "sessions",
  addresses: { sessions: "#", issues: "#issues", workflows: "#workflows" },
  asking: 0,
});
