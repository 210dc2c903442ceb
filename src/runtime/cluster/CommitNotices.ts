/**
 * Tells nodes on which callers wait for changes whose records the others have committed, over the session of the seat: they
 * look at once, and not when they would by themselves. A node tells it only while another one has asked for it lately.
 */
import type { Client } from "pg"

export interface CommitNotices {
  /** Callers on this node wait for changes: has the other nodes tell of theirs for a while. */
  readonly awaitCommits: () => void
  /** This node has committed changes of these organisations. */
  readonly tellCommits: (organisations: ReadonlySet<string>) => void
}

export interface CommitNoticesOptions {
  /** The seat of this node. */
  readonly seat: string
  /** Another node has committed changes of these organisations. */
  readonly onCommits: (organisations: ReadonlySet<string>) => void
}

const awaited = "svc_awaited"
const committed = "svc_committed"
/** How often a node asks, and how long another one tells what it commits, in milliseconds. */
const term = { asked: 4_000, told: 10_000 } as const
/** The shortest time between two notices of a node, in milliseconds: those who wait read no more often than that. */
const gapMillis = 50
/** Organisations in one notice, whose length Postgres limits to 8,000 bytes. */
const mostTogether = 200

/** Listens on the session. `nodes`: the channel on which nodes tell that they come and go. */
export const openCommitNotices = async (
  client: Client,
  nodes: string,
  { onCommits, seat }: CommitNoticesOptions
): Promise<CommitNotices> => {
  let askedAt = -Infinity
  let toldUntil = -Infinity
  let sentAt = -Infinity
  let untold = new Set<string>()
  let timer: NodeJS.Timeout | undefined

  // Who hears nothing looks by itself.
  const notify = (channel: string, words: ReadonlyArray<string>) =>
    void client.query("SELECT pg_notify($1, $2)", [channel, [seat, ...words].join(" ")]).catch(() => undefined)

  client.on("notification", ({ channel, payload = "" }) => {
    // A node that has come was not asked.
    if (channel === nodes) askedAt = -Infinity
    const [sender, ...words] = payload.split(" ")
    if (sender === seat) return
    if (channel === awaited) toldUntil = performance.now() + term.told
    if (channel === committed) onCommits(new Set(words))
  })
  client.once("end", () => clearTimeout(timer))

  const send = () => {
    timer = undefined
    sentAt = performance.now()
    const all = [...untold]
    untold = new Set()
    for (let from = 0; from < all.length; from += mostTogether) notify(committed, all.slice(from, from + mostTogether))
  }

  await client.query(`LISTEN ${awaited}; LISTEN ${committed}`)
  return {
    awaitCommits: () => {
      const now = performance.now()
      if (now - askedAt < term.asked) return
      askedAt = now
      notify(awaited, [])
    },
    tellCommits: (organisations) => {
      const now = performance.now()
      if (now > toldUntil) return
      for (const id of organisations) untold.add(id)
      timer ??= setTimeout(send, Math.max(0, sentAt + gapMillis - now))
    }
  }
}
