/** The tables of step types in docs/flows.md, from the rows of the types. */

const rowText = (cells) => `| ${cells.join(" | ")} |`

/** The text with other rows in the table that has this head. */
const withRows = (text, head, rows) => {
  const lines = text.split("\n")
  const start = lines.indexOf(rowText(head))
  if (start < 0) throw new Error(`docs/flows.md has no table of ${head.join(", ")}`)
  lines.splice(start + 2, lines.indexOf("", start) - start - 2, ...rows.map(rowText))
  return lines.join("\n")
}

/** The guide with the tables of these types. */
export const flowGuide = (text, types) => {
  const settings = types.map(({ guide, type }) => [`\`${type}\``, guide.config, guide.output])
  const limits = types.flatMap(({ guide }) =>
    guide.limits.map(({ of, retry = "nothing; saving warns with `NO_EFFECT`", timeoutMs }) => [of, retry, timeoutMs])
  )
  const described = withRows(text, ["type", "`config`", "output"], settings)
  return withRows(described, ["step", "`retry`", "`timeoutMs`"], limits)
}
