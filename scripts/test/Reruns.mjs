// Decides which failed files of a whole run run again, alone, and what becomes of them. A file that passes then is unsteady and
// not failed: its first failure came of the machine or of the files beside it. A broken promise is final.
import { basename } from "node:path"

/** More files than these that failed by themselves: the product is broken, and nothing runs again. */
export const mostReruns = 25

/** Files about kills, isolation, rights and secrets: what they counted wrong is final, only a wait that ended may run again. */
const isGrave = (file) =>
  /kill|isolation|foreign|secret|canar|seal|scope|subset|permission|tenant/i.test(basename(file))

const isFile = ({ file }) => !file.startsWith("(")
const hasFailed = ({ failures }) => failures.length > 0
const isSame = (one) => (other) => one.file === other.file && one.project === other.project

/** A file whose failures another run may excuse. */
export const mayRunAgain = ({ failures, file }) =>
  failures.every(({ isBroken, isWait }) => isBroken !== true && (isWait === true || !isGrave(file)))

/** Files that a run was to have and that have no result, since their worker or the pool died. */
export const missingFiles = (report) =>
  report.flatMap(({ listed = [] }) => listed).filter((one) => !report.some(isSame(one)))

/** Puts results in the place of those before; the time of a file stays that of its first run. */
const replaced = (report, results) => [
  ...report.map((entry) => {
    const later = isFile(entry) ? results.find(isSame(entry)) : undefined
    return later === undefined ? entry : { ...later, seconds: entry.seconds }
  }),
  ...results.filter((result) => (isFile(result) ? !report.some(isSame(result)) : result.isIncomplete !== true))
]

/** The result of a file that ran alone: failures outside it are its own. */
const resultOf = (file, report) => {
  const failures = report.flatMap((entry) => entry.failures)
  const entry = report.find(isSame(file))
  if (entry === undefined && failures.length === 0) return { ...file, seconds: 0, passed: 0, failures: [noResult] }
  return { ...file, seconds: 0, passed: entry?.passed ?? 0, failures }
}
const noResult = { test: "(the file)", error: "it has no result, also alone" }

/** Runs anew until it has passed once, or else twice after a failure. `undefined`: there was no time left. */
const judge = (again, hasTime) => {
  for (const [round, isLast] of [
    [1, true],
    [2, false],
    [3, true]
  ]) {
    if (!hasTime()) return undefined
    const result = again()
    const isLost = hasFailed(result) && (round > 1 || !mayRunAgain(result))
    if (isLost) return { result }
    if (!hasFailed(result) && isLast) return { result, round }
  }
  return undefined
}

/**
 * Runs files again in the order in which a service served them, when it logged trouble after the last of them. Returns the
 * entries without the failures that did not come back, and those as unsteady.
 */
const judgeServed = (report, inOrder, hasTime) => {
  const unsteady = []
  const entries = report.flatMap((entry) => {
    if (entry.served === undefined) return [entry]
    const again = () => ({ file: entry.file, failures: inOrder(entry).flatMap(({ failures }) => failures) })
    const verdict = judge(again, hasTime)
    if (verdict === undefined) return [entry]
    if (verdict.round === undefined) return [{ ...entry, failures: [...entry.failures, ...verdict.result.failures] }]
    unsteady.push({ ...entry, file: entry.served.join(", "), round: verdict.round })
    return []
  })
  return { entries, unsteady }
}

/**
 * Runs again what may. `together` runs files in the usual way, `alone` a single one, `inOrder` those that a service served; each
 * returns a report. `hasTime`: whether another run may begin. Returns the report with their results, and the files that are
 * unsteady with their first failures.
 */
export const runAgain = (report, { alone, hasTime, inOrder, together }) => {
  const missing = missingFiles(report)
  const complete = missing.length > 0 && hasTime() ? replaced(report, together(missing)) : report
  const wasMissing = (entry) => missing.some(isSame(entry))
  const failed = complete.filter((entry) => isFile(entry) && hasFailed(entry))
  const unsteady = []
  let final = complete
  if (failed.filter((entry) => !wasMissing(entry)).length <= mostReruns) {
    const candidates = [
      ...failed.filter(mayRunAgain),
      ...missingFiles(complete).map((one) => ({ ...one, failures: [] }))
    ]
    for (const candidate of candidates) {
      const file = { file: candidate.file, project: candidate.project }
      const verdict = judge(() => resultOf(file, alone(file)), hasTime)
      if (verdict === undefined) continue
      final = replaced(final, [verdict.result])
      if (verdict.round !== undefined) unsteady.push({ ...candidate, round: verdict.round })
    }
    const served = judgeServed(final, inOrder, hasTime)
    final = served.entries
    unsteady.push(...served.unsteady)
  }
  const stillMissing = missingFiles(final)
  const isIn = (project) => (one) => one.project === project
  const isExcused = ({ isIncomplete, project }) =>
    isIncomplete === true && missing.some(isIn(project)) && !stillMissing.some(isIn(project))
  return { report: final.filter((entry) => !isExcused(entry)), unsteady }
}
