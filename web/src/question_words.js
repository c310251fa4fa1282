// The names of agents in the headings of questions.

/** Return the name of the agent at this place in the tree. */
export function who(agentPath) {
  return agentPath === "primary" ? "The agent" : agentPath;
}
