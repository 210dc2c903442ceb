// The recorded times of the test files: test/times.json, in seconds. `npm run test:times` measures and records them.
import { spawnSync } from "node:child_process"
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

/** Sums integers; prints the median of the milliseconds that this takes. */
const computation = `const samples = Array.from({ length: 5 }, () => {
  const started = performance.now()
  let sum = 0
  for (let i = 0; i < 30_000_000; i++) sum = (Math.imul(sum, 31) + i) | 0
  if (sum === 1) throw new Error("other arithmetic")
  return performance.now() - started
})
console.log(samples.toSorted((one, other) => one - other)[2])`

/**
 * The milliseconds that a fixed computation takes on this machine at this moment. In a process of its own: a second call in the
 * same one is five times as slow at times, when V8 has dropped the code of the first.
 */
export const calibrate = () => Number(spawnSync(process.execPath, ["-e", computation], { encoding: "utf8" }).stdout)
