// Numbers and times, written for people.

// Made once: a long conversation has thousands of times.
const CLOCK = new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

export function duration(milliseconds: number | null | undefined): string {
  if (milliseconds === null || milliseconds === undefined) return "";
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 59_950) return `${(milliseconds / 1000).toFixed(1)} s`;
  // Rounded first: there is no "1 min 60 s".
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** 950 tokens, 12.4k tokens, 1.2M tokens. */
export function tokens(count: number | null | undefined): string {
  return `${short(count ?? 0)} token${count === 1 ? "" : "s"}`;
}

/** 950, 12.4k, 1.2M. */
export function short(count: number): string {
  if (count < 1000) return String(count);
  const [divisor, unit]: [number, string] = count < 999_950 ? [1000, "k"] : [1_000_000, "M"];
  const value = count / divisor;
  return `${value < 100 ? Number(value.toFixed(1)) : Math.round(value)}${unit}`;
}

export function dollars(amount: number | null | undefined): string {
  if (amount === null || amount === undefined) return "";
  if (amount === 0) return "$0";
  return amount < 0.01 ? `$${amount.toFixed(4)}` : `$${amount.toFixed(amount < 1 ? 3 : 2)}`;
}

/** Return how much it is of what a limit counts. */
export function amount(number: number, unit: string): string {
  if (unit === "usd") return dollars(number);
  if (unit === "seconds") return duration(number * 1000);
  return unit === "tokens" ? tokens(number) : `${number} ${unit}`;
}

export function ago(time: string): string {
  const seconds = (Date.now() - Date.parse(time)) / 1000;
  if (seconds < 60) return "now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return new Date(time).toLocaleDateString();
}

export function clock(time: string): string {
  return CLOCK.format(new Date(time));
}

export function words(name: unknown): string {
  return String(name ?? "").replaceAll("_", " ");
}

/** Return the first `limit` characters of the first line. */
export function firstLine(text: unknown, limit = 120): string {
  const [line = ""] = String(text).trim().split("\n", 1);
  return line.length > limit ? `${line.slice(0, limit - 1)}…` : line;
}

export function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const [divisor, unit] = bytes < 1_000_000 ? ([1000, "kB"] as const) : ([1_000_000, "MB"] as const);
  return `${(bytes / divisor).toFixed(bytes < 10 * divisor ? 1 : 0)} ${unit}`;
}

export function moment(time: string): string {
  return new Date(time).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}
