/** The text of a draft as the editor shows it. */
import type { ApiSchemas } from "../../api/Client.js"
import { parseJson } from "../../ui/parseJson.js"

type Workflow = ApiSchemas["Workflow"]

/** Steps with their members in one order: the service stores them in another one. */
export const orderedSpec = (spec: unknown): string => JSON.stringify(sorted(spec), null, 2)

const first = ["name", "type", "description", "connector", "action"]
const rank = (name: string): string => `${String(first.indexOf(name) < 0 ? 9 : first.indexOf(name))}${name}`
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([one], [other]) => (rank(one) < rank(other) ? -1 : 1))
      .map(([name, inner]) => [name, sorted(inner)])
  )
}

/** Code, or steps as JSON. */
export const contentText = ({ code, spec }: Pick<Workflow["draft"], "code" | "spec">): string =>
  code ?? orderedSpec(spec)

/** The text of a workflow's draft. */
export const draftText = ({ draft }: Pick<Workflow, "draft">): string => contentText(draft)

/** Whether a draft is this text; steps are stored with their members in another order. */
export const isTextOf = (text: string, workflow: Workflow): boolean => {
  const body = bodyOfText(workflow.form, text)
  if (body instanceof Error) return false
  return draftText(workflow) === ("code" in body ? body.code : orderedSpec(body.spec))
}

/** What saves the text; or why it cannot be saved. */
export const bodyOfText = (form: Workflow["form"], text: string) => {
  if (form === "code") return { code: text }
  const parsed = parseJson(text)
  return parsed.ok ? { spec: parsed.value } : new Error(parsed.message)
}
