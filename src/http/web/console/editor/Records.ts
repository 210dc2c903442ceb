/** Common records in editors: connectors that a step may name, `unified` with `crm.contact.list`, and members of `svc` in code. */
import { type Completion, snippetCompletion } from "@codemirror/autocomplete"
import {
  readRecordCall,
  recordActions,
  recordArguments,
  recordServices
} from "../../../../domain/unified/RecordCall.js"
import type { CompletedConnector, KnownAction } from "./Knowledge.js"

const titles = { unified: "Records in one form", cdm: "Records of the common data model" }

const actionOf = (service: (typeof recordServices)[number], name: string): KnownAction => {
  const call = readRecordCall(service, name)
  const names = typeof call === "string" ? [] : recordArguments(call)
  return { name, inputSchema: { properties: Object.fromEntries(names.map((one) => [one, {}])) } }
}

export const recordConnectors: ReadonlyArray<CompletedConnector> = recordServices.map((slug) => ({
  slug,
  name: titles[slug],
  actions: recordActions(slug).map((name) => actionOf(slug, name))
}))

/** Names as code has them: `project-management` is `projectManagement`. */
const inCode = (name: string): string => name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

const collected = [
  snippetCompletion("pages({ ${} })", { label: "pages", type: "method", detail: "all pages of a list" }),
  snippetCompletion("all({ ${} }, { max: ${1000} })", {
    label: "all",
    type: "method",
    detail: "the records of all pages"
  })
]

/** What stands behind a path such as `svc.unified.crm`; `undefined` behind another one. */
export const recordMembers = (path: string): ReadonlyArray<Completion> | undefined => {
  const [root, service, ...prefix] = path.split(".")
  const known = recordServices.find((one) => one === service)
  if (root !== "svc" || known === undefined) return undefined
  const below = recordActions(known)
    .map((action) => action.split(".").map(inCode))
    .filter((parts) => prefix.every((name, at) => parts[at] === name))
  const depth = prefix.length
  const isVerb = below.some((parts) => parts.length === depth + 1)
  const names = [...new Set(below.flatMap((parts) => parts[depth] ?? []))]
  if (!isVerb) return names.map((label) => ({ label, type: "namespace" }))
  return [
    ...names.map((label) => snippetCompletion(`${label}({ \${} })`, { label, type: "method" })),
    ...(names.includes("list") ? collected : [])
  ]
}
