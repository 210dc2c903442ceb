/** No operation is open to whoever has a key, and none that changes something to whoever may read, but for those listed here. */
import { assert, it } from "@effect/vitest"
import type { Route } from "../../src/http/pipeline/Routes.js"
import { nameOf, routes } from "../support/endpoints.js"

/** What any caller may use, and why it gives nothing away. */
const open: { readonly [route: string]: string } = {
  "GET /api/v1/me": "tells of the caller",
  "GET /api/v1/sessions": "lists the caller's own",
  "DELETE /api/v1/sessions/:ses": "ends the caller's own",
  "GET /api/v1/models": "is the same for all",
  "GET /api/v1/models/:model": "is the same for all",
  "GET /api/v1/notifications": "lists what the caller may see of them",
  "GET /api/v1/notifications/:ntf": "shows what the caller may see of it",
  "GET /api/v1/watch": "tells of topics whose records the caller may read"
}

/** What those who may read use with another method than GET, and why it changes nothing. */
const reading: { readonly [route: string]: string } = {
  "POST /api/v1/connectors/discover": "has a body, and answers with a definition",
  "POST /api/v1/field-maps/:fmp/test": "has a body, and answers with a record"
}

it("every operation needs a permission", () => {
  const found = routes.filter(({ permit }) => permit === "anyCaller" || permit === undefined).map(nameOf)
  assert.sameMembers(found, Object.keys(open))
})

/** Whether a permission to read suffices. */
const needsReadingOnly = ({ permit }: Route): boolean => {
  const isToRead = (one: string) => one.endsWith(":read")
  if (typeof permit === "string") return isToRead(permit)
  if ("all" in permit) return permit.all.every(isToRead)
  return "ofOthers" in permit ? isToRead(permit.ofOthers) : permit.some(isToRead)
}

it("what changes something needs more than a permission to read", () => {
  const found = routes.filter((route) => route.method !== "GET" && needsReadingOnly(route)).map(nameOf)
  assert.sameMembers(found, Object.keys(reading))
})
