import { scaled } from "./slowness.js"

/** How long a test waits for what must come: half of its own limit. */
const patienceMillis = 60_000

/**
 * Repeats the request until `found` accepts the answer. Fails after `millis`, longer on a slow machine. The pauses grow with the time waited: a poll
 * takes the computing time that the service needs to get there.
 */
export const eventually = async <A>(
  ask: () => Promise<A>,
  found: (answer: A) => boolean,
  millis = patienceMillis
): Promise<A> => {
  const started = performance.now()
  const patience = scaled(millis)
  for (;;) {
    const answer = await ask()
    if (found(answer)) return answer
    const waited = performance.now() - started
    if (waited > patience) throw new Error(`not within ${patience} ms: ${shortened(JSON.stringify(answer) ?? "")}`)
    await new Promise((resolve) => setTimeout(resolve, Math.min(10 + waited / 8, 150)))
  }
}

/** What was found first tells what it is, and the end how far it came. */
const shortened = (text: string): string =>
  text.length < 3_000 ? text : `${text.slice(0, 1_000)} … ${text.slice(-2_000)}`
