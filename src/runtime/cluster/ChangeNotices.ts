/**
 * Tells the other nodes whose records have changed, over the session of the seat, so that they drop what they had read of
 * them. Each node answers that it did. A notice is lost with a session: then only the age of what was read bounds it. Nodes
 * tell each other in the same way that they come and go.
 */
import type { Client } from "pg"

export interface ChangeNotices {
  /** Resolves when all other nodes have dropped what they had of the organisation, or after a tenth of a second. */
  readonly tell: (organisation: string) => Promise<void>
}

export interface ChangeNoticesOptions {
  /** The seat of this node. */
  readonly seat: string
  /** The seats of all nodes. */
  readonly seats: () => ReadonlyArray<string>
  /** Another node has changed records of the organisation. */
  readonly onChange: (organisation: string) => void
  /** A node has joined, leaves, or is gone. */
  readonly onNodes: () => void
}

/** The channel on which nodes tell that they come and go. */
export const nodesChannel = "svc_nodes"
/** What a statement that changes the nodes selects to tell all of them once it is committed. */
export const tellNodes = `pg_notify('${nodesChannel}', '')`

const changed = "svc_changed"
const dropped = "svc_dropped"
const patienceMillis = 100
/** Organisations in one notice, whose length Postgres limits to 8,000 bytes. */
const mostTogether = 200

/** Organisations whose changes are told together: those of the time in which the notice before was sent. */
interface Batch {
  readonly organisations: Set<string>
  readonly end: () => void
  /** Resolves at `end`, or when the first of its changes has waited long enough. */
  readonly ended: Promise<void>
}

const newBatch = (): Batch => {
  let end = (): void => undefined
  const ended = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, patienceMillis)
    end = () => {
      clearTimeout(timer)
      resolve()
    }
  })
  return { organisations: new Set(), end, ended }
}

/** Listens on the session. */
export const openChangeNotices = async (
  client: Client,
  { onChange, onNodes, seat, seats }: ChangeNoticesOptions
): Promise<ChangeNotices> => {
  let number = 0
  /** Who answers a notice that not all nodes have answered, by its number. */
  const open = new Map<number, (seat: string) => void>()
  const waiting: Array<Batch> = []
  let isSending = false

  const notify = (channel: string, words: ReadonlyArray<string | number>) =>
    // Who waits for a notice that is lost stops waiting by itself.
    client.query("SELECT pg_notify($1, $2)", [channel, words.join(" ")]).catch(() => undefined)

  client.on("notification", ({ channel, payload = "" }) => {
    if (channel === nodesChannel) return onNodes()
    const [sender = "", of = "", ...rest] = payload.split(" ")
    if (channel === dropped && sender === seat) return open.get(Number(of))?.(rest[0] ?? "")
    if (channel !== changed || sender === seat) return
    for (const organisation of rest) onChange(organisation)
    void notify(dropped, [sender, of, seat])
  })

  const awaitAnswers = (of: number, { end, ended }: Batch) => {
    const missing = new Set(seats().filter((id) => id !== seat))
    if (missing.size === 0) return end()
    open.set(of, (by) => {
      missing.delete(by)
      if (missing.size === 0) end()
    })
    void ended.then(() => open.delete(of))
  }

  const send = async () => {
    isSending = true
    for (let batch = waiting.shift(); batch !== undefined; batch = waiting.shift()) {
      const of = ++number
      awaitAnswers(of, batch)
      await notify(changed, [seat, of, ...batch.organisations])
    }
    isSending = false
  }

  await client.query(`LISTEN ${changed}; LISTEN ${dropped}; LISTEN ${nodesChannel}`)
  return {
    tell: (organisation) => {
      const last = waiting.at(-1)
      const batch = last === undefined || last.organisations.size >= mostTogether ? newBatch() : last
      if (batch !== last) waiting.push(batch)
      batch.organisations.add(organisation)
      if (!isSending) void send()
      return batch.ended
    }
  }
}
