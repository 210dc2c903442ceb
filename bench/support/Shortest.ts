/** Times of work in this process. */

const rounds = 7

/** The shortest time of some rounds, in milliseconds. */
export const shortest = (work: () => void): number => {
  const times = Array.from({ length: rounds }, () => {
    const from = performance.now()
    work()
    return performance.now() - from
  })
  return Math.min(...times)
}
