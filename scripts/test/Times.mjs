// The recorded times of the test files: test/times.json, in seconds. `npm run test:times` measures and records them.
import { existsSync, readFileSync, writeFileSync } from "node:fs"

const path = "test/times.json"

export const readTimes = () => JSON.parse(readFileSync(path, "utf8"))

/** Records the times of these files, and the calibration if they are all files. Files that no longer exist are left out. */
export const recordTimes = (times, calibration, isWholeRun) => {
  const recorded = readTimes()
  const rounded = Object.entries(times).map(([file, seconds]) => [file, Number(seconds.toFixed(1))])
  const files = Object.entries({ ...(isWholeRun ? {} : recorded.files), ...Object.fromEntries(rounded) })
    .filter(([file]) => existsSync(file))
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
  const contents = {
    calibration: isWholeRun ? Math.round(calibration) : recorded.calibration,
    files: Object.fromEntries(files)
  }
  writeFileSync(path, `${JSON.stringify(contents, null, 2)}\n`)
}

/** The milliseconds that a fixed computation takes on this machine at this moment: the median of several. */
export const calibrate = () => {
  const samples = Array.from({ length: 5 }, () => {
    const started = performance.now()
    let sum = 0
    for (let i = 0; i < 30_000_000; i++) sum = (sum * 31 + i) | 0
    if (sum === 0.5) throw new Error("an integer")
    return performance.now() - started
  })
  return samples.toSorted((one, other) => one - other)[2]
}
