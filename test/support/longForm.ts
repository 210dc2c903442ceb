/**
 * Tests that walk much have two forms: the long one, with `SVC_TEST_LONG=1` (`npm run test:kill` and others), walks all of it; the
 * suite has less, or a sample that is another one each day.
 */

export const isLong = process.env["SVC_TEST_LONG"] === "1"

const day = Math.floor(Date.now() / 86_400_000)

/** Every `parts`-th one, beginning with another one each day and for each `offset`; all in the long form. */
export const sampled = <A>(all: ReadonlyArray<A>, parts: number, offset = 0): ReadonlyArray<A> =>
  isLong ? all : all.filter((_, at) => (at + offset + day) % parts === 0)
