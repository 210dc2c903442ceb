/** States of records as words with a colour, which is never the only sign. */
type Tone = "good" | "bad" | "warn" | "busy" | "none"

const tones: Readonly<Record<string, Tone>> = {
  active: "good",
  completed: "good",
  delivered: "good",
  published: "good",
  subscribed: "good",
  success: "good",
  approved: "good",
  deployed: "good",
  replayed: "good",
  failed: "bad",
  error: "bad",
  dead: "bad",
  timed_out: "bad",
  expired: "bad",
  revoked: "bad",
  rejected: "bad",
  auto_disabled: "bad",
  needs_reauth: "bad",
  critical: "bad",
  held: "warn",
  paused: "warn",
  suspended: "warn",
  warning: "warn",
  draft: "warn",
  invited: "warn",
  waiting: "warn",
  pending: "busy",
  queued: "busy",
  running: "busy",
  received: "busy",
  open: "busy"
}

export const Badge = ({ tone, word }: { readonly word: string; readonly tone?: Tone }) => {
  const chosen = tone ?? tones[word] ?? "none"
  return <span className={chosen === "none" ? "badge" : `badge ${chosen}`}>{word.replaceAll("_", " ")}</span>
}
