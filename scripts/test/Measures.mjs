// What `scripts/measure.mjs` does with the figures of its rounds.

/** How many files may be unsteady before somebody has to mend them. */
const mostUnsteady = 10

/** Whether a figure was below its bound. */
export const isWithin = ({ bound, value }) => value < bound

const shareOf = ({ bound, value }) => value / bound

/** The figures of a report by name: the worst of those with the same name. */
export const figuresOf = (report) => {
  const figures = {}
  for (const line of report.split("\n").filter((line) => line !== "")) {
    const { name, ...figure } = JSON.parse(line)
    if (!(name in figures) || shareOf(figure) > shareOf(figures[name])) figures[name] = figure
  }
  return figures
}

/** The better one of two rounds for each name. */
export const betterOf = (one, other) => {
  const better = { ...one }
  for (const [name, figure] of Object.entries(other))
    if (!(name in better) || shareOf(figure) < shareOf(better[name])) better[name] = figure
  return better
}

const shown = (number) => (Math.abs(number) < 10 ? number.toFixed(2) : number.toFixed(0))

/** The line of a figure beside its bound. */
export const figureLine = ([name, figure]) =>
  `${isWithin(figure) ? "ok    " : "BEYOND"} ${shown(figure.value).padStart(8)} of ${shown(figure.bound)} ${figure.unit}  ${name}${figure.at === undefined ? "" : ` (${figure.at})`}`

/** What to say of the list of unsteady files, `undefined` if it is short. */
export const unsteadyWarning = (list) =>
  list.length > mostUnsteady
    ? `WARNING test/unsteady.json has ${list.length} entries, more than ${mostUnsteady}: mend their causes.`
    : undefined
