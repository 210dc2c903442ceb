/** Turns every failure of a statement into the error that its workflow gets. */
import { DatabaseError } from "pg"
import { DbRefused } from "../../actors/ports/run/WorkspaceDb.js"
import { workspaceDb } from "../../domain/Limits.js"
import { reasonOf } from "../process/OperatorError.js"
import { resultTooLarge } from "./StatementResult.js"
import { NoRowMemory, TooLarge } from "./DatabaseSession.js"
import { Unsendable } from "./Parameters.js"
import { Unreadable } from "./Values.js"

export const dbRefusal = (message: string, code: string, more: Partial<DbRefused> = {}): DbRefused =>
  new DbRefused({ message, code, detail: null, hint: null, position: null, transient: false, ...more })

export const dbOff = (reason: string): DbRefused => dbRefusal(`svc.db is off: ${reason}`, "DB_OFF")

/** More statements and transactions of an organisation at once than may wait. */
export const tooManyAtOnce = (reason: string): DbRefused =>
  dbRefusal(`too many statements and transactions of the organisation at once (${reason}): try again`, "53300", {
    transient: true
  })

export const dbFull = (limit: number): DbRefused =>
  dbRefusal(
    `the workspace's database holds more than its ${limit} bytes: DELETE, TRUNCATE or DROP something first`,
    "53100"
  )

export const tooMuchMemory = (): DbRefused =>
  dbRefusal(`the statement took more than ${workspaceDb.memoryBytes} bytes of memory: work on less at once`, "53200")

const noMemoryMessage =
  "the service holds too many bytes for its size now, or your organisation more than its share: read fewer rows at once, or try again"

/** `offBecause`: why the server cannot be used at all; empty when it can. */
export const dbRefusalOf = (error: unknown, offBecause: string): DbRefused => {
  if (error instanceof DbRefused) return error
  if (error instanceof TooLarge) return dbRefusal(resultTooLarge, "TOO_LARGE")
  if (error instanceof NoRowMemory) return dbRefusal(noMemoryMessage, "MEMORY_BUSY", { transient: true })
  if (error instanceof Unreadable) return dbRefusal(error.message, error.code)
  if (error instanceof Unsendable) return dbRefusal(error.message, "PARAMETER_TYPE")
  if (error instanceof DatabaseError) {
    const code = error.code ?? "XX000"
    return dbRefusal(shorten(error.message), code, {
      detail: error.detail === undefined ? null : shorten(error.detail),
      hint: error.hint === undefined ? null : shorten(error.hint),
      position: error.position === undefined ? null : Number(error.position),
      // Serialization failures, lack of resources and operator intervention are transient; a timeout is the statement's
      // fault.
      transient: /^(40|53|57P|58|08)/.test(code) && !ownFault.has(code)
    })
  }
  return offBecause === ""
    ? dbRefusal(`the database did not answer: ${shorten(reasonOf(error))}`, "UNREACHABLE", { transient: true })
    : dbOff(offBecause)
}

/** Resources that the statement itself used up: disk quota, memory, temporary files. */
const ownFault: ReadonlySet<string> = new Set(["53100", "53200", "53400"])

/** Postgres quotes values of any size in its messages. */
const shorten = (text: string): string =>
  text.length <= workspaceDb.messageLength
    ? text
    : `${text.slice(0, workspaceDb.messageLength).toWellFormed()}… (${text.length} characters)`
