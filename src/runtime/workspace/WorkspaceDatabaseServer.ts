/** The Postgres server of the workspaces: opened at first use, and retried after a failure with back-off. */
import { reasonOf } from "../process/OperatorError.js"
import {
  openWorkspaceDatabases,
  type WorkspaceDatabases,
  type WorkspaceDatabasesOptions
} from "./WorkspaceDatabases.js"

export type WorkspaceDatabaseServer = ReturnType<typeof makeWorkspaceDatabaseServer>

/** Back-off. The first pauses are short, for a server that is starting. */
const retryMillis = { first: 500, most: 30_000 }

export const makeWorkspaceDatabaseServer = (options: WorkspaceDatabasesOptions) => {
  let opened: Promise<WorkspaceDatabases> | undefined
  let failedAt = -Infinity
  let pause = retryMillis.first
  let failure = ""
  let ready = false
  const get = (): Promise<WorkspaceDatabases> => {
    if (opened === undefined || (failure !== "" && performance.now() - failedAt > pause)) {
      failure = ""
      opened = openWorkspaceDatabases(options)
      opened.then(
        () => {
          ready = true
          pause = retryMillis.first
        },
        (error: unknown) => {
          failedAt = performance.now()
          pause = Math.min(2 * pause, retryMillis.most)
          failure = reasonOf(error)
        }
      )
    }
    return opened
  }
  return {
    get,
    /** Why it cannot be used; empty if it can, or if it was not yet used. */
    failure: () => failure,
    isReady: () => ready,
    close: async () => (await opened?.catch(() => undefined))?.close()
  }
}
