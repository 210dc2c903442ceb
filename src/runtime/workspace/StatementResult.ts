/** Parses a statement's result into JSON, in slices that yield to the event loop. */
import type { DbResult } from "../../actors/ports/run/WorkspaceDb.js"
import type { Json } from "../../domain/Json.js"
import { workspaceDb } from "../../domain/Limits.js"
import type { RawResult } from "./DatabaseSession.js"
import { type Budget, Unreadable, valueOf } from "./Values.js"

/** Rejects with `Unreadable`. */
export const readResult = async ({ fields, rowCount, rows }: RawResult): Promise<DbResult> => {
  const budget: Budget = { left: workspaceDb.values }
  const names = fields.map(({ name }) => name)
  const nameBytes = names.reduce((sum, name) => sum + JSON.stringify(name).length + 2, 2)
  const read: Array<Json> = []
  let bytes = 0
  let began = performance.now()
  for (const row of rows) {
    const values: Array<readonly [string, Json]> = []
    bytes += nameBytes
    for (let column = 0; column < row.length; column++) {
      const text = row[column] ?? null
      const value = text === null ? null : valueOf(fields[column]?.type ?? 0, text, budget)
      bytes += text === null ? 4 : typeof value === "string" ? JSON.stringify(value).length : text.length
      values.push([names[column] ?? "", value])
      if (bytes > workspaceDb.resultBytes) throw new Unreadable("TOO_LARGE", resultTooLarge)
      // A value is at most 8 MiB: yields after a large one.
      if (text !== null && text.length > sliceLength) began = await pause()
    }
    // Unlike an assignment, this handles a column `__proto__` like any other.
    read.push(Object.fromEntries(values))
    if (performance.now() - began > sliceMillis) began = await pause()
  }
  return { rows: read, rowCount, fields }
}

export const resultTooLarge = `the result has more than ${workspaceDb.rows} rows or ${workspaceDb.resultBytes} bytes: use LIMIT`

/** How long rows are parsed before the loop yields. */
const sliceMillis = 10
const sliceLength = 256 * 1024

const pause = (): Promise<number> => new Promise((resolve) => setImmediate(() => resolve(performance.now())))
