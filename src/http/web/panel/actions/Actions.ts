/**
 * The actions that a person has started, and how each ended, also while other views are shown. Each press has an
 * Idempotency-Key, which is kept until there is an answer, so that pressing again does not start the workflow twice.
 */
import type { Parent } from "../frame/Parent.js"
import { asPanelError, type PanelError, sessionEnded } from "../session/Errors.js"
import { bodyOf, type PanelSchemas, type PanelSession } from "../session/Session.js"
import { makeShared, type Shared } from "../Store.js"

type StartedRun = PanelSchemas["EmbeddedRun"]
type OfferedAction = PanelSchemas["EmbeddedSession"]["features"]["actions"][number]

/** How a run has ended. */
export type ActionEnd = Exclude<StartedRun["status"], "pending" | "running">

/** What became of the last press of an action. */
export type ActionState =
  | { readonly status: "starting" }
  /** The run goes on, and is asked after. */
  | { readonly status: "running" }
  /** The run goes on, and nothing more is known of it. */
  | { readonly status: "started" }
  /** `message`: what the workflow says, or why it failed. */
  | { readonly status: "ended"; readonly end: ActionEnd; readonly message: string | null }
  | { readonly status: "refused"; readonly error: PanelError }

/** Whether an action can not be started again yet. */
export const isBusy = (state: ActionState | undefined): boolean =>
  state?.status === "starting" || state?.status === "running"

/** The actions by their ids. */
export interface Actions {
  readonly all: Shared<ReadonlyMap<string, ActionState>>
  /** The id of the run that was started last. */
  readonly newest: Shared<string | null>
  /** Starts an action, unless it runs. Resolves with what became of the press once there is an answer. */
  readonly start: (
    action: Pick<OfferedAction, "id" | "workflowId">,
    input: Record<string, unknown>
  ) => Promise<ActionState>
  /** Forgets what became of an action, unless it runs. */
  readonly forget: (id: string) => void
}

/** Milliseconds between questions: at first, at most, and how they grow; more of them with several runs. */
const pauses = { first: 1_500, longest: 15_000, growth: 1.4 } as const

const pause = (millis: number) => new Promise<void>((resolve) => void setTimeout(resolve, millis))

const makeKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("")

/** Whether an answer leaves open what became of the press. */
const isOpenAnswer = ({ code, status }: PanelError): boolean =>
  status === 0 ||
  status === 401 ||
  status === 408 ||
  status === 429 ||
  status >= 500 ||
  code === "IDEMPOTENCY_IN_PROGRESS"

const hasEnded = (status: StartedRun["status"]): status is ActionEnd => status !== "pending" && status !== "running"

/** `changed`: called when a run has begun or ended. `isReadable`: whether the session sees its runs. */
export const makeActions = (
  { client, whenOpen }: PanelSession,
  parent: Parent,
  { changed, isReadable }: { readonly changed: () => void; readonly isReadable: () => boolean }
): Actions => {
  const all = makeShared<ReadonlyMap<string, ActionState>>(new Map())
  const newest = makeShared<string | null>(null)
  /** Of presses without an answer: the key, and the input that it belongs to. */
  const keys = new Map<string, { readonly key: string; readonly input: string }>()

  const become = (id: string, state: ActionState): ActionState => {
    all.set(new Map([...all.get(), [id, state]]))
    return state
  }
  const keyFor = (id: string, input: string): string => {
    const before = keys.get(id)
    // Another input is another wish: the API would refuse it with the key of the first.
    const key = before?.input === input ? before.key : makeKey()
    keys.set(id, { key, input })
    return key
  }
  const tell = (id: string, executionId: string, status: StartedRun["status"]): void => {
    parent.post("svc:action", { action: id, executionId, status })
    newest.set(executionId)
    changed()
  }

  const executionOf = async (executionId: string) => {
    const path = { eid: executionId }
    return (await bodyOf(client.GET("/api/v1/executions/{eid}", { params: { path } }))).data
  }

  const countRunning = () => [...all.get().values()].filter(({ status }) => status === "running").length

  /** Asks until the run has ended, or can no longer be seen. */
  const followUp = async (id: string, executionId: string): Promise<void> => {
    let millis: number = pauses.first
    let least = 0
    for (;;) {
      await pause(Math.max(least, Math.min(pauses.longest, millis * Math.max(1, countRunning()))))
      least = 0
      millis = Math.min(pauses.longest, millis * pauses.growth)
      try {
        const { error, status } = await executionOf(executionId)
        if (!hasEnded(status)) continue
        become(id, { status: "ended", end: status, message: error?.message ?? null })
        return tell(id, executionId, status)
      } catch (cause) {
        const error = asPanelError(cause)
        if (error.code === sessionEnded) await whenOpen()
        if (error.status === 404 || error.status === 403) return void become(id, { status: "started" })
        least = (error.retryAfter ?? 0) * 1_000
      }
    }
  }

  const answered = (id: string, { executionId, message, status }: StartedRun): ActionState => {
    const isFollowed = !hasEnded(status) && isReadable()
    const state = become(
      id,
      hasEnded(status) ? { status: "ended", end: status, message } : { status: isFollowed ? "running" : "started" }
    )
    tell(id, executionId, status)
    if (isFollowed) void followUp(id, executionId)
    return state
  }

  const start: Actions["start"] = async ({ id, workflowId }, input) => {
    const before = all.get().get(id)
    if (before !== undefined && isBusy(before)) return before
    become(id, { status: "starting" })
    const key = keyFor(id, JSON.stringify(input))
    const params = { path: { workflowId }, header: { "Idempotency-Key": key } }
    try {
      const run = await bodyOf(client.POST("/api/v1/workflows/{workflowId}/run", { params, body: { input } }))
      keys.delete(id)
      return answered(id, run)
    } catch (cause) {
      const error = asPanelError(cause)
      if (!isOpenAnswer(error)) keys.delete(id)
      return become(id, { status: "refused", error })
    }
  }

  const forget: Actions["forget"] = (id) => {
    if (isBusy(all.get().get(id))) return
    all.set(new Map([...all.get()].filter(([one]) => one !== id)))
  }

  return { all, newest, start, forget }
}
