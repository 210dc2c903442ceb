/**
 * Attempts to sign in at a provider: each has a window of its own, and the panel asks the API until it is over. Neither the
 * window's opener nor whether it is closed says anything: a provider may cut both off.
 */
import { makeShared, type Shared } from "../Store.js"
import { asPanelError, type PanelError, sessionEnded } from "../session/Errors.js"
import { bodyOf, type PanelSchemas, type PanelSession } from "../session/Session.js"

type Opened = PanelSchemas["OpenedEmbeddedConnection"]

/** What an attempt is for. */
export interface AttemptTarget {
  readonly connector: string
  /** As people know it. */
  readonly name: string
}

/** One attempt. `connectUrl`: for a link, if no window could be opened or it was lost. */
export interface SignInAttempt {
  readonly id: number
  readonly target: AttemptTarget
  readonly connectUrl: string | null
  readonly isBlocked: boolean
  readonly status: "waiting" | "failed" | "expired"
  /** What the provider, or the service, said. */
  readonly error: string | null
}

export interface Attempts {
  readonly all: Shared<ReadonlyArray<SignInAttempt>>
  /**
   * Begins an attempt. Call it while a click is handled: the window is opened at once, and led to the page for signing in when
   * the API has answered. Rejects with `PanelError` if it refused.
   */
  readonly begin: (target: AttemptTarget, ask: () => Promise<Opened>) => Promise<void>
  /** Forgets an attempt. Its window stays. */
  readonly dismiss: (id: number) => void
}

const startPath = "/embed/start"
/** Milliseconds between questions: at first, and after a minute; more of them with several attempts. */
const pauses = { first: 1_500, later: 4_000, changeAfter: 60_000 } as const

const pause = (millis: number) => new Promise<void>((resolve) => void setTimeout(resolve, millis))

const isWebAddress = (url: string): boolean => /^https?:\/\//.test(url)

/** Calls `completed` for each account that was connected, and `failed` for each attempt that did not connect one. */
export const makeAttempts = (
  { client, whenOpen }: PanelSession,
  completed: (target: AttemptTarget, connectionId: string) => void,
  failed: (target: AttemptTarget, connectionId: string, message: string) => void
): Attempts => {
  const all = makeShared<ReadonlyArray<SignInAttempt>>([])
  let last = 0
  const isThere = (id: number) => all.get().some((one) => one.id === id)
  const dismiss = (id: number) => all.set(all.get().filter((one) => one.id !== id))
  const change = (id: number, changes: Partial<SignInAttempt>) =>
    all.set(all.get().map((one) => (one.id === id ? { ...one, ...changes } : one)))

  const progressOf = async (connectSessionId: string) => {
    const path = { cs: connectSessionId }
    return (await bodyOf(client.GET("/api/v1/embed/connect-sessions/{cs}", { params: { path } }))).data
  }

  /** Asks until the attempt is over. */
  const followUp = async (
    { id, target }: SignInAttempt,
    opened: { readonly connectionId: string; readonly connectSessionId: string },
    close: () => void
  ): Promise<void> => {
    const begun = Date.now()
    let millis: number = pauses.first
    while (isThere(id)) {
      await pause(millis * Math.max(1, all.get().filter(({ status }) => status === "waiting").length))
      if (!isThere(id)) return
      millis = Date.now() - begun > pauses.changeAfter ? pauses.later : pauses.first
      try {
        const { error, status } = await progressOf(opened.connectSessionId)
        if (status === "completed") {
          close()
          dismiss(id)
          return completed(target, opened.connectionId)
        }
        if (status !== "open") {
          change(id, { status, error })
          return failed(target, opened.connectionId, error ?? status)
        }
      } catch (cause) {
        const error = asPanelError(cause)
        if (error.code === sessionEnded) await whenOpen()
        if (error.status === 404) return change(id, { status: "expired" })
        millis = Math.max(pauses.later, (error.retryAfter ?? 0) * 1_000)
      }
    }
  }

  const begin: Attempts["begin"] = async (target, ask) => {
    // A page of the service: the panel may lead it elsewhere, and it is there before the API has answered.
    const opened = window.open(startPath, "_blank", "popup,width=600,height=760")
    const close = () => opened?.close()
    let answer: Opened
    try {
      // What is shown in the window later cannot lead this page elsewhere.
      if (opened !== null) opened.opener = null
      answer = await ask()
    } catch (cause) {
      close()
      throw cause as PanelError
    }
    const { connectSessionId, connectUrl, id: connectionId } = answer
    if (connectUrl === undefined || connectSessionId === undefined || !isWebAddress(connectUrl)) {
      close()
      return completed(target, connectionId)
    }
    opened?.location.replace(connectUrl)
    const attempt: SignInAttempt = {
      id: (last += 1),
      target,
      connectUrl,
      isBlocked: opened === null,
      status: "waiting",
      error: null
    }
    all.set([...all.get(), attempt])
    void followUp(attempt, { connectionId, connectSessionId }, close)
  }

  return { all, begin, dismiss }
}
