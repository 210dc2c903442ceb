/** The steps of a run: those that come with it, those that are read after them, and what changes while it goes on. */
import { useQueryClient } from "@tanstack/react-query"
import { useCallback, useEffect, useMemo, useState } from "react"
import { type ApiSchemas, read } from "../../api/Client.js"
import { mergeSteps, stepsOf, type TraceStep } from "./trace.js"

type Execution = ApiSchemas["Execution"]

/** How long a picture of a run that goes on may be old, in milliseconds. */
const liveMillis = 1_000

const isOpen = ({ status }: Execution): boolean => status === "pending" || status === "running"

/** `first`: the run as it was read. `more` reads the steps that a long run has beyond those. */
export const useTrace = (first: Execution) => {
  const queries = useQueryClient()
  const [further, setFurther] = useState<ReadonlyArray<TraceStep>>([])
  const [isReadingMore, setReadingMore] = useState(false)
  const [isWhole, setWhole] = useState(first.stepsTruncated !== true)
  const isLive = isOpen(first)

  useEffect(() => {
    if (!isLive) return undefined
    const timer = setInterval(
      () =>
        void queries.invalidateQueries({
          queryKey: ["/api/v1/executions/{eid}", { params: { path: { eid: first.id } } }]
        }),
      liveMillis
    )
    return () => clearInterval(timer)
  }, [first.id, isLive, queries])

  const more = useCallback(async () => {
    setReadingMore(true)
    try {
      for (let cursor = ""; ;) {
        const { data, page } = await read("/api/v1/executions/{eid}/steps", {
          params: { path: { eid: first.id }, query: { page_size: 200, ...(cursor === "" ? {} : { cursor }) } }
        })
        setFurther((before) => mergeSteps(before, stepsOf(data)))
        if (page.nextCursor === null) break
        cursor = page.nextCursor
      }
      setWhole(true)
    } finally {
      setReadingMore(false)
    }
  }, [first.id])

  const embedded = useMemo(() => stepsOf(first.steps), [first.steps])
  return {
    run: first,
    steps: further.length === 0 ? embedded : mergeSteps(further, embedded),
    hasMore: !isWhole,
    isReadingMore,
    more: () => void more()
  }
}
