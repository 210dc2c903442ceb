/**
 * The one stream of changes that all tabs of a browser share. The tab that has the lock reads it and tells the others; when it is
 * closed, another gets the lock and goes on from the last message. Without locks or channels there is no stream: pages poll.
 */
import { ownHeaders } from "../api/Client.js"
import { readEvents, type StreamEvent } from "./EventStream.js"

/** A change; or how many there were, upon which a page reads again; or that some may have been missed. */
export type LiveMessage =
  | { readonly kind: "change"; readonly topic: string; readonly id: string; readonly status: string }
  | { readonly kind: "many"; readonly topic: string }
  | { readonly kind: "reset" }
  | { readonly kind: "state"; readonly isLive: boolean }

type Told =
  | { readonly told: LiveMessage; readonly position: string }
  | { readonly wants: ReadonlyArray<string>; readonly from: string }
  | { readonly asks: true }

const firstPause = 1_000
const longestPause = 15_000
/** Runs that the stream watches at most. */
const mostRuns = 8

const parsed = ({ data, event }: StreamEvent): LiveMessage | undefined => {
  if (event === "reset") return { kind: "reset" }
  try {
    const { id, many, status, topic } = JSON.parse(data) as {
      readonly topic: string
      readonly id?: string
      readonly status?: string
      readonly many?: number
    }
    if (topic === "reset") return { kind: "reset" }
    return many === undefined ? { kind: "change", topic, id: id ?? "", status: status ?? "" } : { kind: "many", topic }
  } catch {
    return undefined
  }
}

/** `topics`: those that the person may watch. `tell` is called in every tab. */
export const startSharedWatch = (
  organisation: string,
  topics: ReadonlyArray<string>,
  tell: (message: LiveMessage) => void
) => {
  if (!("locks" in navigator) || typeof BroadcastChannel === "undefined" || topics.length === 0)
    return { want: () => () => undefined, stop: () => undefined }
  const self = crypto.randomUUID()
  const channel = new BroadcastChannel(`svc.watch.${organisation}`)
  const end = new AbortController()
  /** What each tab wants besides the topics of all. */
  const wanted = new Map<string, ReadonlyArray<string>>()
  let own: ReadonlyArray<string> = []
  let position = ""
  let isLeader = false
  let isOpen = false
  /** Whether this tab was told of changes before, by its own stream or that of another. */
  let hasFollowed = false
  let stream: AbortController | undefined

  const pass = (told: LiveMessage) => {
    tell(told)
    channel.postMessage({ told, position } satisfies Told)
  }
  const announce = () => {
    wanted.set(self, own)
    if (isLeader) stream?.abort()
    else channel.postMessage({ wants: own, from: self } satisfies Told)
  }
  channel.addEventListener("message", ({ data }: MessageEvent<Told>) => {
    if ("told" in data) {
      position = data.position
      hasFollowed = true
      tell(data.told)
    } else if ("asks" in data) announce()
    else {
      const before = JSON.stringify(wanted.get(data.from) ?? [])
      // Each tab that opens says what it wants, most of them nothing.
      if (data.wants.length === 0) wanted.delete(data.from)
      else wanted.set(data.from, data.wants)
      if (!isLeader) return
      if (before !== JSON.stringify(data.wants)) stream?.abort()
      // It may have come after the stream was opened.
      else if (isOpen) channel.postMessage({ told: { kind: "state", isLive: true }, position } satisfies Told)
    }
  })

  const open = async (): Promise<"again" | "stop"> => {
    stream = new AbortController()
    const runs = [...new Set([...wanted.values()].flat())].slice(0, mostRuns)
    const response = await fetch(`/api/v1/watch?topics=${encodeURIComponent([...topics, ...runs].join(","))}`, {
      headers: {
        ...ownHeaders(),
        accept: "text/event-stream",
        ...(position === "" ? {} : { "last-event-id": position })
      },
      signal: AbortSignal.any([stream.signal, end.signal])
    })
    if (response.status === 401 || response.status === 403 || response.status === 404) return "stop"
    if (!response.ok || response.body === null) throw new Error(`watch: ${response.status}`)
    isOpen = true
    pass({ kind: "state", isLive: true })
    // What was missed meanwhile is not told.
    if (hasFollowed && position === "") pass({ kind: "reset" })
    hasFollowed = true
    await readEvents(response.body, (event) => {
      if (event.id !== "") position = event.id
      const message = parsed(event)
      if (message !== undefined) pass(message)
    })
    return "again"
  }

  /** Reads the stream as long as this tab leads. */
  const lead = async () => {
    isLeader = true
    wanted.set(self, own)
    channel.postMessage({ asks: true } satisfies Told)
    for (let pause = firstPause; !end.signal.aborted;) {
      try {
        if ((await open()) === "stop") return
        pause = firstPause
      } catch {
        // Another set of runs is watched from now on, or the stream broke off.
        if (stream?.signal.aborted === true) continue
      } finally {
        isOpen = false
      }
      if (end.signal.aborted) return
      pass({ kind: "state", isLive: false })
      await new Promise((resolve) => setTimeout(resolve, pause))
      pause = Math.min(longestPause, pause * 2)
    }
  }
  announce()
  void navigator.locks.request(`svc.watch.${organisation}`, { signal: end.signal }, lead).catch(() => undefined)

  return {
    /** Watches one run, until the function that is returned is called. */
    want: (topic: string) => {
      own = [...own, topic]
      announce()
      return () => {
        own = own.filter((one, at) => at !== own.indexOf(topic) || one !== topic)
        announce()
      }
    },
    stop: () => {
      own = []
      announce()
      end.abort()
      channel.close()
    }
  }
}
