/** Cancels the chosen runs, or runs them again, a few at a time. */
import { useState } from "react"
import { type ApiError, bodyOf, client } from "../../api/Client.js"
import { type ListRow, useReadAgain } from "../../api/Reads.js"
import { Button } from "../../ui/Button.js"
import { Confirm } from "../../ui/Dialog.js"
import { useToast } from "../../ui/Toasts.js"

type Execution = ListRow<"/api/v1/executions">

const atOnce = 4

/** Does `work` for all, and returns how many succeeded, with the first failure. */
const forEach = async (ids: ReadonlyArray<string>, work: (id: string) => Promise<unknown>) => {
  const left = [...ids]
  let done = 0
  let failure: ApiError | null = null
  const next = async (): Promise<void> => {
    for (let id = left.shift(); id !== undefined; id = left.shift()) {
      try {
        await work(id)
        done += 1
      } catch (cause) {
        failure ??= cause as ApiError
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, next))
  return { done, failure }
}

const cancel = (eid: string) => bodyOf(client.POST("/api/v1/executions/{eid}/cancel", { params: { path: { eid } } }))
const rerun = (eid: string) =>
  bodyOf(client.POST("/api/v1/executions/{eid}/rerun", { params: { path: { eid } }, body: { mode: "fresh" } }))

const kinds = {
  cancel: { verb: "Cancel", done: "cancelled", work: cancel },
  rerun: { verb: "Run again", done: "started again", work: rerun }
} as const

export const BulkActions = ({
  clear,
  runs
}: {
  readonly runs: ReadonlyArray<Execution>
  readonly clear: () => void
}) => {
  const [kind, setKind] = useState<keyof typeof kinds>()
  const [isRunning, setRunning] = useState(false)
  const [error, setError] = useState<ApiError | null>(null)
  const readAgain = useReadAgain()
  const tell = useToast()
  if (runs.length === 0) return null
  const open = runs.filter(({ status }) => status === "pending" || status === "running")
  const ended = runs.filter(({ status }) => status !== "pending" && status !== "running")
  const chosen = kind === "cancel" ? open : ended
  const send = async () => {
    if (kind === undefined) return
    setRunning(true)
    const { done, failure } = await forEach(
      chosen.map(({ id }) => id),
      kinds[kind].work
    )
    setRunning(false)
    setError(failure)
    await readAgain(["/api/v1/executions"])
    tell(`${done} of ${chosen.length} runs were ${kinds[kind].done}.`)
    if (failure !== null) return
    setKind(undefined)
    clear()
  }
  return (
    <>
      <span>{runs.length} chosen</span>
      <Button needs="executions:create" disabled={ended.length === 0} onClick={() => setKind("rerun")}>
        {`Run ${ended.length} again`}
      </Button>
      <Button needs="executions:create" kind="danger" disabled={open.length === 0} onClick={() => setKind("cancel")}>
        {`Cancel ${open.length}`}
      </Button>
      <Button kind="plain" onClick={clear}>
        Choose none
      </Button>
      {kind !== undefined && (
        <Confirm
          title={`${kinds[kind].verb}: ${chosen.length} runs?`}
          verb={kinds[kind].verb}
          isOpen
          close={() => {
            setKind(undefined)
            setError(null)
          }}
          send={() => void send()}
          isRunning={isRunning}
          error={error}
        >
          <p>
            {kind === "cancel"
              ? "What they have done stays done; the calls that they make now are aborted."
              : "Each is started with its own input, on its own version, and makes all its calls again."}
          </p>
        </Confirm>
      )}
    </>
  )
}
