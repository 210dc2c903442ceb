// The recorded times of the test files: test/times.json, in seconds. `npm run test:times` measures and records them.
import { existsSync, readFileSync, writeFileSync } from "node:fs"

const path = "test/times.json"

export const readTimes = () => JSON.parse(readFileSync(path, "utf8"))

/**
 * The recorded times with those of files that have run, as a machine of the recorded calibration would have taken: a slower
 * one takes proportionally longer, a faster one no less, since most files wait. Files that no longer exist are left out.
 */
export const withTimes = (recorded, times, calibration, exists = existsSync) => {
  const slowness = Math.max(1, calibration / recorded.calibration)
  const scaled = Object.entries(times).map(([file, seconds]) => [file, Number((seconds / slowness).toFixed(1))])
  const files = Object.entries({ ...recorded.files, ...Object.fromEntries(scaled) })
    .filter(([file]) => exists(file))
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
  return { calibration: recorded.calibration, files: Object.fromEntries(files) }
}

/** Records the times of these files. */
export const recordTimes = (times, calibration) =>
  writeFileSync(path, `${JSON.stringify(withTimes(readTimes(), times, calibration), null, 2)}\n`)

/**
 * The milliseconds that a fixed computation takes on this machine at this moment: the median of several. Its numbers stay
 * integers: V8 would compile a sum that leaves them anew in a second call, five times as slow.
 */
export const calibrate = () => {
  const samples = Array.from({ length: 5 }, () => {
    const started = performance.now()
    let sum = 0
    for (let i = 0; i < 30_000_000; i++) sum = (Math.imul(sum, 31) + i) | 0
    if (sum === 1) throw new Error("other arithmetic")
    return performance.now() - started
  })
  return samples.toSorted((one, other) => one - other)[2]
}
