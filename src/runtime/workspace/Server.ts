/** The Postgres server of the workspaces: opened at first use, and asked again some time after a failure. */
import type { Redacted } from "effect"
import { reasonOf } from "../Refusal.js"
import { open, type Workspaces } from "./Workspaces.js"

export interface Server {
  readonly get: () => Promise<Workspaces>
  /** Why it cannot be used; empty when it can, or when nobody asked yet. */
  readonly failure: () => string
  readonly isReady: () => boolean
  readonly close: () => Promise<void>
}

/** Pause before a server that could not be used is asked again. */
const retryMillis = 30_000

export const makeServer = (options: {
  readonly admin: Redacted.Redacted
  readonly pepper: Redacted.Redacted
}): Server => {
  let opened: Promise<Workspaces> | undefined
  let failedAt = -Infinity
  let failure = ""
  let ready = false
  const get = (): Promise<Workspaces> => {
    if (opened === undefined || (failure !== "" && performance.now() - failedAt > retryMillis)) {
      failure = ""
      opened = open(options)
      opened.then(
        () => {
          ready = true
        },
        (error: unknown) => {
          failedAt = performance.now()
          failure = reasonOf(error)
        }
      )
    }
    return opened
  }
  return {
    get,
    failure: () => failure,
    isReady: () => ready,
    close: async () => (await opened?.catch(() => undefined))?.close()
  }
}
