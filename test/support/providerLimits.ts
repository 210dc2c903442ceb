/** Whether the calls that a provider saw keep a limit, on a machine that may let it see them late. */
import { assert } from "@effect/vitest"

/**
 * `times`: when calls arrived, and `began`: a moment before the first was granted, in Unix milliseconds. The service counts a call
 * when it grants it; the provider sees it later, never earlier, on a busy machine by a second. So half a window has no more calls
 * than a whole one may, and since the beginning there were never more than its windows allow.
 */
export const assertKeepsLimit = (
  times: ReadonlyArray<number>,
  began: number,
  limit: { readonly requests: number; readonly perSeconds: number }
) => {
  const sorted = times.toSorted((one, other) => one - other)
  const window = limit.perSeconds * 1_000
  const seen = JSON.stringify(sorted.map((at) => at - began))
  for (const [before, at] of sorted.entries()) {
    const within = sorted.slice(before).filter((other) => other - at < window / 2).length
    assert.isAtMost(within, limit.requests, seen)
    const windows = Math.floor((at - began) / window) + 1
    assert.isAtMost(before + 1, windows * limit.requests, seen)
  }
}
