/** Cursors of pages of what an execution has in a fixed order: rows of its trace, lines of its log, entries of its reports. */
import { Effect, Either, Encoding } from "effect"
import { InvalidRequest } from "../../../domain/Failure.js"
import { isCounter } from "../../../domain/Scalars.js"

/** The cursor of a page that begins behind a row. */
export const rowCursor = (row: number): string => Encoding.encodeBase64Url(String(row))

/** The row behind which a page begins; -1: from the beginning. */
export const rowAfter = (cursor: string | undefined): Effect.Effect<number, InvalidRequest> => {
  if (cursor === undefined || cursor === "") return Effect.succeed(-1)
  const line = Number(Either.getOrElse(Encoding.decodeBase64UrlString(cursor), () => "x"))
  return isCounter(line) || line === -1
    ? Effect.succeed(line)
    : new InvalidRequest({ code: "INVALID_CURSOR", message: "the cursor is wrong: begin again without it" })
}
