/** Repeats an effect until its result is the expected one; the bound ends a test before its own does. */
export const eventually = async <A>(
  ask: () => Promise<A>,
  isIt: (answer: A) => boolean,
  millis = 20_000
): Promise<A> => {
  const until = performance.now() + millis
  for (;;) {
    const answer = await ask()
    if (isIt(answer)) return answer
    if (performance.now() > until) throw new Error(`still ${JSON.stringify(answer)}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
