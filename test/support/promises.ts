/**
 * What svc promises, whatever the speed of the machine: nothing acknowledged is lost, doubled or repeated, nobody sees what is
 * another's, no secret is in the clear. A test that finds a promise broken fails for good: `scripts/test/Reruns.mjs` runs other
 * failed files again.
 */
import { eventually } from "./eventually.js"

/** How the message begins that the runner of tests looks for, also in the cause of another error. */
const mark = "BROKEN PROMISE: "

export class BrokenPromise extends Error {
  override readonly name = "BrokenPromise"
  constructor(what: string, cause?: unknown) {
    super(`${mark}${what}${cause instanceof Error ? `: ${cause.message}` : ""}`, { cause })
  }
}

/** Runs the assertions of a promise: what they find is final. They must wait for nothing. */
export const promised = (what: string, check: () => void): void => {
  try {
    check()
  } catch (cause) {
    throw cause instanceof BrokenPromise ? cause : new BrokenPromise(what, cause)
  }
}

export interface Counted<A> {
  readonly what: string
  readonly ask: () => Promise<A>
  /** Whether everything has come. */
  readonly found: (answer: A) => boolean
  /** How much is still under way. Throws if that cannot be told. */
  readonly underWay: () => Promise<number>
  readonly millis?: number
}

/**
 * Waits until everything has come. When the time is over, tells what is late from what is lost: if nothing is under way and
 * something is still missing, a promise is broken.
 */
export const counted = async <A>({ ask, found, millis, underWay, what }: Counted<A>): Promise<A> => {
  try {
    return await eventually(ask, found, millis)
  } catch (late) {
    if ((await underWay()) > 0) throw late
    const answer = await ask()
    if (found(answer)) return answer
    throw new BrokenPromise(`${what}: nothing is under way, and this is all: ${JSON.stringify(answer)}`, late)
  }
}
