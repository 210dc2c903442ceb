// What a run of tests says at its end: the slowest files, what grew since the times that are checked in, and every failure.

/** The JSON lines of the reporter, or none if the run ended before its first file. */
export const readReport = (text) =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))

/** The files that took longest, as lines. */
export const slowest = (times, count = 10) =>
  Object.entries(times)
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, count)
    .map(([file, seconds]) => `${seconds.toFixed(1).padStart(7)} s  ${file}`)

export const timesOf = (report) =>
  Object.fromEntries(report.filter(({ seconds }) => seconds > 0).map(({ file, seconds }) => [file, seconds]))

/** The sum of the times of some files, in whole seconds. */
export const total = (times, files) =>
  Object.keys(files)
    .reduce((sum, file) => sum + (times[file] ?? 0), 0)
    .toFixed(0)

/** Growth below both bounds is noise. */
const isGrowth = (seconds, before) => seconds > 1.5 * before && seconds > before + 5

/**
 * The files that take longer than the recorded times allow on this machine, which needs `calibration` for the loop that
 * needed `recorded.calibration` when the times were recorded. A faster machine gets no less time: most files wait.
 */
export const grown = (times, calibration, recorded) => {
  const slowness = Math.max(1, calibration / recorded.calibration)
  return Object.entries(times)
    .map(([file, seconds]) => ({ file, seconds, before: slowness * (recorded.files[file] ?? Number.NaN) }))
    .filter(({ before, seconds }) => isGrowth(seconds, before))
    .toSorted((one, other) => other.seconds - other.before - (one.seconds - one.before))
    .map(
      ({ before, file, seconds }) =>
        `${`+${(seconds - before).toFixed(1)}`.padStart(7)} s  ${file} (${seconds.toFixed(1)} s)`
    )
}

/** The files that failed and passed when they ran again alone, with what failed before. */
export const unsteadyLines = (unsteady) =>
  unsteady.map(({ failures: found, file, project, round }) => {
    const [{ error, test } = { test: "(the file)", error: "it had no result" }] = found
    return `|${project}| ${file} > ${test}: ${error} (passed alone${round === 1 ? "" : ", the second and third time"})`
  })

/** Project, file, test and the error, for each failure. */
export const failures = (report) =>
  report.flatMap(({ failures: found, file, project }) =>
    found.map(({ error, test }) => `FAILED ${project === undefined ? "" : `|${project}| `}${file} > ${test}: ${error}`)
  )
