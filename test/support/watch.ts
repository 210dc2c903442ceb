/** Clients of watches: they collect the events of a stream until it ends. */
import { eventually } from "./eventually.js"
import type { Running } from "./InProcess.js"

export interface Told {
  readonly topic: string
  readonly id?: string
  readonly status?: string
  readonly at?: string
  readonly many?: number
}

export interface Followed {
  readonly messages: ReadonlyArray<Told & { readonly receivedAt: number }>
  /** The position by which the stream is continued. */
  readonly lastId: () => string | undefined
  readonly isEnded: () => boolean
  /** When it ended, by `performance.now()`. */
  readonly ended: Promise<number>
  /** Waits until the service reads for it. */
  readonly begun: Promise<void>
  readonly close: () => Promise<void>
  /** Waits until a record is told of, with a status if that matters. */
  readonly told: (id: string, status?: string) => Promise<void>
}

const followPieces = (pieces: AsyncIterable<Uint8Array>, cancel: () => void): Followed => {
  const messages: Array<Told & { receivedAt: number }> = []
  let lastId: string | undefined
  let isEnded = false
  const take = (block: string) => {
    for (const line of block.split("\n")) {
      if (line.startsWith("data: ")) messages.push({ ...JSON.parse(line.slice(6)), receivedAt: performance.now() })
      if (line.startsWith("id: ")) lastId = line.slice(4)
    }
  }
  const ended = (async () => {
    let text = ""
    const decoder = new TextDecoder()
    try {
      for await (const piece of pieces) {
        const blocks = (text + decoder.decode(piece, { stream: true })).split("\n\n")
        text = blocks.pop() ?? ""
        for (const block of blocks) take(block)
      }
    } catch {
      // Cut off.
    }
    isEnded = true
    return performance.now()
  })()
  return {
    messages,
    lastId: () => lastId,
    isEnded: () => isEnded,
    ended,
    begun: eventually(
      async () => lastId !== undefined || isEnded,
      (has) => has
    ).then(() => undefined),
    close: async () => {
      cancel()
      await ended
    },
    told: async (id, status) => {
      await eventually(
        async () => messages,
        (all) => all.some((one) => one.id === id && (status === undefined || one.status === status))
      )
    }
  }
}

export interface WatchAs {
  readonly key?: string
  readonly cookie?: string
  readonly lastId?: string | undefined
  readonly headers?: { readonly [name: string]: string }
}

const headersOf = ({ cookie, headers, key, lastId }: WatchAs) => ({
  ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
  ...(cookie === undefined ? {} : { cookie, "sec-fetch-site": "same-origin" }),
  ...(lastId === undefined ? {} : { "last-event-id": lastId }),
  ...headers
})

/** Opens a watch of a service in this process. */
export const watchIn = async (svc: Running, topics: string, as: WatchAs): Promise<Followed> => {
  const reply = await svc.send({
    method: "GET",
    target: `/api/v1/watch?topics=${topics}`,
    headers: headersOf(as),
    remoteAddress: "127.0.0.1",
    body: new Uint8Array(0)
  })
  if (typeof reply.body === "string" || reply.body instanceof Uint8Array)
    throw new Error(`${reply.status} ${reply.body}`)
  return followPieces(reply.body.pieces, reply.body.cancel)
}

/** Opens a watch over HTTP. */
export const watchAt = async (url: string, topics: string, as: WatchAs): Promise<Followed> => {
  const abort = new AbortController()
  const answer = await fetch(`${url}/api/v1/watch?topics=${topics}`, { headers: headersOf(as), signal: abort.signal })
  if (answer.status !== 200 || answer.body === null) throw new Error(`${answer.status} ${await answer.text()}`)
  return followPieces(answer.body, () => abort.abort())
}
