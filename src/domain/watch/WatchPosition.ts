/**
 * The position of a watch as its client knows it: the id of an event of the stream, which it sends to continue. It is signed, so
 * that no client makes one up from which all changes would be read.
 */
import { Option } from "effect"
import { type CommitPosition, positionText, readPosition } from "./CommitPosition.js"

export interface WatchPosition {
  /** When it was read, by Postgres' clock, in Unix milliseconds. */
  readonly at: number
  readonly commits: CommitPosition
}

/** What signs positions, the same on all nodes. */
interface Signer {
  readonly keyHash: (text: string) => string
  readonly equal: (a: string, b: string) => boolean
}

const signature = ({ keyHash }: Signer, text: string) => keyHash(`watch|${text}`).slice(0, 24)

const pattern = /^([\w-]{24})\.((\d{1,15})-([\d:,]*))$/

/** Reads `Last-Event-ID`. None: it is no id of a watch. */
export const readWatchPosition = (signer: Signer, text: string): Option.Option<WatchPosition> => {
  const [, signed = "", body = "", at, commits = ""] = pattern.exec(text) ?? []
  return at === undefined || !signer.equal(signed, signature(signer, body))
    ? Option.none()
    : Option.map(readPosition(commits), (position) => ({ at: Number(at), commits: position }))
}

/** As `readWatchPosition` reads it. */
export const watchPositionText = (signer: Signer, { at, commits }: WatchPosition): string => {
  const body = `${Math.round(at)}-${positionText(commits)}`
  return `${signature(signer, body)}.${body}`
}
