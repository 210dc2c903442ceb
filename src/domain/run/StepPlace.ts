/** How far the changes of a run's steps were read, and the token that tells a client's next request of it. */
import { Either, Encoding, Option } from "effect"
import { type CommitPosition, firstPosition, positionText, readPosition } from "../watch/CommitPosition.js"
import { isCounter } from "../Scalars.js"

export interface StepPlace {
  readonly since: CommitPosition
  /** The row behind which the next answer begins, of changes that did not fit into one; -1: at the first. */
  readonly after: number
  /** What the answers after these changes follow; `undefined`: the first answer determines it. */
  readonly upTo: CommitPosition | undefined
}

/** Reads a token; an empty one selects all rows. None: it is no token. */
export const readStepPlace = (token: string): Option.Option<StepPlace> => {
  if (token === "") return Option.some({ since: firstPosition, after: -1, upTo: undefined })
  const text = Either.getOrElse(Encoding.decodeBase64UrlString(token), () => "")
  const [row = "", first = "", second, rest] = text.split(" ", 4)
  const after = row === "-1" ? -1 : Number(row)
  const upTo = second === undefined ? Option.some(undefined) : readPosition(second)
  if (rest !== undefined || !(after === -1 || isCounter(after))) return Option.none()
  return Option.all({ since: readPosition(first), after: Option.some(after), upTo })
}

/** The token after an answer, before which `read` was the position. `last`: the row that it ended with, if more follow. */
export const tokenAfter = (place: StepPlace, read: CommitPosition, last: number | undefined): string => {
  const upTo = positionText(place.upTo ?? read)
  return Encoding.encodeBase64Url(last === undefined ? `-1 ${upTo}` : `${last} ${positionText(place.since)} ${upTo}`)
}
