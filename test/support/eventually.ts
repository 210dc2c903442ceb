/**
 * Repeats the request until `found` accepts the answer. Fails after `millis`. The pauses grow with the time waited: a poll
 * takes the computing time that the service needs to get there.
 */
export const eventually = async <A>(
  ask: () => Promise<A>,
  found: (answer: A) => boolean,
  millis = 30_000
): Promise<A> => {
  const started = performance.now()
  for (;;) {
    const answer = await ask()
    if (found(answer)) return answer
    const waited = performance.now() - started
    if (waited > millis) throw new Error(`not within ${millis} ms: ${JSON.stringify(answer)?.slice(0, 3_000)}`)
    await new Promise((resolve) => setTimeout(resolve, Math.min(10 + waited / 8, 150)))
  }
}
