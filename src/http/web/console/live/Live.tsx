/** Keeps what pages show up to date: changes are told by the watch, upon which what is shown of them is read again. */
import { type InfiniteData, type QueryClient, useQueryClient } from "@tanstack/react-query"
import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef, useState } from "react"
import type { ReadPath } from "../api/Client.js"
import { may, useMe } from "../api/Session.js"
import { ReadPace } from "./ReadPace.js"
import { type LiveMessage, startSharedWatch } from "./SharedWatch.js"

/** Each topic with its permission, the list of its records, and what else shows them. */
const topics: Readonly<
  Record<string, { readonly needs?: string; readonly list: ReadPath; readonly others: ReadonlyArray<ReadPath> }>
> = {
  executions: { needs: "executions:read", list: "/api/v1/executions", others: ["/api/v1/approvals"] },
  events: { needs: "events:read", list: "/api/v1/events", others: ["/api/v1/events/{evt}", "/api/v1/dlq"] },
  connections: { needs: "connections:read", list: "/api/v1/connections", others: ["/api/v1/connections/{conn}"] },
  triggers: { needs: "workflows:read", list: "/api/v1/triggers", others: ["/api/v1/triggers/{trg}"] },
  notifications: { list: "/api/v1/notifications", others: [] }
}
/** A list of more pages is not read again by itself: its rows take their new status from the messages. */
const mostPages = 4

interface Row {
  readonly id: string
  readonly status: string
}
type Pages = InfiniteData<{ readonly data: ReadonlyArray<Row> }>

interface Live {
  /** Whether changes are told; otherwise pages poll. */
  readonly isLive: boolean
  /** Calls `listen` for each message of one run until the returned function is called. */
  readonly watchRun: (id: string, listen: (status: string) => void) => () => void
}

const Context = createContext<Live>({ isLive: false, watchRun: () => () => undefined })

export const useLive = () => useContext(Context)

/** Milliseconds between polls of what the watch tells; `undefined` while it does. */
export const usePolls = (millis: number): number | undefined => (useLive().isLive ? undefined : millis)

export const LiveProvider = ({ children }: { readonly children: ReactNode }) => {
  const me = useMe()
  const queries = useQueryClient()
  const [isLive, setLive] = useState(false)
  const listeners = useRef(new Map<string, ReadonlySet<(status: string) => void>>())
  const watch = useRef<ReturnType<typeof startSharedWatch>>(undefined)
  const permitted = Object.keys(topics)
    .filter((topic) => topics[topic]?.needs === undefined || may(me, topics[topic].needs))
    .join()

  useEffect(() => {
    const readAgain = makeReadAgain(queries)
    const tell = (message: LiveMessage) => {
      if (message.kind === "state") setLive(message.isLive)
      else if (message.kind === "reset") Object.keys(topics).forEach((topic) => readAgain(topic, false))
      else if (message.topic.startsWith("execution:")) {
        const status = message.kind === "change" ? message.status : ""
        for (const listen of listeners.current.get(message.topic) ?? []) listen(status)
      } else {
        if (message.kind === "change") patch(queries, message)
        readAgain(message.topic, message.kind === "many")
      }
    }
    const started = startSharedWatch(me.organisation.id, permitted.split(",").filter(Boolean), tell)
    watch.current = started
    const ended = [...listeners.current.keys()].map((topic) => started.want(topic))
    return () => {
      ended.forEach((end) => end())
      started.stop()
    }
  }, [me.organisation.id, permitted, queries])

  const live = useMemo<Live>(
    () => ({
      isLive,
      watchRun: (id, listen) => {
        const topic = `execution:${id}`
        listeners.current.set(topic, new Set([...(listeners.current.get(topic) ?? []), listen]))
        const end = watch.current?.want(topic)
        return () => {
          const left = new Set([...(listeners.current.get(topic) ?? [])].filter((one) => one !== listen))
          if (left.size === 0) listeners.current.delete(topic)
          else listeners.current.set(topic, left)
          end?.()
        }
      }
    }),
    [isLive]
  )
  return <Context.Provider value={live}>{children}</Context.Provider>
}

/** Gives the row of a changed record its new status, wherever it is shown in a list. */
const patch = (queries: QueryClient, { id, status, topic }: Extract<LiveMessage, { kind: "change" }>): void => {
  const list = topics[topic]?.list
  if (list === undefined || status === "") return
  queries.setQueriesData<Pages>({ queryKey: [list] }, (before) => {
    if (before?.pages?.some((page) => page.data.some((row) => row.id === id && row.status !== status)) !== true)
      return before
    const pages = before.pages.map((page) => ({
      ...page,
      data: page.data.map((row) => (row.id === id ? { ...row, status } : row))
    }))
    return { ...before, pages }
  })
}

/** Reads what shows a topic again, at its pace, however many changes come. */
const makeReadAgain = (queries: QueryClient) => {
  const waiting = new Set<string>()
  const paces = new Map<string, ReadPace>()
  const read = (topic: string, pace: ReadPace) => {
    waiting.delete(topic)
    pace.read(Date.now())
    const found = topics[topic]
    if (found === undefined) return
    const isShort = (data: unknown) => ((data as Partial<Pages> | undefined)?.pages?.length ?? 1) <= mostPages
    void queries.invalidateQueries({ queryKey: [found.list], predicate: ({ state }) => isShort(state.data) })
    for (const path of found.others) void queries.invalidateQueries({ queryKey: [path] })
  }
  return (topic: string, isMany: boolean): void => {
    const pace = paces.get(topic) ?? new ReadPace()
    paces.set(topic, pace)
    const pause = pace.changed(isMany, Date.now())
    if (waiting.has(topic)) return
    if (pause === 0) return read(topic, pace)
    waiting.add(topic)
    setTimeout(() => read(topic, pace), pause)
  }
}
