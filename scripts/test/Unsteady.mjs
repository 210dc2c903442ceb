// The form of test/unsteady.json.
const members = {
  file: "a test file",
  date: "a day such as 2026-11-29",
  error: "its first error",
  cause: "its cause, or null"
}

/** What is wrong with the list, as sentences. */
export const problemsOf = (list, exists) => {
  if (!Array.isArray(list)) return ["it is no list"]
  return list.flatMap((entry, at) => {
    const found = Object.keys(entry ?? {})
      .toSorted()
      .join()
    if (found !== Object.keys(members).toSorted().join())
      return [`entry ${at} has not the members ${Object.keys(members).join(", ")}`]
    const { cause, date, error, file } = entry
    const isText = (value) => typeof value === "string" && value.trim() !== ""
    const wrong = [
      isText(file) && file.endsWith(".test.ts") && exists(file) ? undefined : "file",
      /^\d{4}-\d\d-\d\d$/.test(date) && !Number.isNaN(Date.parse(date)) ? undefined : "date",
      isText(error) ? undefined : "error",
      cause === null || isText(cause) ? undefined : "cause"
    ].filter((member) => member !== undefined)
    const again = list.findIndex((other) => other?.file === file) < at ? [`entry ${at} names ${file} again`] : []
    return [...wrong.map((member) => `${member} of entry ${at} is not ${members[member]}`), ...again]
  })
}
