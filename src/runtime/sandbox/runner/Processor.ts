/** The two clocks of a runner. */

/** Milliseconds of the monotonic clock. */
export const wallMillis = (): number => performance.now()

/** Milliseconds of CPU time of this process. */
export const processorMillis = (): number => {
  const { system, user } = process.cpuUsage()
  return (user + system) / 1000
}
