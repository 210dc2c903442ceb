/** The two clocks of a runner. */

/** Milliseconds of the monotonic clock. */
export const wallMillis = (): number => performance.now()

/** Milliseconds of CPU time of this process. */
export const processorMillis = (): number => {
  const { system, user } = process.cpuUsage()
  return (user + system) / 1000
}

/** A reading of the CPU time is used again for this long. */
const maxAgeMillis = 10

/** The CPU time of this process, read seldom: a reading takes a hundredth of a short turn. */
export class ProcessorTime {
  private millis = 0
  private readAt = -Infinity

  /** Reads the CPU time. */
  read(): number {
    this.millis = processorMillis()
    this.readAt = wallMillis()
    return this.millis
  }

  /** The last reading, if it is recent. */
  recent(): number {
    return wallMillis() - this.readAt > maxAgeMillis ? this.read() : this.millis
  }
}
