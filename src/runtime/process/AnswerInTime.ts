/**
 * A time limit on an answer that the event loop has to bring. On a loop that was busy the timer is due before the socket is
 * read: the answer may be there already. So the limit looks again after two turns of the loop.
 */

/** Rejects with `late` unless the answer comes within so many milliseconds, or has come when the loop had its turn. */
export const answerInTime = <A>(answer: Promise<A>, millis: number, late: () => Error): Promise<A> =>
  new Promise((resolve, reject) => {
    let pending = true
    const end = (act: () => void) => {
      pending = false
      clearTimeout(timer)
      act()
    }
    const giveUp = () => {
      if (pending) end(() => reject(late()))
    }
    const timer = setTimeout(() => setImmediate(() => setImmediate(giveUp)), millis)
    answer.then(
      (value) => end(() => resolve(value)),
      (cause: unknown) => end(() => reject(cause instanceof Error ? cause : new Error(String(cause))))
    )
  })
