/** The steps of a run: those that come with it, those that are read after them, and what changes while it goes on. */
import { useCallback, useEffect, useMemo, useRef, useState } from "react"
import { type ApiSchemas, read } from "../../api/Client.js"
import { useReadAgain } from "../../api/Reads.js"
import { useLive } from "../../live/Live.js"
import { mergeSteps, stepsOf, type TraceStep } from "./trace.js"

type Execution = ApiSchemas["Execution"]

/** How long a picture of a run that goes on may be old, in milliseconds: while changes are told, and otherwise. */
const toldMillis = 10_000
const polledMillis = 1_000
/** Between two reads of what changed. */
const pace = 250

const isOpen = ({ status }: Execution): boolean => status === "pending" || status === "running"

/** The steps that were written since an earlier answer, or all at first, and the token for the next time. */
const changedSteps = async (eid: string, since: string) => {
  let steps: ReadonlyArray<TraceStep> = []
  for (let token = since; ;) {
    const {
      changedSince = token,
      data,
      page
    } = await read("/api/v1/executions/{eid}/steps", {
      params: { path: { eid }, query: { page_size: 200, changed_since: token } }
    })
    steps = mergeSteps(steps, stepsOf(data))
    if (!page.hasMore) return { steps, token: changedSince }
    token = changedSince
  }
}

/** `first`: the run as it was read. `more` reads the steps that a long run has beyond those. */
export const useTrace = (first: Execution) => {
  const { isLive, watchRun } = useLive()
  const readAgain = useReadAgain()
  const [further, setFurther] = useState<ReadonlyArray<TraceStep>>([])
  const [isReadingMore, setReadingMore] = useState(false)
  const [isWhole, setWhole] = useState(first.stepsTruncated !== true)
  const token = useRef("")
  const reading = useRef<Promise<void>>(undefined)

  /** Reads what has changed; who asks meanwhile gets the same read. */
  const update = useCallback((): Promise<void> => {
    reading.current ??= changedSteps(first.id, token.current)
      .then(({ steps, token: next }) => {
        token.current = next
        setFurther((before) => mergeSteps(before, steps))
        setWhole(true)
      })
      .catch(() => undefined)
      .then(() => new Promise<void>((resolve) => setTimeout(resolve, pace)))
      .finally(() => {
        reading.current = undefined
      })
    return reading.current
  }, [first.id])

  const isGoing = isOpen(first)
  const { status } = first
  useEffect(() => {
    if (!isGoing) return undefined
    const look = (now: string) => {
      void update()
      if (now !== status) void readAgain(["/api/v1/executions/{eid}"])
    }
    look(status)
    const end = watchRun(first.id, look)
    const timer = setInterval(() => look(""), isLive ? toldMillis : polledMillis)
    return () => {
      end()
      clearInterval(timer)
      // What its end has written.
      void update()
    }
  }, [first.id, isGoing, isLive, readAgain, status, update, watchRun])

  const more = useCallback(async () => {
    setReadingMore(true)
    token.current = ""
    await update()
    setReadingMore(false)
  }, [update])

  const embedded = useMemo(() => stepsOf(first.steps), [first.steps])
  const steps = useMemo(
    () => (further.length === 0 ? embedded : isGoing ? mergeSteps(embedded, further) : mergeSteps(further, embedded)),
    [embedded, further, isGoing]
  )
  return { run: first, steps, hasMore: !isWhole, isReadingMore, more: () => void more() }
}
